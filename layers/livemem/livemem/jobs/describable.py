"""A job of any kind as the API shows it, and what each package offers for that. `GET /v1/jobs/{job_id}` asks the
package of the job's kind. The route itself knows no kind.

The id says where a job is: `{space}.{kind}.{id within the kind}`. It is found without an index and without a search. No
space id and no kind has a dot.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from livemem.access.principal import Principal
from livemem.errors import InvalidRequest
from livemem.jobs.job import ENDED, Failure, Job, Progress, Status
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store.keys import ulid_moment

KindName = Literal[
    "consolidation",
    "summaries",
    "digest",
    "question",
    "backup",
    "export",
    "restore",
    "fork",
    "import",
    "erasure",
]
"""All kinds of jobs. Each is among the `jobs` of one package (jobs/package.py)."""
KIND_NAMES: tuple[KindName, ...] = get_args(KindName)


def job_id(space_id: str, kind: KindName, name: str) -> str:
    """The id by which the job is found. `name` is its id within its kind."""
    return f"{space_id}.{kind}.{name}"


def name_of(job: str, space_id: str, kind: KindName) -> str:
    """The id within its kind of a job of this space and kind. Raises InvalidRequest for another id."""
    name = job.removeprefix(job_id(space_id, kind, ""))
    if name == job:
        raise InvalidRequest.of("job", f"must be the id of a job of the kind `{kind}` in this space")
    return name


@dataclass(frozen=True)
class Description:
    """A job as the API shows it. `name` is its id within its kind. `subject` is what it works on within the space."""

    space_id: str
    kind: KindName
    name: str
    status: Status
    created_at: str
    subject: str | None = None
    progress: Progress = field(default_factory=Progress)
    usage: Usage = field(default_factory=Usage)
    error: Failure | None = None
    started_at: str | None = None
    ended_at: str | None = None
    result: Any = None
    """What came of the work so far: a value of the kind's package. The view of its kind shows it."""

    @property
    def job_id(self) -> str:
        """The id by which the job is found."""
        return job_id(self.space_id, self.kind, self.name)

    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status in ENDED


@dataclass(frozen=True)
class Describable:
    """What a package offers of each of its kinds of jobs.

    `find` describes the job of a space by its name, with its whole result, as far as this caller may see it. It raises
    NotFound and InvalidName. `item` describes it as a list does, without what is too large for one. The list has just
    read the head, so `heads.load_recent` is enough. `listing` returns the names of a living space's jobs with their
    moments in milliseconds since 1970, the newest first: a few LIST. If it is given a moment, it may leave out newer
    jobs. `of_subject` lists those of one subject in the same form, where there is no list of all.
    """

    find: Callable[[Process, Principal, str, str], Description]
    listing: Callable[[Process, Principal, str, int | None], Iterable[tuple[int, str]]] | None = None
    item: Callable[[Process, Principal, str, str], Description] | None = None
    of_subject: Callable[[Process, str, str], Iterable[tuple[int, str]]] | None = None


def by_moment(ulids: Iterable[str]) -> list[tuple[int, str]]:
    """ULIDs with their moments, the newest first. A text that only has the shape of an ULID is left out."""
    moments = []
    for ulid in ulids:
        with suppress(ValueError):
            moments.append((ulid_moment(ulid), ulid))
    return sorted(moments, reverse=True)


def of_job(kind: KindName, job: Job) -> Description:
    """The description of a job of jobs/job.py."""
    return Description(
        space_id=job.space_id,
        kind=kind,
        name=job.job_id,
        status=job.status,
        created_at=job.created_at,
        subject=job.subject,
        progress=job.progress,
        usage=job.usage,
        error=job.error,
        started_at=job.started_at,
        ended_at=job.ended_at,
    )

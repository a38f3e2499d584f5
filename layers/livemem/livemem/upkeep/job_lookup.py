"""Any job of a space by its id, and the newest of all kinds. Each package shows its own (jobs/describable.py)."""

import heapq
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.copies import new_space
from livemem.errors import InvalidName, InvalidRequest, NotFound, ObjectUnreadable
from livemem.jobs.describable import KIND_NAMES, Description, by_moment
from livemem.jobs.job import Status
from livemem.process import Process
from livemem.spaces import directory
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import keys
from livemem.upkeep.packages import JOBS

JOB_ID = re.compile(rf"(?P<space>{keys.SPACE_ID.pattern})\.(?P<kind>[a-z]+)\.(?P<name>[A-Za-z0-9.-]{{1,80}})")
_PLACE = re.compile(r"(?P<moment>[0-9]{1,15})\.(?P<kind>[a-z]+)\.(?P<name>[A-Za-z0-9.-]{1,80})")
SPACES = 20
"""How many spaces a page looks through."""
LOOKS = 100
"""How many jobs a page reads in search of those that its filter matches, of all its spaces together."""

Place = tuple[int, str, str]
"""Of a job in the list of its space: its moment in milliseconds since 1970, its kind, and its name."""


@dataclass(frozen=True)
class After:
    """The place after which a page begins: in a space, or (None) behind all jobs of the space."""

    space_id: str
    place: Place | None = None

    def text(self) -> str:
        """The place as a cursor holds it."""
        return "/".join((self.space_id, *([".".join(map(str, self.place))] if self.place else [])))

    @classmethod
    def parse(cls, text: str) -> "After":
        """The place in such a text. Raises ValueError."""
        space_id, slash, place = text.partition("/")
        match = _PLACE.fullmatch(place)
        if not keys.SPACE_ID.fullmatch(space_id) or (slash and not match):
            raise ValueError("no place")
        return cls(space_id, (int(match["moment"]), match["kind"], match["name"]) if match else None)


@dataclass(frozen=True)
class JobFilter:
    """Which jobs a list shows. None: any."""

    kind: str | None = None
    status: Status | None = None
    subject: str | None = None

    def check(self) -> None:
        """Raise InvalidRequest where there is no such list."""
        if self.kind is None:
            return
        if self.kind not in JOBS:
            raise InvalidRequest.of("kind", f"must be one of {', '.join(KIND_NAMES)}")
        if self.subject is None and JOBS[self.kind].of_subject:
            raise InvalidRequest.of("subject", f"is required for the kind `{self.kind}`")

    def matches(self, job: Description) -> bool:
        """Whether the list shows this job."""
        return self.status in (None, job.status) and self.subject in (None, job.subject)


def find(process: Process, caller: Principal, job_id: str) -> Description:
    """A job with its whole result: 1 to 4 GET, of a digest some more. Raises InvalidName, Forbidden, NotFound
    (`job_not_found`), ObjectUnreadable.
    """
    match = JOB_ID.fullmatch(job_id)
    if not match:
        raise InvalidName("job_id", "{space}.{kind}.{name}, as `job` in the answer that started the work")
    caller = decision.check_space(process, caller, match["space"])
    kind = JOBS.get(match["kind"])
    try:
        if kind:
            return kind.find(process, caller, match["space"], match["name"])
    except (InvalidName, NotFound):
        pass
    raise NotFound("job", job_id)


def page(
    process: Process,
    caller: Principal,
    space_id: str | None,
    *,
    limit: int,
    filter_by: JobFilter = JobFilter(),
    after: After | None = None,
    missing: list[str] | None = None,
) -> tuple[list[Description], After | None]:
    """The jobs that the caller may see, of a space the newest first, and the place after which the next page begins.
    Without a space those of all spaces that the token may read, in the order of their ids, at most 20 a page.

    Those that make summaries are listed for one conversation alone, which is the `subject`. A page may be shorter than
    `limit` although there are more: it leaves out what the caller may not see, and what cannot be read, whose key is
    added to `missing`, and reads at most 100 jobs (or `limit`) in search of those that match. For each space 1 GET, 1
    LIST for each kind and 1 more per 1,000 of its jobs, and for each job what the package's `item` takes; of those that
    wait no LIST. Raises InvalidName, InvalidRequest, NotFound. A space that is being provisioned, or was given up, has
    the job that provisions it.
    """
    filter_by.check()
    if space_id is not None:
        caller = decision.check_space(process, caller, keys.check_space_id(space_id))
    wanted = _Page(process, caller, filter_by, limit, missing)
    if space_id is not None:
        meta = _meta(process, space_id)
        rest = wanted.fill(space_id, meta, after.place if after and after.space_id == space_id else None)
        return wanted.jobs, After(space_id, rest) if rest else None
    place = after.place if after else None
    metas, more = directory.page(process, caller, limit=SPACES, after=after.space_id if after else None, find=_find)
    spaces: list[tuple[str, Meta | None]] = [(meta.space_id, meta) for meta in metas]
    if after and place:
        decision.check_space(process, caller, after.space_id)
        spaces = [(after.space_id, _meta(process, after.space_id)), *spaces]
    for position, (current, meta) in enumerate(spaces):
        # A space may be deleted while its list is read.
        with suppress(NotFound):
            rest = wanted.fill(current, meta, place)
            if rest:
                return wanted.jobs, After(current, rest)
        place = None
        if wanted.is_full() and (more or position + 1 < len(spaces)):
            return wanted.jobs, After(current)
    return wanted.jobs, After(more) if more else None


def _find(process: Process, space_id: str) -> Head | None:
    """The head of a space that can have jobs: one that lives, is being provisioned, or was given up on the way."""
    head = heads.find_any(process, space_id)
    if not head or not head.meta.deleted_at:
        return head and heads.remember(process, head)
    return head if new_space.listing(head.meta) else None


def _meta(process: Process, space_id: str) -> Meta | None:
    head = _find(process, space_id)
    return head.meta if head else None


@dataclass
class _Page:
    """A page that is being filled: its jobs, and how many were read for it."""

    process: Process
    caller: Principal
    filter_by: JobFilter
    limit: int
    missing: list[str] | None
    jobs: list[Description] = field(default_factory=list)
    looks: int = 0

    def room(self) -> int:
        """How many jobs may be read at once."""
        return min(self.limit - len(self.jobs), max(LOOKS, self.limit) - self.looks)

    def is_full(self) -> bool:
        """Whether nothing more is read for it."""
        return self.room() <= 0

    def fill(self, space_id: str, meta: Meta | None, after: Place | None) -> Place | None:
        """Add the jobs of a space. Returns the place after which there are more. Raises Forbidden, NotFound."""
        process, caller = self.process, decision.check_space(self.process, self.caller, space_id)
        if not meta:
            raise NotFound("space", space_id)
        places = _places(process, caller, meta, self.filter_by, after)
        ahead = next(places, None)
        while ahead and not self.is_full():
            batch = [ahead, *islice(places, self.room() - 1)]
            results = process.store.map(lambda place: _one(process, caller, space_id, place, self.missing), batch)
            self.jobs += [job for job in results if job and self.filter_by.matches(job)]
            self.looks += len(batch)
            after, ahead = batch[-1], next(places, None)
        return after if ahead else None


def _places(
    process: Process, caller: Principal, meta: Meta, filter_by: JobFilter, after: Place | None
) -> Iterator[Place]:
    if filter_by.status == "waiting":
        # Only a run's plan waits, and the head names it.
        plan = meta.pending_plan
        each: list[Iterable[Place]] = [_named("consolidation", by_moment([plan.run_id]))] if plan else []
    else:
        each = [new_space.listing(meta)]
        if not meta.deleted_at:
            before = after[0] if after else None
            each += [
                _named(kind, _listing(process, caller, meta.space_id, kind, filter_by.subject, before))
                for kind in (JOBS if filter_by.kind is None else [filter_by.kind])
            ]
    merged = heapq.merge(*each, reverse=True)
    return (place for place in merged if filter_by.kind in (None, place[1]) and (after is None or place < after))


def _listing(
    process: Process, caller: Principal, space_id: str, kind: str, subject: str | None, before: int | None
) -> Iterable[tuple[int, str]]:
    job_kind = JOBS[kind]
    if job_kind.of_subject and subject is not None:
        # The subject may be one of another kind of work.
        with suppress(InvalidName, NotFound):
            return job_kind.of_subject(process, space_id, subject)
    return job_kind.listing(process, caller, space_id, before) if job_kind.listing else ()


def _named(kind: str, pairs: Iterable[tuple[int, str]]) -> Iterator[Place]:
    return ((moment, kind, name) for moment, name in pairs)


def _one(
    process: Process, caller: Principal, space_id: str, place: Place, missing: list[str] | None
) -> Description | None:
    _, kind, name = place
    try:
        return (JOBS[kind].item or JOBS[kind].find)(process, caller, space_id, name)
    except (InvalidName, NotFound):
        # Removed since it was listed, or not for this caller.
        return None
    except ObjectUnreadable as error:
        if missing is not None and error.key:
            missing.append(error.key)
        return None

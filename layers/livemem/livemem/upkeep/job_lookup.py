"""Any job of a space by its id, and the newest of all kinds. Each package shows its own (jobs/describable.py)."""

import heapq
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.conversations import summaries_job
from livemem.copies import provisioning_job
from livemem.errors import InvalidName, InvalidRequest, NotFound, ObjectUnreadable
from livemem.jobs.describable import KIND_NAMES, Description
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.upkeep.packages import JOBS

JOB_ID = re.compile(rf"(?P<space>{keys.SPACE_ID.pattern})\.(?P<kind>[a-z]+)\.(?P<name>[A-Za-z0-9.-]{{1,80}})")
_PLACE = re.compile(r"(?P<moment>[0-9]{1,15})\.(?P<kind>[a-z]+)\.(?P<name>[A-Za-z0-9.-]{1,80})")

SUMMARIES = "summaries"

Place = tuple[int, str, str]
"""Of a job in the list of its space: its moment in milliseconds since 1970, its kind, and its name."""


def find(process: Process, caller: Principal, job_id: str) -> Description:
    """A job: what the route of its kind takes, 1 to 3 GET, of a digest some more. Raises InvalidName, Forbidden,
    NotFound (`job_not_found`), ObjectUnreadable.
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


def place_text(place: Place | None) -> str | None:
    """The place as a cursor holds it; None for the end of the list."""
    return ".".join(str(part) for part in place) if place else None


def parse_place(text: str) -> Place:
    """The place in such a text. Raises ValueError."""
    match = _PLACE.fullmatch(text)
    if not match:
        raise ValueError("no place")
    return int(match["moment"]), match["kind"], match["name"]


def page(
    process: Process,
    caller: Principal,
    space_id: str,
    *,
    limit: int,
    kind: str | None = None,
    conversation_id: str | None = None,
    after: Place | None = None,
    missing: list[str] | None = None,
) -> tuple[list[Description], Place | None]:
    """The jobs of a space that the caller may see, the newest first, and the place after which the next page begins.

    Those that make summaries are listed for one conversation alone, which is named. A page may be shorter than `limit`
    although there are more: it leaves out what the caller may not see, and what cannot be read, whose key is added to
    `missing`. 1 GET, 1 LIST for each kind and 1 more per 1,000 of its jobs, and for each job what `find` takes. Raises
    InvalidName, InvalidRequest, NotFound. A space that is being provisioned has the job that provisions it.
    """
    if kind is not None and kind not in JOBS:
        raise InvalidRequest.of("kind", f"must be one of {', '.join(KIND_NAMES)}")
    if (kind == SUMMARIES) != (conversation_id is not None):
        raise InvalidRequest.of("conversation_id", f"is required for the kind `{SUMMARIES}`, and allowed only for it")
    head = heads.find_any(process, keys.check_space_id(space_id))
    brought = [place for place in provisioning_job.listing(head) if kind in (None, place[1])]
    each: list[Iterable[Place]] = [brought]
    if head and not head.meta.deleted_at:
        names = JOBS if kind is None else [kind]
        before = after[0] if after else None
        each += [
            _places(name, listing(process, caller, space_id, before))
            for name in names
            if (listing := JOBS[name].listing)
        ]
        if conversation_id is not None:
            each.append(_places(SUMMARIES, summaries_job.listing(process, space_id, conversation_id)))
    elif not provisioning_job.listing(head):
        raise NotFound("space", space_id)
    merged = (place for place in heapq.merge(*each, reverse=True) if after is None or place < after)
    places = list(islice(merged, limit + 1))
    results = process.store.map(lambda place: _one(process, caller, space_id, place, missing), places[:limit])
    return [result for result in results if result], places[limit - 1] if len(places) > limit else None


def _places(kind: str, pairs: Iterable[tuple[int, str]]) -> Iterator[Place]:
    return ((moment, kind, name) for moment, name in pairs)


def _one(
    process: Process, caller: Principal, space_id: str, place: Place, missing: list[str] | None
) -> Description | None:
    _, kind, name = place
    try:
        return JOBS[kind].find(process, caller, space_id, name)
    except (InvalidName, NotFound):
        # Removed since it was listed, or not for this caller.
        return None
    except ObjectUnreadable as error:
        if missing is not None and error.key:
            missing.append(error.key)
        return None

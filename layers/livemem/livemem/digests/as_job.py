"""A digest as a job: `digest`. Its name is its slot."""

from collections.abc import Iterable

from livemem import clock
from livemem.access.principal import Principal
from livemem.digests import reading
from livemem.errors import InvalidName
from livemem.jobs.describable import Describable, Description
from livemem.jobs.job import Failure, Progress
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import room_keys as keys

WAITS = "The digest waits after a failure, and continues by itself."


def find(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The description of a digest. Requests as in `digests.reading.load`. Raises InvalidName, NotFound."""
    digest = reading.load(process, space_id, name)
    done = digest.done
    return Description(
        space_id=space_id,
        kind="digest",
        name=name,
        status=digest.status,
        created_at=clock.iso(keys.slot_moment(name)),
        progress=Progress(done=digest.settled, total=digest.chunks),
        usage=done.usage if done else Usage(),
        error=Failure(code=digest.error, detail=WAITS) if digest.error else None,
        started_at=done.started_at if done else None,
        ended_at=done.ended_at if done else None,
    )


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The digests of a space, the newest first: 1 LIST per 1,000."""
    slots = process.store.folders(keys.digests_prefix(space_id))
    return sorted(((moment, slot) for slot in slots if (moment := _moment(slot)) is not None), reverse=True)


def _moment(slot: str) -> int | None:
    try:
        return int(keys.slot_moment(slot).timestamp()) * 1_000
    except InvalidName:
        return None


DESCRIBABLE = Describable("digest", find, listed)

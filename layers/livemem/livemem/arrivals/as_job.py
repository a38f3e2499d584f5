"""A space that is brought here, as a job: `restore`, `fork` or `import`. Its name is the arrival's id."""

from functools import partial

from livemem import clock
from livemem.access.principal import Principal
from livemem.arrivals import arrivals
from livemem.errors import NotFound
from livemem.jobs.describable import Describable, Description, KindName
from livemem.jobs.job import Failure, Progress
from livemem.process import Process
from livemem.spaces.head import Head


def _find(kind: KindName, process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Also while nobody sees the space: 1 GET. Raises InvalidName, NotFound."""
    arrival, meta = arrivals.view(process, space_id)
    if (arrival.kind, arrival.arrival_id) != (kind, name):
        raise NotFound("arrival", name)
    return Description(
        space_id=space_id,
        kind=kind,
        name=name,
        status=arrivals.status(arrival, meta),
        created_at=arrival.started_at,
        subject=arrival.backup_id or arrival.upload_id,
        progress=Progress(done=arrival.objects or 0, total=arrival.objects),
        error=Failure(**arrival.error) if arrival.error else None,
        started_at=arrival.started_at,
        ended_at=arrival.finished_at,
    )


def listed(head: Head | None) -> list[tuple[int, KindName, str]]:
    """The job that brought the space of this head, or brings it: its moment, its kind and its name."""
    arrival = arrivals.of(head)
    if not arrival:
        return []
    return [(int(clock.parse(arrival.started_at).timestamp() * 1_000), arrival.kind, arrival.arrival_id)]


KINDS: tuple[KindName, ...] = ("restore", "fork", "import")
DESCRIBABLES = tuple(Describable(kind, partial(_find, kind)) for kind in KINDS)

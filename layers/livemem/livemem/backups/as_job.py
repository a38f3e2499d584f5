"""A backup as a job: `backup`."""

from collections.abc import Iterable

from livemem.access.principal import Principal
from livemem.backups import catalog, incomplete_backups
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Describable, Description
from livemem.process import Process


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """Find the job, also of a deleted space: the requests of `catalog.get`. Raises InvalidName, NotFound."""
    found = catalog.get(process, space_id, name, caller)
    return describable.of_job("backup", jobs.described(found, incomplete_backups.NOBODY_COMES))


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    return ((catalog.moment(one), one) for one in reversed(catalog.ids(process, space_id)))


DESCRIBABLE = Describable("backup", find, listed)

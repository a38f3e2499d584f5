"""The making of an archive as a job: `export`. Its name is its backup's id."""

from collections.abc import Iterable

from livemem.access.principal import Principal
from livemem.archives.archiving import KIND
from livemem.backups import catalog
from livemem.errors import NotFound
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Describable, Description
from livemem.process import Process
from livemem.store import keys


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """Find the job, also of a deleted space: 1 GET, and those of `catalog.check`. Raises InvalidName, NotFound."""
    catalog.check(process, caller, space_id, keys.check_backup_id(name))
    found = KIND.find(process, space_id, name)
    if not found:
        raise NotFound("job", name)
    return describable.of_job("export", jobs.described(found))


def listed(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000. Jobs of the last day are kept."""
    prefix = keys.exports_prefix(space_id)
    names = (entry.key.removeprefix(prefix) for entry in process.store.scan(prefix))
    states = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return sorted(((catalog.moment(one), one) for one in states if catalog.is_id(one)), reverse=True)


DESCRIBABLE = Describable("export", find, listed)

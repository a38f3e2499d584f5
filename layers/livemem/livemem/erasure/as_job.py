"""An erasure as a job: `erasure`. Like the receipt, it is for those alone who may `admin`."""

from collections.abc import Iterable

from livemem.access.principal import Principal
from livemem.erasure import receipts
from livemem.errors import NotFound
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description
from livemem.process import Process
from livemem.store import keys


def find(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """2 GET. Raises InvalidName, NotFound, ObjectUnreadable."""
    if "admin" not in caller.permissions:
        raise NotFound("erasure", name)
    return describable.of_job("erasure", receipts.view(process, space_id, name))


def listed(process: Process, caller: Principal, space_id: str, _: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    if "admin" not in caller.permissions:
        return []
    ids = (keys.parse_erasure(entry.key) for entry in process.store.scan(keys.erasures_prefix(space_id)))
    return describable.by_moment(one for one in ids if one)


DESCRIBABLE = Describable("erasure", find, listed)

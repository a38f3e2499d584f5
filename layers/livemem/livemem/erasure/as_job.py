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
    receipt = receipts.view(process, space_id, name)
    return Description(
        space_id=space_id,
        kind="erasure",
        name=name,
        status=receipt.status,
        created_at=receipt.started_at,
        subject=receipt.agent or (next(iter(receipt.ids)) if len(receipt.ids) == 1 else None),
        started_at=receipt.started_at,
        ended_at=receipt.finished_at,
    )


def listed(process: Process, caller: Principal, space_id: str, _: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    if "admin" not in caller.permissions:
        return []
    ids = (keys.parse_erasure(entry.key) for entry in process.store.scan(keys.erasures_prefix(space_id)))
    return describable.by_moment(one for one in ids if one)


DESCRIBABLE = Describable("erasure", find, listed)

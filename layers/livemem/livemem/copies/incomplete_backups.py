"""Incomplete backups: objects of backups that were never finished, and of removed ones.

One invocation writes a backup, then the backup waits in the queue, and the next invocation continues it. After that no
invocation comes.
"""

from collections.abc import Iterable
from typing import Literal

from livemem.access.principal import Principal
from livemem.copies import catalog
from livemem.copies import manifest as manifests
from livemem.copies.manifest import Peeked
from livemem.errors import PreconditionLost
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.process import Process
from livemem.store import timing
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT

NOBODY_COMES = timing.INVOCATION + timing.BACKUP_DELIVERED + timing.LAST_WRITE + timing.MARGIN
"""Age of a manifest, by the store's clock, after which no worker works on the backup any more, and no request for it
can come late. A worker that did so anyway would lose the swap that completes it. It is longer than that of other jobs
(jobs/job.py, SILENT): the rest of a backup waits in the queue behind the backups of all spaces."""

Orphaned = Literal["unfinished", "removed", "objects without a manifest"]


def find(process: Process, space_id: str, backup_id: str, look: Peeked | None) -> Orphaned | None:
    """What kind of incomplete backup is to be cleared away, given its manifest: no request, or 1 LIST if there
    is no manifest. One with an unreadable manifest stays: the operator looks at it.
    """
    if look:
        if not look.value or look.value.complete:
            return None
        if look.value.removed:
            return "removed"
        return "unfinished" if look.age >= NOBODY_COMES else None
    entries = list(process.store.scan(BACKUP_OBJECT.prefix(space_id, backup_id)))
    if not entries or any(entry.age < NOBODY_COMES for entry in entries):
        # Perhaps an operator copies a backup here from another bucket, and its manifest is still to come.
        return None
    return "objects without a manifest"


def clear(process: Process, space_id: str, backup_id: str, look: Peeked | None) -> bool:
    """Clear an incomplete backup away. Returns False if another process changed it meanwhile.

    An unfinished backup is removed as `discard` does it. A removed one is listed again (1 LIST), and its tombstone goes
    when no request can come any more (1 DELETE).
    """
    if not look:
        if manifests.peek(process, space_id, backup_id):
            return False
        catalog.clear(process, space_id, backup_id)
        return True
    if look.value and look.value.removed:
        catalog.clear(process, space_id, backup_id)
        if look.age >= NOBODY_COMES:
            process.store.delete(BACKUP_MANIFEST.key(space_id, backup_id), if_match=look.etag)
        return True
    try:
        catalog.discard(process, space_id, backup_id, look)
    except PreconditionLost:
        return False
    return True


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The backup as a job, also of a deleted space: the requests of `catalog.get`. Raises InvalidName, NotFound."""
    manifest = catalog.get(process, space_id, name, caller)
    return describable.of_job("backup", jobs.described(manifest, NOBODY_COMES))


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    return ((catalog.moment(backup_id), backup_id) for backup_id in reversed(catalog.ids(process, space_id)))

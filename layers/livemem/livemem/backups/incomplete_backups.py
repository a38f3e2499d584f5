"""What is left of backups that were never finished, and of those that were removed.

A backup that is under way is written on by one invocation, waits in the queue for the next one, and is written on by
that. After that nobody comes.
"""

from typing import Literal

from livemem.backups import catalog
from livemem.backups import manifest as manifests
from livemem.backups.manifest import Peeked
from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.store import keys, timing

NOBODY_COMES = timing.INVOCATION + timing.BACKUP_DELIVERED + timing.LAST_WRITE + timing.MARGIN
"""Age of a manifest, by the store's clock, after which nobody works on the backup any more, nor can a request for it
come late. If somebody did all the same he would lose the swap that completes it. Longer than that of other jobs
(jobs/job.py, SILENT): the rest of a backup waits in the queue behind the backups of all spaces."""

Orphaned = Literal["unfinished", "removed", "objects without a manifest"]


def find(process: Process, space_id: str, backup_id: str, found: Peeked | None) -> Orphaned | None:
    """What is left there that is to be cleared away, if its manifest was `found` so: no request, 1 LIST where there is
    none. What can't be read is somebody's to look at, and stays.
    """
    if found:
        if not found.value or found.value.complete:
            return None
        if found.value.removed:
            return "removed"
        return "unfinished" if found.age >= NOBODY_COMES else None
    entries = list(process.store.scan(keys.backup_prefix(space_id, backup_id)))
    if not entries or any(entry.age < NOBODY_COMES for entry in entries):
        # Perhaps somebody brings a backup here from another bucket, whose manifest is still to come.
        return None
    return "objects without a manifest"


def clear(process: Process, space_id: str, backup_id: str, found: Peeked | None) -> bool:
    """Clear it away: False if somebody was at it meanwhile.

    An unfinished one is removed as by hand. What was removed is looked at again (1 LIST), and when nothing can come any
    more its tombstone goes (1 DELETE).
    """
    if not found:
        if manifests.peek(process, space_id, backup_id):
            return False
        catalog.clear(process, space_id, backup_id)
        return True
    if found.value and found.value.removed:
        catalog.clear(process, space_id, backup_id)
        if found.age >= NOBODY_COMES:
            process.store.delete(keys.manifest(space_id, backup_id), if_match=found.etag)
        return True
    try:
        catalog.discard(process, space_id, backup_id, found)
    except PreconditionLost:
        return False
    return True

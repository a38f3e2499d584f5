"""The list of backups, and the removal of one.

A removed backup leaves its manifest as a tombstone until no request to its folder can come any more
(`clear_incomplete`). So nobody claims its id again before, and late writes are found.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.copies import manifest as manifests
from livemem.copies.manifest import Manifest, Peeked
from livemem.errors import InvalidName, InvalidRequest, NotFound, PreconditionLost
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys, stored, timing
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

TRIES = 5


def ids(process: Process, space_id: str) -> list[str]:
    """The ids of the space's backups, also of those that are not complete, oldest first: 1 LIST per 1,000."""
    return [name for name in process.store.folders(BACKUP_OBJECT.prefix(space_id)) if is_id(name)]


def is_id(name: str) -> bool:
    """Whether the name can be the id of a backup."""
    try:
        return bool(keys.check_backup_id(name))
    except InvalidName:
        return False


def moment(backup_id: str) -> int:
    """When the backup was begun, in milliseconds since 1970."""
    return int(keys.backup_moment(backup_id).timestamp()) * 1_000


def spaces(process: Process, *, start_after: str = "") -> Iterator[str]:
    """The ids of the spaces that have backups, also of those that are deleted, in order: 1 LIST per 1,000."""
    after = f"{BACKUP_OBJECT.prefix()}{start_after}/\U0010ffff" if start_after else ""
    for name in process.store.folders(BACKUP_OBJECT.prefix(), start_after=after):
        try:
            yield keys.check_space_id(name)
        except InvalidName:
            continue


def newest(process: Process, space_id: str, *, lasting: bool = False, uid: str | None = None) -> Manifest | None:
    """The summary of the newest complete backup, or None: 1 LIST, and 1 GET for it and each later incomplete one.
    `lasting`: not one that was made for an export or a fork. `uid`: one of the space with this uid.
    """
    for backup_id in reversed(ids(process, space_id)):
        summary = manifests.summary(process, space_id, backup_id)
        if summary and is_wanted(summary.value, lasting=lasting, uid=uid):
            return summary.value
    return None


def is_wanted(manifest: Manifest, *, lasting: bool, uid: str | None) -> bool:
    """Whether it is complete, and fits what the caller asks of `newest`."""
    return manifest.complete and (manifest.is_kept() or not lasting) and uid in (None, manifest.uid)


def looks(process: Process, space_id: str, backup_ids: Sequence[str]) -> list[Peeked | None]:
    """The summaries of these backups: 1 GET each, in parallel."""
    return process.store.map(lambda backup_id: manifests.peek(process, space_id, backup_id), backup_ids)


def check(process: Process, caller: Principal | None, space_id: str, backup_id: str) -> None:
    """Raise NotFound for a backup of another space of the same id, unless the caller may see all spaces: 2 GET, else
    none.

    A token whose list names a space may not read the contents of a deleted space of that id. `caller` is None: the
    service itself asks.
    """
    life = _life(process, caller, keys.check_space_id(space_id))
    if life is None:
        return
    summary = manifests.summary(process, space_id, keys.check_backup_id(backup_id))
    if not summary or summary.value.uid != life:
        raise NotFound("backup", backup_id)


def _life(process: Process, caller: Principal | None, space_id: str) -> str | None:
    """The uid of the space whose backups the caller may see. None: the backups of all spaces of this id."""
    if not caller or not caller.space_ids:
        return None
    head = heads.find(process, space_id)
    return head.meta.uid if head else ""


def page_of(
    process: Process, space_id: str, *, limit: int, before: str | None = None, caller: Principal | None = None
) -> tuple[list[Manifest], str | None]:
    """The space's backups before the id `before`, newest first, and the id before which the next page begins, or None.
    If the caller's token lists spaces: only backups of the present space of that id (`check`).

    Backups under way are among them. The page may be shorter than `limit` although there are more. 1 LIST per 1,000
    backups, and 1 GET each.
    """
    keys.check_space_id(space_id)
    remaining = [backup_id for backup_id in reversed(ids(process, space_id)) if before is None or backup_id < before]
    batch = remaining[:limit]
    manifests_read = (look.value for look in looks(process, space_id, batch) if look)
    visible = [manifest for manifest in manifests_read if manifest and not manifest.removed]
    life = _life(process, caller, space_id)
    visible = [manifest for manifest in visible if life is None or manifest.uid == life]
    return visible, batch[-1] if len(remaining) > limit else None


def page(
    process: Process,
    caller: Principal,
    space_id: str | None = None,
    *,
    limit: int,
    after: tuple[str, str] | None = None,
) -> tuple[list[Manifest], tuple[str, str] | None]:
    """The backups of a space, or of all that the caller may see, by space and then newest first, from behind the space
    and backup `after`. With them the space and backup after which the next page begins, or None. 1 LIST per space that
    is looked at, and 1 GET each. Raises InvalidName, Forbidden, and InvalidRequest where `after` is of another space.
    """
    if space_id is None:
        visible = sorted(name for name in spaces(process) if caller.may_see(name))
    else:
        caller = decision.check_space(process, caller, keys.check_space_id(space_id))
        visible = [space_id]
        if after and after[0] != space_id:
            raise InvalidRequest.of("cursor", "is of the list of another space: leave it out for the first page")
    backups: list[Manifest] = []
    for name in visible:
        if after and name < after[0]:
            continue
        before = after[1] if after and name == after[0] else None
        batch, more = page_of(process, name, limit=limit - len(backups), before=before, caller=caller)
        backups += batch
        if more:
            return backups, (name, more)
        if len(backups) == limit:
            return backups, (name, backups[-1].job_id) if name != visible[-1] else None
    return backups, None


def get(process: Process, space_id: str, backup_id: str, caller: Principal | None = None) -> Stored[Manifest]:
    """One backup, complete or not: 1 GET, and the requests of `check`. Raises InvalidName, NotFound."""
    check(process, caller, space_id, backup_id)
    summary = manifests.summary(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not summary or summary.value.removed:
        raise NotFound("backup", backup_id)
    return summary


def remove(process: Process, space_id: str, backup_id: str, caller: Principal | None = None) -> None:
    """Remove a backup, complete or not, readable or not: 1 GET, 1 PUT, 1 LIST and 1 DeleteObjects per 1,000 objects,
    and the requests of `check`.

    From the PUT on nobody sees the backup. If the process dies after it, a repeat or the daily look continues. Raises
    InvalidName, NotFound, PreconditionLost.
    """
    keys.check_space_id(space_id)
    keys.check_backup_id(backup_id)
    check(process, caller, space_id, backup_id)
    require_conditional_writes(process.store)
    for _ in range(TRIES):
        look = manifests.peek(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
        if not look:
            raise NotFound("backup", backup_id)
        if look.value and look.value.removed:
            if not clear(process, space_id, backup_id):
                raise NotFound("backup", backup_id)
            return
        try:
            discard(process, space_id, backup_id, look)
        except PreconditionLost:
            continue
        return
    raise PreconditionLost("The backup was changed too often at the same time. Try again.")


def discard(process: Process, space_id: str, backup_id: str, look: Peeked) -> None:
    """Remove a backup if its manifest is exactly as in `look`: the requests of `remove` without the GET. Raises
    PreconditionLost.
    """
    now = clock.iso_millis(process.clock())
    unknown = Manifest(job_id=backup_id, space_id=space_id, subject=backup_id, trigger="api", created_at=now)
    end = {"status": "cancelled", "ended_at": now, "items": ()}
    stored.swap(process.store, look, (look.value or unknown).changed(end), process.new_id)
    clear(process, space_id, backup_id)


def clear(process: Process, space_id: str, backup_id: str) -> int:
    """Remove all objects of a backup except its tombstone. Returns how many there were."""
    manifest = BACKUP_MANIFEST.key(space_id, backup_id)
    folder = process.store.scan(BACKUP_OBJECT.prefix(space_id, backup_id))
    doomed = [entry.key for entry in folder if entry.key != manifest]
    process.store.delete_many(doomed)
    return len(doomed)


NOBODY_COMES = timing.INVOCATION + timing.BACKUP_DELIVERED + timing.LAST_WRITE + timing.MARGIN
"""Age of a manifest, by the store's clock, after which no worker works on the backup any more, and no request for it
can come late. A worker that did so anyway would lose the swap that completes it. It is longer than that of other jobs
(jobs/job.py, SILENT): the rest of a backup waits in the queue behind the backups of all spaces."""

Orphaned = Literal["unfinished", "removed", "objects without a manifest"]


def find_incomplete(process: Process, space_id: str, backup_id: str, look: Peeked | None) -> Orphaned | None:
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


def clear_incomplete(process: Process, space_id: str, backup_id: str, look: Peeked | None) -> bool:
    """Clear an incomplete backup away. Returns False if another process changed it meanwhile.

    An unfinished backup is removed as `discard` does it. A removed one is listed again (1 LIST), and its tombstone goes
    when no request can come any more (1 DELETE).
    """
    if not look:
        if manifests.peek(process, space_id, backup_id):
            return False
        clear(process, space_id, backup_id)
        return True
    if look.value and look.value.removed:
        clear(process, space_id, backup_id)
        if look.age >= NOBODY_COMES:
            process.store.delete(BACKUP_MANIFEST.key(space_id, backup_id), if_match=look.etag)
        return True
    try:
        discard(process, space_id, backup_id, look)
    except PreconditionLost:
        return False
    return True


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The backup as a job, also of a deleted space: the requests of `get`. Raises InvalidName, NotFound."""
    manifest = get(process, space_id, name, caller)
    return describable.of_job("backup", jobs.described(manifest, NOBODY_COMES))


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """1 LIST per 1,000."""
    return ((moment(backup_id), backup_id) for backup_id in reversed(ids(process, space_id)))

"""Which backups there are, and the end of one."""

from collections.abc import Iterator

from livemem.access.principal import Principal
from livemem.backups import manifest as manifests
from livemem.backups.manifest import Manifest, Saved
from livemem.errors import InvalidName, NotFound, PreconditionLost
from livemem.process import Process
from livemem.store import keys
from livemem.store.probe import require_conditional_writes

TRIES = 5


def ids(process: Process, space_id: str) -> list[str]:
    """The ids of the space's backups, also of those that are not complete, oldest first: 1 LIST per 1,000."""
    return [name for name in process.store.folders(keys.backups_prefix(space_id)) if keys.BACKUP_ID.fullmatch(name)]


def spaces(process: Process) -> Iterator[str]:
    """The ids of the spaces that have backups, also of those that are deleted: 1 LIST per 1,000."""
    for name in process.store.folders(keys.BACKUPS):
        try:
            yield keys.check_space_id(name)
        except InvalidName:
            continue


def newest(process: Process, space_id: str) -> Saved | None:
    """The summary of the newest complete backup, or None: 1 LIST, and 1 GET for it and each later one that is not
    complete.
    """
    for backup_id in reversed(ids(process, space_id)):
        saved = manifests.summary(process, space_id, backup_id)
        if saved and saved.manifest.complete:
            return saved
    return None


def page(
    process: Process, space_id: str, *, limit: int, before: str | None = None
) -> tuple[list[Manifest], str | None]:
    """The space's backups, newest first, those before the id `before`, and the id to go on before, or None.

    Those that are under way are among them. 1 LIST per 1,000 backups, and 1 GET each.
    """
    keys.check_space_id(space_id)
    wanted = [backup_id for backup_id in reversed(ids(process, space_id)) if before is None or backup_id < before]
    shown = wanted[:limit]
    found = process.store.map(lambda backup_id: manifests.summary(process, space_id, backup_id), shown)
    visible = [saved.manifest for saved in found if saved and not saved.manifest.removing]
    return visible, shown[-1] if len(wanted) > limit else None


def page_of_all(
    process: Process, caller: Principal, *, limit: int, after: tuple[str, str] | None = None
) -> tuple[list[Manifest], tuple[str, str] | None]:
    """The backups of all spaces that the caller may see, by space and then newest first, those behind the space and
    backup `after`; and the ones to go on after, or None. 1 LIST per space that is looked at, and 1 GET each.
    """
    visible = sorted(space_id for space_id in spaces(process) if caller.may_see(space_id))
    found: list[Manifest] = []
    for space_id in visible:
        if after and space_id < after[0]:
            continue
        before = after[1] if after and space_id == after[0] else None
        some, more = page(process, space_id, limit=limit - len(found), before=before)
        found += some
        if more:
            return found, (space_id, more)
        if len(found) == limit:
            return found, (space_id, found[-1].backup_id) if space_id != visible[-1] else None
    return found, None


def get(process: Process, space_id: str, backup_id: str) -> Manifest:
    """One backup, complete or under way: 1 GET. Raises InvalidName, NotFound."""
    saved = manifests.summary(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not saved or saved.manifest.removing:
        raise NotFound("backup", backup_id)
    return saved.manifest


def remove(process: Process, space_id: str, backup_id: str) -> None:
    """Remove a backup, complete or not: 1 GET, 1 PUT, 1 LIST and 1 DeleteObjects per 1,000 objects, 1 DELETE.

    From the PUT on it is gone for everybody; if it dies behind it, the sweep goes on. Raises InvalidName, NotFound,
    PreconditionLost.
    """
    require_conditional_writes(process.store)
    for _ in range(TRIES):
        saved = manifests.summary(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
        if not saved:
            raise NotFound("backup", backup_id)
        try:
            if not saved.manifest.removing:
                manifests.replace(process, saved, (), complete=False, removing=True)
        except PreconditionLost:
            continue
        clear(process, space_id, backup_id)
        return
    raise PreconditionLost("The backup changes too often.")


def clear(process: Process, space_id: str, backup_id: str) -> None:
    """Remove all objects of a backup whose manifest is not complete and never will be, and the manifest last."""
    manifest = keys.manifest(space_id, backup_id)
    folder = process.store.scan(keys.backup_prefix(space_id, backup_id))
    process.store.delete_many([entry.key for entry in folder if entry.key != manifest])
    process.store.delete(manifest)

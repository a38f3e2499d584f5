"""Restoring a space from a backup, under its own id or another one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.copies import catalog, new_space
from livemem.copies import source as sources
from livemem.copies.manifest import BackupObject
from livemem.copies.new_space import Provisioned
from livemem.copies.relabel import follows, relabel
from livemem.copies.source import SourceBackup
from livemem.errors import Conflict, OutOfTime, PreconditionLost
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.spaces.head_fields import ProvisioningState
from livemem.store import bucket, keys, stored, stored_documents
from livemem.store.objects import MARKDOWN

BATCH = 1_000
"""Objects that are written between two looks at the time."""
MARGIN = timedelta(seconds=5)
"""Time that must be left for the rest."""
WRITE_TRIES = 5
LARGEST_READ = 8 << 20
"""Most bytes of an object that is read to write it. The store copies larger ones, without a condition."""

T = TypeVar("T")
Keep = Callable[[str, bytes], bool]
"""Whether an object of this name and content is to be restored."""


def order(process: Process, principal: Principal, space_id: str, backup_id: str, target: str | None) -> Head:
    """Claim the target (the backup's own space if None), which `provision` then fills: 2 GET, and the requests of the
    claim.

    Raises NotFound (no complete backup), BackupDamaged, InvalidName, SpaceExists, Conflict, Forbidden.
    """
    principal = decision.check_space(process, principal, keys.check_space_id(space_id))
    wanted = keys.check_space_id(target or space_id)
    catalog.check(process, principal, space_id, backup_id)
    sources.checked_items(sources.complete(process, space_id, backup_id).value)
    provisioning = ProvisioningState(
        provisioning_id=process.new_id(),
        kind="restore",
        space_id=space_id,
        backup_id=backup_id,
        requested_by=principal.name,
        started_at=clock.iso(process.clock()),
    )
    try:
        return new_space.begin(process, principal, wanted, provisioning)
    except Conflict as refused:
        if wanted != space_id:
            raise
        detail = f"{refused.detail} To restore it at once, send another `space_id`."
        raise Conflict(detail, retry_after=refused.retry_after) from None


def provision(process: Process, head: Head, deadline: datetime) -> Provisioned:
    """Copy all objects of the backup into the space, and verify them against the manifest.

    For A objects 2 ceil(A/1000) LIST and 3 GET, and 1 CopyObject each, or 1 GET and 1 PUT for objects that users could
    change later or that name the space. Raises NotFound, BackupDamaged, OutOfTime, PreconditionLost (the backup was
    changed meanwhile).
    """
    with sources.opened(process, head) as source:
        meta = sources.read_head(process, source)
        provision_items(process, source, source.items, deadline)
        clear_strays(process, source, {item.name for item in source.items})
        return Provisioned(meta, len(source.items) + 1)


def provision_items(
    process: Process, source: SourceBackup, items: Sequence[BackupObject], deadline: datetime, keep: Keep | None = None
) -> None:
    """Write these objects of the backup, except those that `keep` refuses. Objects that the space holds already are not
    written again. Raises OutOfTime.
    """
    in_batches(process, items, lambda item: _provision_item(process, source, item, keep), deadline)


def in_batches(process: Process, items: Sequence[T], provision_one: Callable[[T], None], deadline: datetime) -> None:
    """Provision these items, as many as there is time for. Raises OutOfTime."""
    for start in range(0, len(items), BATCH):
        if start and deadline - process.clock() < MARGIN:
            raise OutOfTime("Another invocation does the rest.")
        process.store.map(provision_one, items[start : start + BATCH])


def _provision_item(process: Process, source: SourceBackup, item: BackupObject, keep: Keep | None) -> None:
    """Write one object, verified, unless the space holds it. Raises BackupDamaged."""
    moved = follows(item.name, source.names)
    # Only this job's workers write such objects into the space, and the folder was empty before.
    if item.name in source.there if moved else source.has(item):
        return
    if not moved and (bucket.is_immutable(item.name) or item.size > LARGEST_READ):
        sources.copy(process, source, item)
        return
    result = sources.read(process, source, item)
    if keep is None or keep(item.name, result.body):
        body = relabel(item.name, result.body, source.names) if moved else result.body
        write(process, source.target(item.name), body, result.metadata, result.content_type)


def write(
    process: Process,
    key: str,
    body: bytes,
    metadata: Mapping[str, str] | None = None,
    content_type: str | None = None,
) -> None:
    """Write an object of a space that nobody sees yet: 1 PUT. A late repeat changes nothing.

    Raises PreconditionLost if another object has the name, and the space is visible by now: another worker was faster.
    """
    content_type = content_type or (stored_documents.JSON if key.endswith(".json") else MARKDOWN)
    over = None
    for _ in range(WRITE_TRIES):
        written = stored.write_once(
            process.store, key, body, over=over, content_type=content_type, metadata=metadata or {}
        )
        if written.says_so:
            return
        # Objects of a creation that lost the race go. Objects that users have changed stay: if they changed one between
        # this look and the write, the write fails.
        if heads.find(process, key.partition("/")[0]):
            break
        over = written.etag or None
    raise PreconditionLost("Another worker provisions this space, or has done so.")


def clear_strays(process: Process, source: SourceBackup, texts: Collection[str]) -> None:
    """Remove objects from the space that do not belong into it. A creation that lost the race may have left them.

    1 GET and 1 DELETE each if there are any. Raises PreconditionLost if the space is visible by now.
    """
    strays = [entry for name, entry in source.there.items() if name not in texts and name != keys.META]
    # As long as nobody sees the space, nothing of what was listed before is a user's.
    if strays and heads.find(process, source.names.target):
        raise PreconditionLost("Another worker provisions this space, or has done so.")
    process.store.map(lambda entry: process.store.delete(entry.key, if_match=entry.etag), strays)

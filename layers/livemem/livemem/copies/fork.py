"""A fork: a new space with the contents of another as it stands now, or stood right after an earlier change, with its
history up to there.

A fork is made from a backup. The backup is taken for it unless nothing has changed since the last one. So the fork
holds one state of the space, even if the space changes meanwhile.
"""

from datetime import datetime

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.changes import records
from livemem.copies import earlier, new_space, restore, taking
from livemem.copies import manifest as manifests
from livemem.copies import source as sources
from livemem.copies.earlier import EarlierObject, EarlierSpace
from livemem.copies.new_space import Provisioned
from livemem.copies.relabel import follows, relabel
from livemem.copies.source import SourceBackup
from livemem.errors import OutOfTime
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.spaces.head_fields import ProvisioningState
from livemem.store import keys
from livemem.store.bucket import IN_SPACE


def order(
    process: Process, principal: Principal, space_id: str, target: str, at: int | None, deadline: datetime
) -> Head:
    """Take a backup of the space and claim the target for what `provision` then writes: the space as it stands now, or
    right after change `at`. The same request again, while the fork is under way, continues it.

    Some GET and LIST, and the requests of the backup and of the claim. Raises InvalidName, NotFound (the space, the
    change), SpaceExists, Conflict, Busy, Forbidden.
    """
    principal = decision.check_space(process, principal, keys.check_space_id(space_id))
    keys.check_space_id(target)
    meta = heads.load(process, space_id).meta
    if at is not None:
        ids = {name.number for name in records.names(process, space_id, since=at)}
        # The backup writes out changes that are committed and not written out yet.
        earlier.check(ids | ({meta.changes} if meta.committed_run else set()), at, meta.changes)
    provisioning = ProvisioningState(
        provisioning_id=process.new_id(),
        kind="fork",
        space_id=space_id,
        at=at,
        requested_by=principal.name,
        started_at=clock.iso(process.clock()),
    )
    existing = new_space.going_on(process, target, provisioning)
    if existing:
        return existing
    # Before a backup is taken for it.
    new_space.check_free(process, principal, target)
    request = taking.BackupRequest("fork", requested_by=principal.name)
    taken = taking.take(process, space_id, request, deadline=deadline, wait=True, nested=True)
    provisioning = provisioning.model_copy(update={"backup_id": taken.manifest.job_id})
    return new_space.begin(process, principal, target, provisioning)


def provision(process: Process, head: Head, deadline: datetime) -> Provisioned:
    """Finish the backup if it is incomplete, and write the backup's objects, or those of the space at the earlier
    change.

    The requests of a restore. For an earlier change also 1 GET for each later one and 1 LIST per 1,000 objects. Raises
    NotFound, BackupDamaged, Conflict, Busy, OutOfTime, PreconditionLost.
    """
    provisioning = head.meta.provisioning
    assert provisioning
    if not _backup(process, provisioning, deadline):
        raise OutOfTime("Another invocation continues the backup.")
    if provisioning.at is None:
        return restore.provision(process, head, deadline)
    with sources.opened(process, head) as source:
        return _provision_then(process, source, earlier.draw_up(process, source, provisioning.at), deadline)


def _backup(process: Process, provisioning: ProvisioningState, deadline: datetime) -> bool:
    """Continue the backup if it is not complete: 1 GET if it is complete. False if time runs out."""
    assert provisioning.space_id
    assert provisioning.backup_id
    result = manifests.summary(process, provisioning.space_id, provisioning.backup_id)
    if not result or result.value.ended():
        # A missing backup raises its error when it is opened.
        return True
    if deadline - process.clock() < 2 * restore.MARGIN:
        return False
    taken = taking.go_on(
        process, provisioning.space_id, provisioning.backup_id, deadline=deadline, wait=True, nested=True
    )
    return taken.manifest.complete and deadline - process.clock() >= restore.MARGIN


def _provision_then(process: Process, source: SourceBackup, then: EarlierSpace, deadline: datetime) -> Provisioned:
    restore.provision_items(process, source, then.items, deadline, then.keep)
    restore.in_batches(process, list(then.written.items()), lambda item: _write(process, source, *item), deadline)
    wanted = {item.name for item in then.items} | then.written.keys()
    restore.clear_strays(process, source, wanted)
    # Some of the wanted objects did not exist then.
    return Provisioned(then.meta, sum(1 for _ in process.store.scan(IN_SPACE.prefix(source.names.target))))


def _write(process: Process, source: SourceBackup, name: str, written: EarlierObject) -> None:
    body = relabel(name, written.body, source.names) if follows(name, source.names) else written.body
    existing = source.there.get(name)
    if existing and existing.size == len(body) and follows(name, source.names):
        # A note, which an earlier worker has written.
        return
    restore.write(process, source.target(name), body, written.metadata)

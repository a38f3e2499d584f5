"""Taking the words of erased notes out of the objects of a space and of its backups, with the backups' manifests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256

from livemem.copies import catalog
from livemem.copies import manifest as manifests
from livemem.copies.manifest import BackupObject, Manifest
from livemem.erasure import erased, of_conversations
from livemem.erasure.occurrences import AT_ONCE, ErasurePlace, Known, Occurrences, check_time, places
from livemem.erasure.scrubbing import ErasureTask
from livemem.errors import NotFound, PreconditionLost
from livemem.jobs import job as jobs
from livemem.jobs.receipt import Receipt
from livemem.jobs.worker import Work
from livemem.process import Process
from livemem.store import bucket, stored, stored_documents
from livemem.store.bucket import NOTE, RECORD, is_plan
from livemem.store.objects import MARKDOWN, Entry, Object
from livemem.store.stored import Stored, WriteOutcome

TRIES = 20
WRITTEN_BY = "erasure"
"""The field of a backup's object that says which erasure wrote it. By it a repeated erasure knows its own work from
damage, until the manifest says it too.
"""


@dataclass
class Rewrites:
    """The objects to change, by place and name. Objects in `clean` need no second look, in any place."""

    changes: dict[ErasurePlace, set[str]] = field(default_factory=lambda: defaultdict(set))
    quoted_in: set[str] = field(default_factory=set)
    clean: set[Known] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """Objects that are to be changed in the space itself by kind, and backups."""
        found: dict[str, int] = defaultdict(int)
        for place, names in self.changes.items():
            if place.backup_id:
                found["backups"] += bool(names)
                continue
            for name in names:
                found[kind(name)] += 1
        return dict(found)

    def files(self) -> set[str]:
        """The names of the space's bank files to change, and of its synthesis and its rules."""
        own = (names for place, names in self.changes.items() if not place.backup_id)
        return {path for names in own for name in names if (path := bucket.path_in_records(name))}


@dataclass(frozen=True)
class RewrittenObject:
    """An object as it is now: its ETag, size in bytes and SHA-256 in hex."""

    etag: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Doomed:
    """An object that is to be deleted, as it was read."""

    key: str
    etag: str


def kind(name: str) -> str:
    """How a receipt counts an object."""
    if NOTE.parse(f"x/{name}"):
        return "live"
    if RECORD.last(f"x/{name}"):
        return "records"
    if is_plan(name):
        return "plans"
    if name.startswith("_idempotency/"):
        return "idempotency"
    if name.startswith("_runs/"):
        return "runs"
    if name.startswith(("memories/", "_verdicts/")):
        return "memories"
    of_talk = of_conversations.kind(name)
    return of_talk or ("bank_files" if bucket.path_in_records(name) else "other")


def concerns(name: str, task: ErasureTask) -> bool:
    """Whether the object can hold or name an erased item; or quote it, where there are pieces to look for."""
    if task.pieces.all:
        return True
    result = kind(name)
    if of_conversations.kind(name):
        return name.split("/", 2)[1] in task.conversations
    ids = {"live", "records", "plans", "idempotency"}
    return result in ids or (result == "memories" and task.is_of_memories)


def clear_unfinished(process: Process, space_id: str) -> None:
    """Remove the backups that are not complete: 1 LIST, 1 GET each. Nobody takes one while notes are erased."""
    for backup_id in catalog.ids(process, space_id):
        result = manifests.summary(process, space_id, backup_id)
        if result and not result.value.complete:
            with suppress(NotFound):
                catalog.remove(process, space_id, backup_id)


def clear_strays(process: Process, space_id: str) -> None:
    """Remove the objects that a late copy has brought into the folder of a backup that is gone, with its tombstone or
    without: 1 LIST, 1 GET each.
    """
    for backup_id in catalog.ids(process, space_id):
        result = manifests.peek(process, space_id, backup_id)
        if not result or (result.value and result.value.removed):
            catalog.clear(process, space_id, backup_id)


def look(
    work: Work[Receipt], occurrences: Occurrences, task: ErasureTask, skip: str, rewrites: Rewrites | None = None
) -> Rewrites:
    """Find the objects to change, but for the object named `skip`: 1 LIST per 1,000 objects, 1 GET for each that is not
    the same as one that was read before, 1 GET for each backup's manifest. Raises OutOfTime.

    Without pieces to look for it reads only the objects that can hold or name the erased ones. `rewrites`: where they
    are entered, for a caller that wants to know what was found before the time ran out.
    """
    process, rewrites = work.process, Rewrites() if rewrites is None else rewrites
    for place in places(process, task.space_id):
        here = replace(task, held=frozenset(occurrences.held[place]))
        entries = [(name, entry) for name, entry in place.entries(process) if name != skip and concerns(name, task)]
        items = _items(process, place)
        rewrites.changes[place] |= {name for name, entry in entries if _differs(items.get(name), entry)}
        unread = [(name, entry) for name, entry in entries if (name, entry.etag, entry.size) not in rewrites.clean]
        for start in range(0, len(unread), AT_ONCE):
            check_time(work)
            _look_at(process, place, here, rewrites, unread[start : start + AT_ONCE])
    return rewrites


def _look_at(
    process: Process, place: ErasurePlace, task: ErasureTask, rewrites: Rewrites, batch: Sequence[tuple[str, Entry]]
) -> None:
    items = process.store.get_many([entry.key for _, entry in batch])
    for (name, _), item in zip(batch, items, strict=True):
        if not item:
            continue
        fate = erased.fate(name, item.body, task)
        rewrites.quoted_in |= fate.quoted_in
        if fate.body == item.body:
            rewrites.clean.add((name, item.etag, len(item.body)))
        else:
            rewrites.changes[place].add(name)


def _items(process: Process, place: ErasurePlace) -> Mapping[str, BackupObject]:
    result = manifests.find(process, place.space_id, place.backup_id) if place.backup_id else None
    return {item.name: item for item in (result.value.items or () if result else ())}


def _differs(item: BackupObject | None, entry: Entry) -> bool:
    """Whether an object of a backup is not what its manifest says: perhaps an erasure that died has written it."""
    return item is not None and entry.etag not in (item.etag, item.copy_etag)


def rewrite(work: Work[Receipt], place: ErasurePlace, names: Iterable[str], task: ErasureTask) -> None:
    """Bring these objects of a place to what `task` wants: 1 GET and 1 PUT or DELETE each; of a backup also the
    manifest, 1 GET and 1 PUT. Raises OutOfTime.
    """
    process, ordered = work.process, sorted(names)
    written: dict[str, RewrittenObject | Doomed | None] = {}
    marked = work.job.job_id if place.backup_id else None
    for start in range(0, len(ordered), AT_ONCE):
        check_time(work)
        batch = ordered[start : start + AT_ONCE]
        done = process.store.map(lambda name: _rewrite_one(process, place, name, task, marked), batch)
        written |= dict(zip(batch, done, strict=True))
    if place.backup_id:
        # First of all nothing may stand in the manifest that is not there.
        _tell_manifest(process, place.space_id, place.backup_id, written)
    doomed = [outcome for outcome in written.values() if isinstance(outcome, Doomed)]
    process.store.map(lambda gone: process.store.delete(gone.key, if_match=gone.etag), doomed)


def _rewrite_one(
    process: Process, place: ErasurePlace, name: str, task: ErasureTask, mark: str | None
) -> RewrittenObject | Doomed | None:
    key = place.prefix + name
    for _ in range(TRIES):
        item = process.store.get(key)
        if not item:
            return None
        body = erased.fate(name, item.body, task).body
        if body is None:
            return Doomed(key, item.etag)
        if body == item.body:
            own = mark and item.metadata.get(WRITTEN_BY) == mark
            return _as_written(item.etag, body) if own else None
        written = _put(process, item, body, mark)
        if written.says_so:
            return _as_written(written.etag, body)
    raise PreconditionLost("An object was changed too often at the same time. Try again.")


def _put(process: Process, item: Object, body: bytes, mark: str | None) -> WriteOutcome:
    content_type = stored_documents.JSON if item.key.endswith(".json") else item.content_type or MARKDOWN
    metadata = {**item.metadata, **({WRITTEN_BY: mark} if mark else {})}
    return stored.write_once(
        process.store, item.key, body, over=item.etag, content_type=content_type, metadata=metadata
    )


def _as_written(etag: str, body: bytes) -> RewrittenObject:
    return RewrittenObject(etag, len(body), sha256(body).hexdigest())


def _tell_manifest(
    process: Process, space_id: str, backup_id: str, written: Mapping[str, RewrittenObject | Doomed | None]
) -> None:
    for _ in range(TRIES):
        result = manifests.find(process, space_id, backup_id)
        if not result or not result.value.complete:
            # Removed meanwhile, or nobody can restore it.
            return
        before = result.value.items or ()
        items = tuple(item for one in before if (item := _item(one, written.get(one.name))))
        if items == before:
            return
        with suppress(PreconditionLost):
            _replace(process, result, before, items)
            return
    raise PreconditionLost("The backup was changed too often at the same time. Try again.")


def _item(before: BackupObject, outcome: RewrittenObject | Doomed | None) -> BackupObject | None:
    if isinstance(outcome, Doomed):
        return None
    if outcome is None:
        return before
    return BackupObject(
        before.name,
        outcome.size,
        outcome.etag,
        outcome.sha256 if before.sha256 else None,
        outcome.etag if before.copy_etag else None,
    )


def _replace(
    process: Process, current: Stored[Manifest], before: Sequence[BackupObject], items: Sequence[BackupObject]
) -> None:
    counts = dict(current.value.counts)
    for gone in {item.name for item in before} - {item.name for item in items}:
        name = "notes" if NOTE.parse(f"x/{gone}") else "other"
        counts[name] = counts.get(name, 1) - 1
    jobs.change(
        process,
        current,
        items=items,
        objects_count=len(items),
        bytes=sum(item.size for item in items),
        counts={name: number for name, number in counts.items() if number},
    )

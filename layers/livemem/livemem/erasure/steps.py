"""The steps of an erasure, in an order in which it can die anywhere and be continued.

The notes, or memories, themselves show which words to look for, so they go last. First their words are taken out of all
else, in the space, in its backups and in former versions. Then they are removed, and the versions that this leaves.
Each step finds nothing to do where it was done before.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from livemem import clock
from livemem.bank import citations, files
from livemem.conversations import conversation as conversations
from livemem.conversations import due
from livemem.erasure import erased, rewriting, scrubbing
from livemem.erasure.occurrences import AT_ONCE, LEFT_ALONE, ErasurePlace, Known, Occurrences, check_time
from livemem.erasure.receipts import VERSIONS_UNREACHABLE
from livemem.erasure.rewriting import Rewrites, concerns
from livemem.erasure.scrubbing import ErasureTask
from livemem.errors import VersionsUnreachable
from livemem.jobs.receipt import Receipt, ReceiptSection
from livemem.jobs.worker import Work
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import bucket, vector_file, versions
from livemem.store.bucket import (
    BACKUP_OBJECT,
    CAPTURE,
    EXPORT,
    EXPORT_STATE,
    IN_SPACE,
    IN_VERSION,
    MEMORY_VECTORS,
    NOTE,
    SEARCH_SNAPSHOT,
    SEGMENT,
    SUMMARY,
    TURN,
    TURN_ID,
    VERDICT,
)
from livemem.store.objects import Store
from livemem.store.versions import Version

FEW = 50
"""Keys up to which each is listed by itself."""


@dataclass(frozen=True)
class Cleared:
    """How many versions were removed, and whether the bucket keeps any."""

    removed: int
    kept: bool


def clear_quoting(work: Work[Receipt], task: ErasureTask, clean: set[Known], skip: str) -> Cleared:
    """Remove the former versions that hold erased text, of all that belongs to the space. Without pieces to look for
    only those of objects that can hold or name a note.

    1 ListObjectVersions per 1,000 versions, 1 GET for each former one that is not `clean`, 1 DeleteObjects per 64 at
    most. Raises VersionsUnreachable, OutOfTime, StoreUnavailable.
    """
    task = replace(task, kept=frozenset(), held=frozenset())
    removed, kept = 0, False
    for prefix in (
        IN_SPACE.prefix(task.space_id),
        BACKUP_OBJECT.prefix(task.space_id),
        EXPORT.prefix(task.space_id),
    ):
        batch: list[Version] = []
        for version in versions.below(work.process.store, prefix):
            kept = kept or version.version_id != versions.NO_ID
            if not version.latest and _to_look_at(version, task, clean, skip):
                batch.append(version)
            if len(batch) == AT_ONCE:
                removed += _clear(work, batch, task, clean)
                batch = []
        removed += _clear(work, batch, task, clean)
    return Cleared(removed, kept)


def _to_look_at(version: Version, task: ErasureTask, clean: set[Known], skip: str) -> bool:
    name = _name(version.key, task.space_id)
    if version.marker or name == skip or name in LEFT_ALONE or name.startswith(("_search/", "_vectors/")):
        return False
    if (name, version.etag, version.size) in clean:
        return False
    return concerns(name, task) or version.key.startswith(EXPORT.prefix())


def _clear(work: Work[Receipt], batch: list[Version], task: ErasureTask, clean: set[Known]) -> int:
    if not batch:
        return 0
    check_time(work)
    store = work.process.store
    holds = store.map(lambda version: _holds(store, version, task, clean), batch)
    doomed = [version for version, bad in zip(batch, holds, strict=True) if bad]
    versions.remove(store, doomed)
    return len(doomed)


def _holds(store: Store, version: Version, task: ErasureTask, clean: set[Known]) -> bool:
    name = _name(version.key, task.space_id)
    if version.key.startswith(EXPORT.prefix()) or _is_erased_note(name, task):
        return True
    if task.is_of_memories and MEMORY_VECTORS.parse(f"x/{name}"):
        # Of what they were made can't always be told.
        return True
    body = versions.read(store, version)
    if body is None:
        return False
    if erased.fate(name, body, task).body != body:
        return True
    clean.add((name, version.etag, version.size))
    return False


def _is_erased_note(name: str, task: ErasureTask) -> bool:
    return NOTE.last(f"x/{name}") in task.ids


def _name(key: str, space_id: str) -> str:
    """The object's name below the space, also of one in a backup."""
    backups = BACKUP_OBJECT.prefix(space_id)
    if key.startswith(backups):
        return key.removeprefix(backups).partition("/")[2]
    return key.removeprefix(IN_SPACE.prefix(space_id))


def clear_former(work: Work[Receipt]) -> Cleared:
    """Remove all former versions of the keys in the receipt's `removing`, and their delete markers: 1
    ListObjectVersions for each of up to 50 keys, for more per 1,000 versions of all; 1 to 2 DeleteObjects per 1,000.
    Raises as above.
    """
    by_prefix: dict[str, set[str]] = defaultdict(set)
    store, doomed_keys = work.process.store, set(work.job.removing)
    for key in doomed_keys:
        by_prefix[key if len(doomed_keys) <= FEW else _folder(key)].add(key)
    former: list[Version] = []
    markers: list[Version] = []
    kept = False
    for prefix, batch in by_prefix.items():
        check_time(work)
        for version in versions.below(store, prefix):
            kept = kept or version.version_id != versions.NO_ID
            if version.key in batch and not version.latest:
                former.append(version)
            elif version.key in batch and version.marker:
                markers.append(version)
    versions.remove(store, former)
    # Last: without it the version before would be there again.
    versions.remove(store, markers)
    return Cleared(sum(not version.marker for version in former), kept)


def _folder(key: str) -> str:
    return key.rpartition("/")[0] + "/"


def clear_derived(process: Process, space_id: str) -> Cleared:
    """Remove all versions of the objects that searches made of the space's texts, and of the LLM's answers about
    memories, by their hashes. The present ones go too: they are made again.

    3 ListObjectVersions and 3 LIST, and 1 DeleteObjects per 1,000 of each. Raises VersionsUnreachable,
    StoreUnavailable; the present ones are removed either way.
    """
    verdicts = VERDICT.prefix(space_id)
    prefixes = (SEARCH_SNAPSHOT.prefix(space_id), SEGMENT.prefix(space_id), verdicts)
    for prefix in prefixes:
        process.store.delete_many([entry.key for entry in process.store.scan(prefix)])
    found = [version for prefix in prefixes for version in versions.below(process.store, prefix)]
    versions.remove(process.store, [version for version in found if not version.marker])
    # Last: without it the version before would be there again.
    versions.remove(process.store, [version for version in found if version.marker])
    return Cleared(0, any(version.version_id != versions.NO_ID for version in found))


def clear_archives(process: Process, space_id: str, *, without_job: bool = False) -> int:
    """Remove the archives of the space that wait to be downloaded, and their jobs; returns how many archives. With
    `without_job` only archives whose job is gone, which a worker wrote late. 1 LIST and 1 DeleteObjects per 1,000.
    """
    doomed = [entry.key for entry in process.store.scan(EXPORT.prefix(space_id))]
    if without_job:
        parsed = {key: EXPORT.parse(key) for key in doomed}
        doomed = [key for key, name in parsed.items() if name and EXPORT_STATE.key(*name[:2]) not in parsed]
    process.store.delete_many(doomed)
    return sum(not key.endswith(".json") for key in doomed)


def erase(work: Work[Receipt], occurrences: Occurrences) -> None:
    """Erase the receipt's notes, memories or turns from the places of their occurrences. Nobody else changes the
    space meanwhile: a swap of the head has shut out the worker that held the lease before.

    For A objects in the space and its backups that are not the same, C of them to be changed, and B backups: A + 2C GET
    and C PUT or DELETE at the least (each object of the space that holds a note and quotes one is written twice), 2 GET
    and 1 PUT of each manifest, 3 PUT of the receipt, and what store/versions.py and citations take. Raises OutOfTime,
    and what the store raises.
    """
    process, receipt = work.process, work.job
    if occurrences.bodies:
        rewriting.clear_unfinished(process, receipt.space_id)
    erasing.renew_snapshots(process, receipt.space_id, receipt.memory_ids)
    task = task_of(process, receipt, occurrences)
    own = f"_erasures/{receipt.job_id}.json"
    seen = rewriting.look(work, occurrences, task, own)
    # Before anything is changed: else nobody would know later what a worker changed that died.
    _note_look(work, seen)
    _rewrite_others(work, task, occurrences, seen)
    rewriting.clear_strays(process, receipt.space_id)
    # The second look finds those that a worker wrote after the first, whose job is gone: archives of later stay.
    archives = clear_archives(process, receipt.space_id, without_job=receipt.ended())
    _save(work, counts=_counted(work.job, "archives", archives))
    _clear_versions(work, lambda: clear_quoting(work, task, seen.clean, own))
    _note_sources(work, occurrences)
    _remove_sources(work, task, occurrences, seen)
    for turn in receipt.turns:
        _tell_conversation(work, task, turn, seen)
    rewriting.clear_strays(process, receipt.space_id)
    # An indexer that has read the space before this looks at the head once more (recall/indexing.py); one that dies
    # before it does meets the second look.
    _clear_versions(work, lambda: clear_derived(process, receipt.space_id))
    _clear_versions(work, lambda: clear_former(work))


def task_of(process: Process, receipt: Receipt, occurrences: Occurrences) -> ErasureTask:
    """The erasure of what was found, with the pieces of its texts. No request."""
    contents = {
        text
        for item, bodies in occurrences.bodies.items()
        for body in bodies
        for text in erased.contents_of(item, body)
    }
    prefix = process.settings.embeddings_text_prefix
    return ErasureTask(
        receipt.space_id,
        receipt.ids,
        scrubbing.pieces_of(contents),
        clock.parse(receipt.created_at).date(),
        vectors=frozenset(vector_file.name_of(text, prefix) for text in contents if receipt.memory_ids),
        texts=frozenset(text.strip() for text in contents),
    )


def _note_look(work: Work[Receipt], rewrites: Rewrites) -> None:
    """Enter the objects to change. The objects that a worker changed before it died are entered already."""
    receipt = work.job
    counts = dict(receipt.counts)
    for kind, number in rewrites.counts().items():
        counts[kind] = max(counts.get(kind, 0), number)
    _save(
        work,
        counts=counts,
        files=sorted({*receipt.files, *rewrites.files()}),
        quoted_in=sorted({*receipt.quoted_in, *rewrites.quoted_in}),
    )


def _rewrite_others(work: Work[Receipt], task: ErasureTask, occurrences: Occurrences, rewrites: Rewrites) -> None:
    """Take the words out of all but the notes or memories themselves, of which the space's copy stays until all is
    done.
    """
    for place, names in rewrites.changes.items():
        kept = task.ids - occurrences.own if place.backup_id else task.ids
        here = replace(task, kept=kept, held=frozenset(occurrences.held[place]))
        rewriting.rewrite(work, place, names, here)


def _remove_sources(work: Work[Receipt], task: ErasureTask, occurrences: Occurrences, rewrites: Rewrites) -> None:
    for place in rewrites.changes:
        if place.backup_id and task.ids <= occurrences.own:
            continue
        here = replace(task, held=frozenset(occurrences.held[place]))
        rewriting.rewrite(work, place, occurrences.keys[place], here)


def _is_made_of_turns(key: str) -> bool:
    return bool(SUMMARY.parse(key) or CAPTURE.parse(key))


def _tell_conversation(work: Work[Receipt], task: ErasureTask, item: str, rewrites: Rewrites) -> None:
    """Tell the workers that make summaries of the conversation right now that the turn is erased, remove the summaries
    that they made of it since the look, and have them made again: 2 PUTs, 1 LIST per 1,000 summaries, 1 GET for each
    new one.

    A worker that looks after this takes back its own (conversations/making.py). One that looked before has written
    before.
    """
    parsed = TURN_ID.parse(item)
    assert parsed
    process, space_id, conversation_id = work.process, task.space_id, parsed[0]
    conversations.note_erased(process, space_id, *parsed)
    place = ErasurePlace(space_id)
    entries = process.store.scan(IN_VERSION.prefix(space_id, conversation_id))
    named = ((entry.key.removeprefix(place.prefix), entry) for entry in entries)
    fresh = [
        name
        for name, entry in named
        if _is_made_of_turns(entry.key) and (name, entry.etag, entry.size) not in rewrites.clean
    ]
    rewriting.rewrite(work, place, fresh, task)
    due.mark_at(process, space_id, conversation_id, process.clock())


def _note_sources(work: Work[Receipt], occurrences: Occurrences) -> None:
    """Enter the keys of the objects that hold them, or did: afterwards nothing shows them any more. And those of files
    that a late request may bring back for a moment, which leaves a version (changes/late_write_repair.py): 1 GET.
    """
    receipt = work.job
    space_id = receipt.space_id
    now = {place.prefix + name for place, names in occurrences.keys.items() for name in names}
    now |= {NOTE.key(space_id, note_id) for note_id in receipt.note_ids}
    turns = (TURN_ID.parse(turn) for turn in receipt.turns)
    now |= {TURN.key(space_id, *parsed) for parsed in turns if parsed}
    head = heads.load(work.process, space_id)
    if head.meta.late_write_repair and not receipt.ended():
        now |= {bucket.recorded(space_id, path) for path in head.meta.late_write_repair.files}
    _save(work, removing=sorted({*receipt.removing, *now}))


def _clear_versions(work: Work[Receipt], clear: Callable[[], Cleared]) -> None:
    if work.job.versions == "not_reachable":
        return
    try:
        cleared = clear()
    except VersionsUnreachable:
        told = [*work.job.not_reached, VERSIONS_UNREACHABLE]
        _save(work, versions="not_reachable", not_reached=told)
        return
    kept = cleared.kept or work.job.versions == "removed"
    counts = _counted(work.job, "versions", cleared.removed)
    _save(work, counts=counts, versions="removed" if kept else "not_kept")


def _counted(receipt: Receipt, kind: str, number: int) -> dict[str, int]:
    return receipt.counts | ({kind: receipt.counts.get(kind, 0) + number} if number else {})


def sections(process: Process, receipt: Receipt) -> Iterator[ReceiptSection]:
    """The sections of the bank that rest on one of the notes: 1 LIST, 1 GET each file and 1 GET its record."""
    gone = set(receipt.note_ids)
    if not gone:
        return
    for file in files.listing(process, receipt.space_id, content=True):
        for cited in citations.citations(process, receipt.space_id, file).sections:
            if any(source.note_id in gone for source in cited.sources):
                yield ReceiptSection(path=file.path, heading=cited.heading, section=cited.path)


def _save(work: Work[Receipt], **changes: object) -> None:
    """Write the receipt where it changes."""
    if any(getattr(work.job, name) != value for name, value in changes.items()):
        work.save(**changes)

"""The steps of an erasure, in an order in which it can die anywhere and be gone on with.

The notes, or memories, themselves tell what is to be looked for, so they go last: first their words are taken out of
all else, in the space, in its backups and in former versions; then they are removed, and the versions that this leaves.
Each step finds nothing to do where it was done before.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from livemem import clock
from livemem.bank import citations, files
from livemem.conversations import conversation as conversations
from livemem.conversations import due
from livemem.erasure import erased, former_versions, receipts, rewriting, scrubbing
from livemem.erasure.former_versions import Cleared
from livemem.erasure.holdings import Found, Place, Watch
from livemem.erasure.receipts import VERSIONS_UNREACHABLE
from livemem.erasure.rewriting import Look
from livemem.erasure.task import Task
from livemem.errors import VersionsUnreachable
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.receipt import Receipt, Section
from livemem.store import conversation_keys, keys, vector_file
from livemem.store.stored import Stored


def erase(process: Process, saved: Stored[Receipt], found: Found, watch: Watch) -> Stored[Receipt]:
    """Erase the receipt's notes, memories or turns, which were `found` where they are. Nobody else changes the space
    meanwhile: who held the lease before was told so by a swap of the head.

    For A objects in the space and its backups that are not the same, C of them to be changed, and B backups: A + 2C GET
    and C PUT or DELETE at the least (each object of the space that holds a note and quotes one is written twice), 2 GET
    and 1 PUT of each manifest, 3 PUT of the receipt, and what versions.py and citations take. Raises OutOfTime, and
    what the store raises.
    """
    receipt = saved.value
    if found.bodies:
        rewriting.clear_unfinished(process, receipt.space_id)
    for memory_id in receipt.memory_ids:
        erasing.renew_snapshots(process, receipt.space_id, memory_id)
    task = _task(process, receipt, found)
    own = f"_erasures/{receipt.erasure_id}.json"
    seen = rewriting.look(process, found, task, own, watch)
    # Before anything is changed: of what was changed by one that died nobody would know later.
    saved = _note_look(process, saved, seen)
    _rewrite_others(process, task, found, seen, receipt.erasure_id, watch)
    rewriting.clear_strays(process, receipt.space_id)
    if receipt.status == "running":
        saved = _count(process, saved, archives=former_versions.clear_archives(process, receipt.space_id))
    saved = _clear_versions(
        process, saved, lambda: former_versions.clear_quoting(process, task, seen.clean, own, watch)
    )
    saved = _note_sources(process, saved, found)
    _remove_sources(process, task, found, seen, receipt.erasure_id, watch)
    for one in receipt.turns:
        _tell_conversation(process, task, one, seen, watch)
    rewriting.clear_strays(process, receipt.space_id)
    # An indexer that has read the space before this looks at the head once more (recall/indexing.py); one that dies
    # before it does meets the second look.
    saved = _clear_versions(process, saved, lambda: former_versions.clear_derived(process, receipt.space_id))
    saved = _clear_versions(process, saved, lambda: former_versions.clear_former(process, saved.value.removing, watch))
    return _finish(process, saved)


def _task(process: Process, receipt: Receipt, found: Found) -> Task:
    contents = {
        text for one, bodies in found.bodies.items() for body in bodies for text in erased.contents_of(one, body)
    }
    prefix = process.settings.embeddings_text_prefix
    return Task(
        receipt.space_id,
        receipt.ids,
        scrubbing.pieces_of(contents),
        clock.parse(receipt.started_at).date(),
        vectors=frozenset(vector_file.name_of(text, prefix) for text in contents if receipt.memory_ids),
        texts=frozenset(text.strip() for text in contents),
    )


def _note_look(process: Process, saved: Stored[Receipt], seen: Look) -> Stored[Receipt]:
    """Enter what is going to be changed; of what was changed already by one that died it is entered."""
    receipt = saved.value
    counts = dict(receipt.counts)
    for kind, number in seen.counts().items():
        counts[kind] = max(counts.get(kind, 0), number)
    return _save(
        process,
        saved,
        counts=counts,
        files=sorted({*receipt.files, *seen.files()}),
        quoted_in=sorted({*receipt.quoted_in, *seen.quoted_in}),
    )


def _rewrite_others(process: Process, task: Task, found: Found, seen: Look, mark: str, watch: Watch) -> None:
    """Take the words out of all but the notes or memories themselves, of which one copy stays until all is done: the
    space's.
    """
    for place, names in seen.changes.items():
        kept = task.ids - found.own if place.backup_id else task.ids
        here = replace(task, kept=kept, held=frozenset(found.held[place]))
        rewriting.rewrite(process, place, names, here, mark, watch)


def _remove_sources(process: Process, task: Task, found: Found, seen: Look, mark: str, watch: Watch) -> None:
    for place in seen.changes:
        if place.backup_id and task.ids <= found.own:
            continue
        here = replace(task, held=frozenset(found.held[place]))
        rewriting.rewrite(process, place, found.keys[place], here, mark, watch)


def _tell_conversation(process: Process, task: Task, one: str, seen: Look, watch: Watch) -> None:
    """Tell those who make summaries of the conversation right now that the turn is erased, remove what they made of it
    since the look, and have it made anew: 2 PUTs, 1 LIST per 1,000 summaries, 1 GET for each that is new.

    Who looks after this takes back its own (conversations/making.py); who looked before has written before.
    """
    parsed = conversation_keys.parse_turn_id(one)
    assert parsed
    space_id, conversation_id = task.space_id, parsed[0]
    conversations.note_erased(process, space_id, *parsed)
    place = Place(space_id)
    listed = process.store.scan(conversation_keys.versions_prefix(space_id, conversation_id))
    named = ((entry.key.removeprefix(place.prefix), entry) for entry in listed)
    fresh = [
        name
        for name, entry in named
        if conversation_keys.parse_summary(entry.key) and (name, entry.etag, entry.size) not in seen.clean
    ]
    rewriting.rewrite(process, place, fresh, task, "", watch)
    due.mark_at(process, space_id, conversation_id, process.clock())


def _note_sources(process: Process, saved: Stored[Receipt], found: Found) -> Stored[Receipt]:
    """Enter the keys of the objects that hold them, or did: afterwards nothing tells them any more. And those of
    files that a late request may bring back for a moment, which leaves a version (changes/settling.py): 1 GET.
    """
    space_id = saved.value.space_id
    now = {place.prefix + name for place, names in found.keys.items() for name in names}
    now |= {keys.note(space_id, note_id) for note_id in saved.value.note_ids}
    turns = (conversation_keys.parse_turn_id(one) for one in saved.value.turns)
    now |= {conversation_keys.turn(space_id, *parsed) for parsed in turns if parsed}
    head = heads.load(process, space_id)
    if head.meta.settling and saved.value.status == "running":
        now |= {keys.recorded(space_id, path) for path in head.meta.settling.files}
    return _save(process, saved, removing=sorted({*saved.value.removing, *now}))


def _clear_versions(process: Process, saved: Stored[Receipt], clear: Callable[[], Cleared]) -> Stored[Receipt]:
    if saved.value.versions == "not_reachable":
        return saved
    try:
        cleared = clear()
    except VersionsUnreachable:
        told = [*saved.value.not_reached, VERSIONS_UNREACHABLE]
        return _save(process, saved, versions="not_reachable", not_reached=told)
    kept = cleared.kept or saved.value.versions == "removed"
    saved = _count(process, saved, versions=cleared.removed)
    return _save(process, saved, versions="removed" if kept else "not_kept")


def _count(process: Process, saved: Stored[Receipt], **more: int) -> Stored[Receipt]:
    counts = dict(saved.value.counts)
    for kind, number in more.items():
        if number:
            counts[kind] = counts.get(kind, 0) + number
    return _save(process, saved, counts=counts)


def _finish(process: Process, saved: Stored[Receipt]) -> Stored[Receipt]:
    if saved.value.status == "done":
        return saved
    sections = list(_sections(process, saved.value))
    now = clock.iso(process.clock())
    return _save(process, saved, status="done", finished_at=now, sections=sections)


def _sections(process: Process, receipt: Receipt) -> Iterator[Section]:
    """The sections of the bank that rest on one of the notes: 1 LIST, 1 GET each file and 1 GET its record."""
    gone = set(receipt.note_ids)
    if not gone:
        return
    for file in files.listing(process, receipt.space_id, content=True):
        for cited in citations.citations(process, receipt.space_id, file).sections:
            if any(source.note_id in gone for source in cited.sources):
                yield Section(path=file.path, heading=cited.heading, section=cited.path)


def _save(process: Process, saved: Stored[Receipt], **changes: object) -> Stored[Receipt]:
    """Write the receipt where it changes."""
    if all(getattr(saved.value, name) == value for name, value in changes.items()):
        return saved
    return receipts.save(process, saved, **changes)

"""A space whole, as it is or as it stood at an earlier moment, and at a glance."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, islice

from livemem.access.principal import Principal
from livemem.bank import files, time_travel
from livemem.bank import synthesis as syntheses
from livemem.bank.files import File
from livemem.bank.synthesis import Synthesis
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import late_duplicates
from livemem.errors import NotFound
from livemem.jobs import next_run
from livemem.jobs.next_run import Waiting
from livemem.notes import note as notes
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.process import Process
from livemem.spaces import contents, directory
from livemem.spaces import head as heads
from livemem.spaces.contents import Newest
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import RULES, SYNTHESIS_FILE
from livemem.store.objects import Entry, Object

LIVE_NOTES = 50
LIVE_BYTES = 20_000
"""Objects of the live notes together, front matter included. The newest is read at any size."""


@dataclass(frozen=True)
class Live:
    """The newest live notes whole, newest last. There are `count` of them in all, or more if not `exact`."""

    count: int
    exact: bool
    notes: list[Note]


@dataclass(frozen=True)
class WholeSpace:
    """A space whole: its meta, rules (None if not wanted), synthesis, bank in the order of the rules, and the notes
    that are not folded yet. A look back gives its moment, and has no live notes. Its meta is that of today.
    """

    meta: Meta
    rules: str | None
    synthesis: Synthesis | None
    bank: list[File]
    live: Live | None
    then: RecordedMoment | None = None


def summary(
    process: Process,
    space_id: str,
    *,
    at: str | None = None,
    with_rules: bool = True,
    choose: Callable[[Newest], Sequence[Entry]] | None = None,
) -> WholeSpace:
    """The space as it is, or as it stood at the time `at` (time_travel.then).

    `choose` picks the listed live notes to read, the last one first. Without it the newest are read (LIVE_NOTES).

    As it is: 3 GET and 2 LIST side by side, then 1 GET for each bank file and each note not seen before. Of more than
    1,000 live notes the newest cost a few LIST more, and are not counted. Raises NotFound, InvalidRequest, Conflict.
    """
    if at is not None:
        return _back(process, space_id, at, with_rules=with_rules)
    meta, rules_object, synthesis, bank, newest = process.store.concurrently(
        lambda: heads.refresh(process, space_id).meta,
        lambda: process.store.get(RULES.key(space_id)),
        lambda: process.store.get(SYNTHESIS_FILE.key(space_id)),
        lambda: contents.bank_files(process, space_id),
        lambda: contents.newest_notes(process, space_id, LIVE_NOTES),
    )
    if not rules_object:
        raise NotFound("space", space_id)
    text = _text(rules_object)
    loaded, notes, hidden = process.store.concurrently(
        lambda: files.with_content(process, bank),
        lambda: pages.read_all(process, space_id, choose(newest) if choose else _fitting(newest.entries)),
        lambda: late_duplicates.hidden(process, space_id, newest.listing),
    )
    return WholeSpace(
        meta,
        text if with_rules else None,
        syntheses.parse_synthesis(_text(synthesis)) if synthesis else None,
        in_order_of(text, loaded),
        Live(
            len(newest.listing) - len(hidden),
            newest.exact,
            [note for note in reversed(notes) if note and note.note_id not in hidden],
        ),
    )


def _back(process: Process, space_id: str, at: str, *, with_rules: bool) -> WholeSpace:
    meta = heads.load(process, space_id).meta
    then = time_travel.then(process, space_id, at)
    text = time_travel.rules_at(process, space_id, then)
    synthesis = None
    with suppress(NotFound):
        synthesis = time_travel.synthesis_at(process, space_id, then)
    bank = time_travel.bank_at(process, space_id, then, content=True)
    return WholeSpace(meta, text if with_rules else None, synthesis, in_order_of(text, bank), None, then)


def in_order_of(text: str, bank: Sequence[File]) -> list[File]:
    """The files in the order in which their names first occur in the rules, then the others by path."""

    def place(file: File) -> tuple[float, str]:
        # Not as part of a longer name: `log.md` is not in `changelog.md`, nor `a.md` in `x/a.md`, but in `bank/a.md`.
        name = rf"(?:(?<![\w./-])|(?<=\bbank/)|(?<=\./)){re.escape(file.path)}(?![\w/-]|\.\w)"
        match = re.search(name, text, re.IGNORECASE)
        return (match.start() if match else float("inf")), file.path

    return sorted(bank, key=place)


def _fitting(newest_first: Sequence[Entry]) -> list[Entry]:
    ends = accumulate(entry.size for entry in newest_first)
    return list(newest_first[: max(1, sum(end <= LIVE_BYTES for end in ends))])


def _text(item: Object) -> str:
    return item.body.decode(errors="replace")


def live_at(process: Process, space_id: str, moment: RecordedMoment, *, most: int) -> Live:
    """The newest `most` notes that were live then: those of the notes of that time that are live still, and those that
    later changes folded. An erased note is its stub.

    1 LIST per 1,000 live notes, 1 GET for each that is shown and not known, and the records of the later changes, which
    `time_travel.bank_at` reads too. Raises Conflict if these are too many, ObjectUnreadable.
    """
    folded: dict[str, bytes] = {}
    given_back: set[str] = set()
    for record in time_travel.since(process, space_id, moment):
        if record.undoes is not None and record.undoes <= moment.number:
            # It was folded then, and is live again since.
            given_back |= {source.note_id for source in record.notes}
        for source in record.notes:
            folded.setdefault(source.note_id, source.body())
    entries = late_duplicates.without(process, space_id, contents.all_live_notes(process, space_id))
    live = {contents.note_name(entry).note_id: entry for entry in entries}
    names = {note_id: keys.parse_note_id(note_id) for note_id in live.keys() | folded.keys()}
    existing = [name for note_id, name in names.items() if note_id not in given_back and name.timestamp <= moment.time]
    newest = list(islice(sorted(existing, key=lambda name: name.order, reverse=True), most))
    unread = [live[name.note_id] for name in newest if name.note_id not in folded]
    read = {note.note_id: note for note in pages.read_all(process, space_id, unread) if note}
    shown = [_parsed(space_id, name, folded) or read.get(name.note_id) for name in reversed(newest)]
    return Live(len(existing), True, [note for note in shown if note])


def _parsed(space_id: str, name: keys.NoteName, folded: dict[str, bytes]) -> Note | None:
    body = folded.get(name.note_id)
    return None if body is None else notes.parse_note(space_id, name, body)


@dataclass(frozen=True)
class Info:
    """A space at a glance; sizes in bytes."""

    meta: Meta
    live: list[Entry]
    bank: list[Entry]
    synthesis_exists: bool
    waiting: Waiting


def info(process: Process, space_id: str) -> Info:
    """Meta, live notes, bank files, whether there is a synthesis, and what the next consolidation waits for: 2 GET and
    3 LIST, 1 GET more in a space that is held. Raises NotFound.
    """
    head = heads.refresh(process, space_id)
    entries, bank, synthesis, lease = process.store.concurrently(
        lambda: contents.all_live_notes(process, space_id),
        lambda: contents.bank_files(process, space_id),
        lambda: list(process.store.scan(SYNTHESIS_FILE.key(space_id), limit=1)),
        lambda: next_run.holder_lease(process, space_id),
    )
    live = late_duplicates.without(process, space_id, entries)
    aside = head.meta.oversized_notes.standing(process.settings.llmaas_context_tokens)
    waits = [entry for entry in live if contents.note_name(entry).note_id not in aside]
    return Info(head.meta, live, bank, bool(synthesis), next_run.waiting(process, head.meta, lease, waits))


@dataclass(frozen=True)
class SpaceAtGlance:
    """A space in a list. `waiting`: what waits in it, if that was asked for."""

    meta: Meta
    waiting: Waiting | None = None


def page(
    process: Process, principal: Principal, *, limit: int, after: str | None, waiting: bool = False
) -> tuple[list[SpaceAtGlance], str | None]:
    """A page of the principal's spaces (directory.page). With `waiting` `next_run.look` for each of them."""
    result, more = directory.page(process, principal, limit=limit, after=after)
    if not waiting:
        return [SpaceAtGlance(meta) for meta in result], more
    return process.store.map(lambda meta: SpaceAtGlance(meta, next_run.look(process, meta)), result), more

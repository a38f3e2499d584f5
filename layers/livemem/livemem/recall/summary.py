"""The material that an agent loads when it starts."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from livemem.bank import files, time_travel
from livemem.bank import synthesis as syntheses
from livemem.bank.files import File
from livemem.bank.synthesis import Synthesis
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import late_duplicates
from livemem.errors import NotFound
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.spaces.contents import Newest
from livemem.spaces.head import Meta
from livemem.store import keys
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
    meta, rules_object, synthesis, bank, newest = _side_by_side(
        process,
        lambda: heads.refresh(process, space_id).meta,
        lambda: process.store.get(keys.rules(space_id)),
        lambda: process.store.get(keys.synthesis(space_id)),
        lambda: contents.bank_files(process, space_id),
        lambda: contents.newest_notes(process, space_id, LIVE_NOTES),
    )
    if not rules_object:
        raise NotFound("space", space_id)
    text = _text(rules_object)
    loaded, notes, hidden = _side_by_side(
        process,
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


def _side_by_side(process: Process, *looks: Callable[[], Any]) -> list[Any]:
    return process.store.map(lambda look: look(), looks)

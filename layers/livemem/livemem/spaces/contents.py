"""What is in a space: its live notes and its bank files, as listings show them."""

from dataclasses import dataclass

from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.objects import Entry


@dataclass(frozen=True)
class Info:
    """A space at a glance; sizes in bytes."""

    meta: Meta
    live: list[Entry]
    bank: list[Entry]
    synthesis_exists: bool


def info(process: Process, space_id: str) -> Info:
    """Meta, live notes, bank files and whether there is a synthesis; raises NotFound."""
    head = heads.load(process, space_id)
    live, bank, synthesis = process.store.map(
        list,
        [
            process.store.scan(keys.live_prefix(space_id)),
            process.store.scan(keys.bank_prefix(space_id)),
            process.store.scan(keys.synthesis(space_id), limit=1),
        ],
    )
    return Info(
        head.meta,
        [entry for entry in live if keys.parse_note(entry.key)],
        [entry for entry in bank if keys.parse_bank_file(entry.key)],
        bool(synthesis),
    )


def live_notes(process: Process, space_id: str, *, limit: int | None = None) -> list[Entry]:
    """The space's live notes, oldest first; other objects below `live/` are ignored."""
    listing = process.store.scan(keys.live_prefix(space_id), limit=limit)
    return [entry for entry in listing if keys.parse_note(entry.key)]


def waiting_notes(process: Process, meta: Meta, *, most: int) -> list[Entry]:
    """At most `most` live notes of the space that wait for a consolidation: what is set aside does not.

    1 LIST of `most` keys and a few more; 2 where that is more than 1,000.
    """
    aside = meta.set_aside.standing(process.settings.llmaas_context_tokens)
    # One key more than notes: `.keep`.
    listed = live_notes(process, meta.space_id, limit=most + 1 + len(aside))
    return [entry for entry in listed if note_name(entry).note_id not in aside][:most]


def note_name(entry: Entry) -> keys.NoteName:
    """The name of a listed live note."""
    parsed = keys.parse_note(entry.key)
    assert parsed
    return parsed[1]


def bank_files(process: Process, space_id: str) -> list[Entry]:
    """The space's bank files in the order of their paths."""
    return [entry for entry in process.store.scan(keys.bank_prefix(space_id)) if keys.parse_bank_file(entry.key)]

"""The stub of an erased note: what a record keeps of it, so that history and undo go on."""

import re
from datetime import date

from livemem import clock
from livemem.notes import note as notes
from livemem.notes.note import Note
from livemem.store import keys

_STUB = re.compile(r"Erased on (?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\.")

_SIGN = re.compile(rb"Erased on [0-9-]{10}\.$")


def stub(space_id: str, note_id: str, day: date) -> bytes:
    """The object of a note that was erased: when, by whom and of which category it was stays, no tag and no word."""
    name = keys.parse_note_id(note_id)
    content = f"Erased on {day.isoformat()}."
    erased = Note(
        note_id=note_id,
        space_id=space_id,
        timestamp=clock.iso(name.timestamp),
        agent=name.agent,
        category=name.category,
        tags=(),
        content=content,
        size=len(content),
    )
    return notes.format_note(erased)


def is_stub(note_id: str, body: bytes) -> bool:
    """Whether these are the bytes of a stub."""
    if not _SIGN.search(body):
        return False
    read = notes.parse_note("", keys.parse_note_id(note_id), body)
    match = _STUB.fullmatch(read.content)
    try:
        # In a space that came from another one it names another space.
        return bool(match) and _without_space(body) == _without_space(
            stub("", note_id, date.fromisoformat(match["day"]))  # type: ignore[index]
        )
    except ValueError:
        return False


def _without_space(body: bytes) -> list[bytes]:
    return [line for line in body.split(b"\n") if not re.fullmatch(rb'space_id: "[A-Za-z0-9_-]*"', line)]

"""What a short id means (short_ids.py): the bucket is asked, so that it holds in each process, and for what is new."""

from collections.abc import Sequence
from itertools import islice

from livemem.changes import records
from livemem.errors import InvalidRequest, NotFound
from livemem.memories import reading as memories
from livemem.process import Process
from livemem.recall import short_ids
from livemem.store import keys
from livemem.store.bucket import NOTE, TURN

LISTED = 3
"""Ids that an error lists: an error has 500 characters, and an id of a note up to 107."""


def full_id(process: Process, space_id: str, name: str) -> str:
    """The id that a short one means, or the beginning of an id from its time on. Each other text stays as it is.

    A note: 1 LIST of the live ones of its second, 1 LIST per 1,000 records, and 1 GET for each record that covers the
    second and was not read before. A memory: as memories.reading.load. A turn or summary: 1 LIST. Other texts: none.

    Raises NotFound, ObjectUnreadable, MemoriesBroken. Where several fit, raises InvalidRequest, which lists them.
    """
    talk = short_ids.OF_TALK.fullmatch(name)
    if talk:
        return f"conversations/{conversation_id(process, space_id, talk['conversation'])}/{talk['kind']}/{talk['rest']}"
    memory = short_ids.MEMORY_START.fullmatch(name)
    if memory:
        result = memories.ids_from(process, space_id, memory["name"])
        return _only("memory", memory["name"], [short_ids.MEMORIES + text for text in result])
    note = short_ids.NOTE_START.fullmatch(name)
    if note and not keys.NOTE_ID.fullmatch(note["name"]):
        result = _notes(process, space_id, note["name"], note["time"])
        return _only("note", note["name"], [short_ids.NOTES + text for text in result])
    return short_ids.NOTES + note["name"] if note and name.startswith(short_ids.ARCHIVE) else name


def conversation_id(process: Process, space_id: str, name: str) -> str:
    """The id of the conversation that begins so: 1 LIST. Each text that is no beginning stays as it is.

    Raises NotFound, InvalidRequest as `full_id`.
    """
    if not short_ids.ULID_START.fullmatch(name):
        return name
    rest = process.store.folders(f"{TURN.prefix(space_id)}{name}")
    return _only("conversation", name, [name + end for end in islice(rest, LISTED + 1)])


def _notes(process: Process, space_id: str, name: str, time: str) -> list[str]:
    """The ids of the notes that it fits, each once: after an undo a note is live and in a record."""
    live, archived = process.store.concurrently(
        lambda: _live(process, space_id, time),
        lambda: records.note_ids_at(process, space_id, time),
    )
    return sorted(
        result for result in {*live, *archived} if result.startswith(name) or short_ids.of_note(result) == name
    )


def _live(process: Process, space_id: str, time: str) -> list[str]:
    entries = process.store.scan(f"{NOTE.prefix(space_id)}{time}_")
    return [note_id for entry in entries if (note_id := NOTE.last(entry.key))]


def _only(what: str, name: str, ids: Sequence[str]) -> str:
    if not ids:
        raise NotFound(what, name)
    if len(ids) > 1:
        more = " and more" if len(ids) > LISTED else ""
        raise InvalidRequest.of("id", f"{name} fits {', '.join(ids[:LISTED])}{more}: send the one that is meant")
    return ids[0]

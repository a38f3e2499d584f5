"""What of an object must follow when it comes into another space: the space's id, and the uid of its life."""

import json
import re
from dataclasses import dataclass

from livemem.changes.records import NoteSource
from livemem.runs.run import Run
from livemem.store import documents, keys

_FRONT_MATTER = re.compile(rb"\A---\n(?:(?!---\n).*\n)*?(?P<line>space_id: .*)\n")


@dataclass(frozen=True)
class Names:
    """The space that objects come from, the one they come into, and the uid of that one."""

    source: str
    target: str
    uid: str


def follows(name: str, names: Names) -> bool:
    """Whether the content of the object under this name depends on the space that it is in."""
    if keys.parse_run(f"x/{name}"):
        return True
    moved = names.source != names.target
    return moved and (keys.parse_note(f"x/{name}") is not None or keys.parse_record(f"x/{name}") is not None)


def relabel(name: str, body: bytes, names: Names) -> bytes:
    """The object as it is to be in the other space. What can't be read stays as it is."""
    if keys.parse_run(f"x/{name}"):
        return _run(body, names)
    if keys.parse_note(f"x/{name}"):
        return _note(body, names)
    return _record(body, names)


def _note(body: bytes, names: Names) -> bytes:
    found = _FRONT_MATTER.match(body)
    if not found:
        return body
    start, end = found.span("line")
    return b"".join((body[:start], f"space_id: {json.dumps(names.target)}".encode(), body[end:]))


def _run(body: bytes, names: Names) -> bytes:
    try:
        run = Run.from_bytes(body)
    except ValueError:
        return body
    return run.model_copy(update={"space_id": names.target, "uid": names.uid}).to_bytes()


def _record(body: bytes, names: Names) -> bytes:
    try:
        record = json.loads(body)
        for source in record["notes"]:
            moved = NoteSource.of(source["note_id"], _note(NoteSource.model_validate(source).body(), names))
            source.update(moved.model_dump())
    except (ValueError, KeyError, TypeError):
        return body
    return documents.dump(record)

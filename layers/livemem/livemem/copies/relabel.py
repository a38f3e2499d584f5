"""Changes to an object that is copied into another space: the space's id, and its uid."""

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from livemem.changes.records import NoteSource
from livemem.jobs.run import Run
from livemem.store import stored_documents
from livemem.store.bucket import NOTE, RECORD, RUN

_HEAD = re.compile(rb"\A---[ \t]*\r?\n(?P<fields>.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """The space that objects come from, their new space, and the uid of the new space."""

    source: str
    target: str
    uid: str


class _AnyRun(stored_documents.StoredDocument):
    """The one field of a run that is needed here. So any run can be read, even with other invalid fields."""

    most_bytes: ClassVar[int] = Run.most_bytes

    came: Any = True


def follows(name: str, names: Names) -> bool:
    """Whether the content of the object under this name depends on the space that it is in."""
    if is_run(name):
        return True
    return names.source != names.target and (_is_note(name) or is_record(name))


def relabel(name: str, body: bytes, names: Names) -> bytes:
    """The object for the other space. An unreadable object stays as it is, except a run in JSON."""
    if is_run(name):
        return _run(body, names)
    return _note(body, names) if _is_note(name) else _record(body, names)


def is_run(name: str) -> bool:
    """Whether the object of this name below a space is a run."""
    return name.startswith("_runs/") and RUN.last(f"x/{name}") is not None


def is_record(name: str) -> bool:
    """Whether the object of this name below a space is a record."""
    return name.startswith("_consolidations/") and RECORD.last(f"x/{name}") is not None


def _is_note(name: str) -> bool:
    return NOTE.parse(f"x/{name}") is not None


def _note(body: bytes, names: Names) -> bytes:
    """The note with the id in its front matter replaced, if that is the id of the source."""
    head = _HEAD.match(body)
    if not head:
        return body
    source = re.escape(names.source.encode())
    line = re.compile(rb"^(space_id:[ \t]*[\"']?)" + source + rb"([\"']?[ \t]*\r?)$", re.MULTILINE)
    fields = line.sub(rb"\g<1>" + names.target.encode() + rb"\g<2>", head["fields"], count=1)
    return b"".join((body[: head.start("fields")], fields, body[head.end("fields") :]))


def _run(body: bytes, names: Names) -> bytes:
    try:
        run = Run.from_bytes(body)
    except ValueError:
        return _unreadable_run(body)
    # Its usage counts where it ran. A run that has ended is not counted any more.
    came = {} if run.ended() else {"came": True}
    return run.model_copy(update={"space_id": names.target, "uid": names.uid, **came}).to_bytes()


def _unreadable_run(body: bytes) -> bytes:
    """A run that its model refuses, such as for a number beyond its bounds. The count of usage reads fewer fields
    (spaces/usage_counts.py), so this run is marked as copied as well.
    """
    try:
        return _AnyRun.from_bytes(body).model_copy(update={"came": True}).to_bytes()
    except ValueError:
        return body


def _record(body: bytes, names: Names) -> bytes:
    try:
        record = json.loads(body)
        for source in record["notes"]:
            moved = NoteSource.of(source["note_id"], _note(NoteSource.model_validate(source).body(), names))
            source.update(moved.model_dump())
        return stored_documents.dump(record)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return body

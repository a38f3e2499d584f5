"""Objects of a space that cannot be read: one error for all of them, and an entry in the due index.

A reader that meets such an object enters it (spaces/due_index.py, kind `unreadable`, by its key), and the daily sweep
looks for more. The entry is due at every look. A sweep removes the entry of an object that is mended or gone. So health
needs one LIST for all spaces, and reads no space.
"""

from collections.abc import Mapping
from typing import TypeVar

from livemem.errors import ObjectUnreadable
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces.due_index import Due
from livemem.store import keys
from livemem.store.bucket import IN_SPACE
from livemem.store.objects import Object
from livemem.store.stored_documents import StoredDocument

D = TypeVar("D", bound=StoredDocument)

MOST = 1_000
"""Entries that one look lists, in one request."""
MEND = "Put back an earlier version, from the bucket's versions or from a backup (docs/operations.md)."


def error(key: str, kind: type[ObjectUnreadable] = ObjectUnreadable) -> ObjectUnreadable:
    """The error for the object with this key of the bucket."""
    return kind(f"The object {key!r} cannot be read: it was changed or damaged in the bucket. {MEND}", key=key)


def parsed(process: Process, kind: type[D], item: Object, raised: type[ObjectUnreadable] = ObjectUnreadable) -> D:
    """The document in an object. If it can't be read, raises `raised`, an ObjectUnreadable, and enters it: 1 PUT."""
    try:
        return kind.from_bytes(item.body)
    except ValueError as bad:
        leave(process, item.key)
        raise error(item.key, raised) from bad


def tolerated(process: Process, kind: type[D], item: Object, missing: list[str] | None = None) -> D | None:
    """The document, or None if it cannot be read, for callers that can continue without it. An unreadable one is
    entered (1 PUT), and its key is added to `missing`, for a list that would be silently short.
    """
    try:
        return parsed(process, kind, item)
    except ObjectUnreadable:
        if missing is not None:
            missing.append(item.key)
        return None


def leave(process: Process, key: str) -> None:
    """Enter an object in the due index: 1 PUT, or none if this process did so in the last ten minutes. Never fails."""
    space_id, _, name = key.partition("/")
    if keys.SPACE_ID.fullmatch(space_id) and name:
        due_index.leave_always(process, space_id, "unreadable", key)


def names(process: Process) -> Mapping[str, list[str]]:
    """The keys of the first 1,000 objects that are entered, by space: 1 LIST."""
    names: dict[str, list[str]] = {}
    for entry in due_index.always(process, "unreadable", most=MOST):
        if is_of_space(entry):
            names.setdefault(entry.space_id, []).append(entry.name)
    return names


def is_of_space(entry: Due) -> bool:
    """Whether the entered object is one of its space."""
    return entry.name.startswith(IN_SPACE.prefix(entry.space_id))

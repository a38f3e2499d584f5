"""A promotion, `_promotions/{id}.json` in the space that got the copy, and the entry of the copy in the source's space.

The promotion names its copy before the copy is written. So a repeat completes a first try that died in between, and
writes nothing twice. Whether the copy still stands is not in the document: the notes, the records and the log of the
memories show it.
"""

import hashlib
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import partial
from typing import ClassVar, Self

from pydantic import model_validator

from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import promotion_keys as keys
from livemem.store import stored, stored_documents
from livemem.store.memory_keys import Kind
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Line, Moment, NoteId, Number

FEW = 10
"""Ids up to which a listing for each costs less than one of all entries."""


class Promotion(Revised):
    """The document. Either `note_id`, or `memory_id` with its kind, is the copy's id."""

    most_bytes: ClassVar[int] = 16_384

    source_space_id: Line
    source_id: Line
    promoted_by: Line
    promoted_at: Moment
    attempt: Number = 1
    """Grows by one where it is promoted again after it was taken back."""
    note_id: NoteId | None = None
    memory_id: Line | None = None
    memory_kind: Kind | None = None

    @model_validator(mode="after")
    def _names_one_copy(self) -> Self:
        named = self.memory_id is not None
        if named == (self.note_id is not None) or named != (self.memory_kind is not None):
            raise ValueError("either a note or a memory of a kind")
        return self


def find(process: Process, space_id: str, promotion_id: str) -> Stored[Promotion] | None:
    """The promotion into the space, None if there is none: 1 GET. Raises ObjectUnreadable."""
    return stored.find(process.store, keys.promotion(space_id, promotion_id), partial(_read, process))


def begin(
    process: Process,
    space_id: str,
    promotion_id: str,
    wanted: Promotion,
    known: Stored[Promotion] | None,
    *,
    again: bool,
) -> Promotion:
    """Write the promotion unless another request was faster, and return the one that stands: 1 PUT.

    `known`: the promotion as it was found; `again`: it was taken back, and `wanted` takes its place. Raises
    ObjectUnreadable, PreconditionLost.
    """
    attempt = known.value.attempt + 1 if known else 1
    fresh = wanted.model_copy(update={"attempt": attempt})

    def change(there: Promotion | None) -> Promotion | None:
        return fresh if there is None or (again and there.attempt < attempt) else None

    key = keys.promotion(space_id, promotion_id)
    standing = stored.update(process.store, key, change, process.new_id, read=partial(_read, process), current=known)
    assert standing
    return standing.value


def _read(process: Process, found: Object) -> Promotion:
    return unreadable.parsed(process, Promotion, found)


def cause(promotion_id: str, attempt: int) -> str:
    """The cause of the operation that stores the memory of an attempt."""
    return f"promotion/{promotion_id}/{attempt}"


def suffix(promotion_id: str, attempt: int) -> str:
    """The 8 hex digits in the name of the note of an attempt."""
    return hashlib.sha256(cause(promotion_id, attempt).encode()).hexdigest()[:8]


def enter_copy(process: Process, space_id: str, source_id: str, target: str) -> None:
    """Note in the source's space that a copy is about to be written to the space `target`: 1 PUT.

    An erasure of the source tells of these spaces.
    """
    process.store.put(keys.copy(space_id, source_id, target), b"", content_type=stored_documents.JSON)


def copies_of(process: Process, space_id: str, source_id: str) -> Iterator[tuple[str, datetime]]:
    """The spaces into which the note or memory was promoted, or was about to be, and when last: 1 LIST per 1,000."""
    for entry in process.store.scan(keys.copies_prefix(space_id, source_id)):
        parsed = keys.parse_copy(entry.key)
        if parsed:
            yield parsed.target, entry.last_modified


def copied_to(process: Process, space_id: str, source_ids: Collection[str]) -> list[str]:
    """The spaces into which one of these notes and memories was promoted, or was about to be: 1 LIST for each, for more
    than ten 1 LIST per 1,000 entries of the space.
    """
    few = len(source_ids) <= FEW
    prefixes = [keys.copies_prefix(space_id, one) for one in source_ids] if few else [keys.all_copies_prefix(space_id)]
    listed = (entry.key for prefix in prefixes for entry in process.store.scan(prefix))
    found = (parsed for key in listed if (parsed := keys.parse_copy(key)))
    return sorted({one.target for one in found if one.source_id in source_ids})

"""The erasure in one space or backup, and the fate of an object there."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from livemem.erasure.scrubbing import Pieces
from livemem.store import keys
from livemem.store.bucket import TURN_ID
from livemem.store.stored_documents import StoredDocument

D = TypeVar("D", bound=StoredDocument)


@dataclass(frozen=True)
class ErasureTask:
    """The erasure in one space or backup: notes, memories and turns by their ids, and the pieces of their texts.

    `kept`: those that stay for now, because their pieces are still looked for elsewhere. `held`: the notes that a
    record of this space or backup holds, which stay as stubs. `vectors`: the names of the memories' vectors. `texts`:
    the erased texts, whole.
    """

    space_id: str
    ids: frozenset[str]
    pieces: Pieces
    day: date
    kept: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    vectors: frozenset[bytes] = frozenset()
    texts: frozenset[str] = frozenset()

    @cached_property
    def is_of_memories(self) -> bool:
        """Whether memories are erased."""
        return any(keys.RUN_ID.fullmatch(item) for item in self.ids)

    @cached_property
    def conversations(self) -> frozenset[str]:
        """The conversations of the turns that are erased."""
        parsed = (TURN_ID.parse(item) for item in self.ids)
        return frozenset(item[0] for item in parsed if item)


@dataclass(frozen=True)
class Fate:
    """The object's new body, None to delete it; and the ids of other notes and memories in it that quote the erased
    text.
    """

    body: bytes | None
    quoted_in: frozenset[str] = frozenset()


def read(kind: type[D], body: bytes) -> D | None:
    """The document, or None where the bytes are none."""
    try:
        return kind.from_bytes(body)
    except ValueError:
        return None

"""The progress of a digest, from a listing of its documents, and how these documents are read and written."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.rooms.digest_documents import DigestDone
from livemem.spaces import unreadable
from livemem.store import stored as storing
from livemem.store.bucket import DEAD_LETTER, DIGEST_DONE, EXTRACT, FAILED_TRY, IN_DIGEST, STORED_FACTS
from livemem.store.stored_documents import StoredDocument

D = TypeVar("D", bound=StoredDocument)

WRITE_TRIES = 3


@dataclass
class ChunkProgress:
    """The numbers of the chunks with an answer (`extracts`), with stored memories, and given up (`dead`).

    `tries` counts the failed tries of each.
    """

    extracts: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    tries: dict[int, int] = field(default_factory=dict)
    """The highest number of a failed try, by chunk."""
    done: bool = False

    def open_chunks(self, chunks: int) -> list[int]:
        """The chunks that are not settled. Those with the fewest failures come first, so that one delays no other."""
        settled = self.stored | self.dead
        return sorted(
            (chunk for chunk in range(chunks) if chunk not in settled),
            key=lambda chunk: (self.tries.get(chunk, 0), chunk),
        )


def look(process: Process, space_id: str, slot: str) -> ChunkProgress:
    """The progress of the digest: 1 LIST per 1,000 of its documents."""
    progress = ChunkProgress()
    for entry in process.store.scan(IN_DIGEST.prefix(space_id, slot)):
        for kind, chunks in (
            (EXTRACT, progress.extracts),
            (STORED_FACTS, progress.stored),
            (DEAD_LETTER, progress.dead),
        ):
            if (chunk := kind.last(entry.key)) is not None:
                chunks.add(chunk)
        if attempt := FAILED_TRY.parse(entry.key):
            *_, chunk, number = attempt
            progress.tries[chunk] = max(progress.tries.get(chunk, 0), number)
        progress.done = progress.done or DIGEST_DONE.parse(entry.key) is not None
    return progress


def write(process: Process, key: str, document: D) -> D:
    """Write a document unless it exists, and return the stored one: 1 PUT, and 1 GET if it exists.

    Raises ObjectUnreadable if the stored one cannot be read, because later steps need it. Raises PreconditionLost.
    """
    for _ in range(WRITE_TRIES):
        written = storing.write_once(process.store, key, document.to_bytes())
        if not written.gone:
            return unreadable.parsed(process, type(document), written.other) if written.other else document
    raise PreconditionLost("A document of the digest is written and removed again and again.")


def read(process: Process, key: str, kind: type[D]) -> D | None:
    """The document, or None if there is none: 1 GET. Raises ObjectUnreadable."""
    item = process.store.get(key)
    return unreadable.parsed(process, kind, item) if item else None


def readable(process: Process, key: str, kind: type[D], missing: list[str] | None = None) -> D | None:
    """The document, or None if it is missing or unreadable: 1 GET. An unreadable one's key is added to `missing`."""
    item = process.store.get(key)
    return unreadable.tolerated(process, kind, item, missing) if item else None


def find_done(process: Process, space_id: str, slot: str) -> DigestDone | None:
    """How the digest ended, or None: 1 GET. Raises ObjectUnreadable."""
    return read(process, DIGEST_DONE.key(space_id, slot), DigestDone)


def is_done(process: Process, space_id: str, slot: str) -> bool:
    """Whether the digest has ended, even if its end cannot be read: 1 GET."""
    return process.store.get(DIGEST_DONE.key(space_id, slot)) is not None


def counted(process: Process, object_keys: Iterable[str], kind: type[D]) -> list[D]:
    """The readable documents of these keys, for counting: 1 GET each, in parallel."""
    documents = process.store.map(lambda key: readable(process, key, kind), list(object_keys))
    return [document for document in documents if document]

"""Snapshots of a view in the bucket, so that a cold environment need not read all objects of the space.

`{space}/_search/{schema}-{n:06d}.sqlite` is the view of the space up to its change n, as one file. If it knows objects
of conversations, which come without a change, their number follows (`-{said:09d}`). A snapshot that is damaged, of
another schema or of an earlier space of the same name is ignored. The writer of the next one removes it.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from livemem.search import database
from livemem.search.database import Unusable
from livemem.search.index import Index
from livemem.store import large, stored
from livemem.store.bucket import SEARCH_SNAPSHOT
from livemem.store.objects import Entry, Store

logger = logging.getLogger(__name__)

KEPT = 2
"""The newest that are kept: one that a reader may still be fetching, and its successor."""
MOST_BYTES = 1 << 30
"""Of one that is fetched: a larger one would not leave enough disk of a function (EphemeralStorage)."""
MEDIA_TYPE = "application/vnd.sqlite3"
CHECKSUM = "sha256"
UID = "uid"
"""The names of a snapshot's metadata for the SHA-256 of its bytes, and for its space."""


@dataclass(frozen=True)
class Loaded:
    """The newest usable snapshot: its number, how many objects of conversations it knows, and its key; and the keys of
    the unusable ones.
    """

    number: int | None
    said: int = 0
    key: str | None = None
    damaged: tuple[str, ...] = ()


def key_of(space_id: str, number: int, said: int = 0) -> str:
    """The key of the snapshot as of this change, with so many objects of conversations."""
    return SEARCH_SNAPSHOT.key(space_id, database.SCHEMA, number, said)


def listed(store: Store, space_id: str) -> list[tuple[int, int, str]]:
    """The snapshots of this schema by the number of their change and their objects of conversations, the newest first,
    with their keys: 1 LIST.
    """
    return _ours(store.scan(SEARCH_SNAPSHOT.prefix(space_id)))


def _ours(entries: Iterable[Entry]) -> list[tuple[int, int, str]]:
    result = []
    for entry in entries:
        parsed = SEARCH_SNAPSHOT.parse(entry.key)
        if parsed and parsed[1] == database.SCHEMA:
            result.append((*parsed[2:], entry.key))
    return sorted(result, reverse=True)


def load(store: Store, space_id: str, uid: str, path: Path) -> Loaded:
    """Fetch the newest usable snapshot to `path`: 1 LIST and 1 GET. If there is none, `path` does not exist afterwards.

    Raises StoreUnavailable if the store does not answer.
    """
    damaged: list[str] = []
    for number, statement, key in listed(store, space_id):
        try:
            if _fetch(store, key, uid, path):
                return Loaded(number, statement, key, tuple(damaged))
        except Unusable:
            logger.warning("snapshot left aside", extra={"key": key})
            damaged.append(key)
            path.unlink(missing_ok=True)
    return Loaded(None, damaged=tuple(damaged))


def _fetch(store: Store, key: str, uid: str, path: Path) -> bool:
    """Whether the object was there. Raises Unusable."""
    with large.read(store, key) as stream:
        if stream is None:
            # Pruned between listing and reading.
            return False
        if stream.size > MOST_BYTES or stream.metadata.get(UID) != uid:
            raise Unusable("too large, or of another space")
        digest = hashlib.sha256()
        with path.open("wb") as file:
            for chunk in stream.chunks:
                digest.update(chunk)
                file.write(chunk)
        # As good as SQLite's own check, which takes ten times as long.
        if digest.hexdigest() != stream.metadata.get(CHECKSUM):
            raise Unusable("damaged")
    return True


def save(store: Store, key: str, uid: str, index: Index, scratch: Path, *, replace: bool = False) -> bool:
    """Write a snapshot of the view under its key: 1 PUT. False if there is one already, unless `replace`. That one may
    be the caller's own, written by a request whose answer was lost.

    `scratch` is a path for the temporary file. It is sent from there: of a large space it does not fit into memory.
    """
    scratch.unlink(missing_ok=True)
    try:
        index.copy_to(scratch)
        with scratch.open("rb") as file:
            fields = {CHECKSUM: hashlib.file_digest(file, "sha256").hexdigest(), UID: uid}
            if replace:
                store.put(key, file, content_type=MEDIA_TYPE, metadata=fields)
                return True
            return bool(stored.write_if(store, key, file, content_type=MEDIA_TYPE, metadata=fields))
    finally:
        scratch.unlink(missing_ok=True)


def prune(store: Store, space_id: str) -> None:
    """Remove all snapshots but the newest of this schema: 1 LIST, and 1 DeleteObjects if there are any. Those of later
    schemas stay, so that two versions of the service can work side by side.
    """
    entries = list(store.scan(SEARCH_SNAPSHOT.prefix(space_id)))
    doomed = [key for *_, key in _ours(entries)[KEPT:]]
    for entry in entries:
        parsed = SEARCH_SNAPSHOT.parse(entry.key)
        if parsed and parsed[1] < database.SCHEMA:
            doomed.append(entry.key)
    store.delete_many(doomed)


def remove(store: Store, space_id: str) -> None:
    """Remove all snapshots of every schema: 1 LIST, and 1 DeleteObjects if there are any."""
    entries = store.scan(SEARCH_SNAPSHOT.prefix(space_id))
    store.delete_many([entry.key for entry in entries if SEARCH_SNAPSHOT.parse(entry.key)])

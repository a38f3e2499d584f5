"""The head of a space, `_meta.json`, which every change of a space's state goes through."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

from livemem import limits
from livemem.errors import NotFound, PreconditionLost, SpaceBroken
from livemem.process import Process, Timer
from livemem.store import documents, keys
from livemem.store.documents import Document
from livemem.store.probe import require_conditional_writes

UPDATE_TRIES = 20
MEND = "Put the right one back in the bucket, or remove the folder."


KNOWN_SECONDS = 30
KNOWN_SPACES = 1_000


class Meta(Document):
    """`_meta.json`, changed by compare-and-swap alone. The first eight fields are fixed by contract."""

    space_id: str
    description: str
    owner: str | None
    created_at: str
    last_consolidation: str | None = None
    consolidation_count: int = 0
    total_notes_processed: int = 0
    version: int = 1
    rev: int = 1
    uid: str
    consolidation_threshold: int
    auto_paused: bool = False
    committed_run: str | None = None
    undone: list[tuple[int, int]] | None = None
    """Changes that do not stand any more: from an undone one to its undo. None where an older version made the space:
    then the records tell.
    """
    deleted_at: str | None = None
    """Set while the space is being deleted: for every reader it is gone already."""

    def automatic(self) -> bool:
        """Whether consolidations may start by themselves."""
        return self.consolidation_threshold > 0 and not self.auto_paused

    def with_undo(self, undoes: int, number: int) -> list[tuple[int, int]] | None:
        """`undone` after change `number` took back change `undoes`."""
        if self.undone is None:
            return None
        # Only the newest change that stands can be undone: what came between is not standing either.
        earlier = [(first, last) for first, last in self.undone if first < undoes]
        if earlier and earlier[-1][1] == undoes - 1:
            undoes = earlier.pop()[0]
        return [*earlier, (undoes, number)]


@dataclass(frozen=True)
class Head:
    """A space's meta as read, with the ETag that a swap needs."""

    meta: Meta
    etag: str


class _Known:
    """The metas that this process has read in the last 30 s."""

    def __init__(self, timer: Timer) -> None:
        self._metas = TTLCache[str, Meta](KNOWN_SPACES, KNOWN_SECONDS, timer)
        self._lock = threading.Lock()

    def get(self, space_id: str) -> Meta | None:
        with self._lock:
            return self._metas.get(space_id)

    def put(self, meta: Meta) -> Meta:
        with self._lock:
            self._metas[meta.space_id] = meta
        return meta

    def drop(self, space_id: str) -> None:
        with self._lock:
            self._metas.pop(space_id, None)


def find(process: Process, space_id: str) -> Head | None:
    """The space's head, fresh from the store, or None."""
    head = find_any(process, space_id)
    return None if head and head.meta.deleted_at else head


def find_any(process: Process, space_id: str) -> Head | None:
    """The head even of a space that is being deleted, or None."""
    found = process.store.get(keys.meta(space_id))
    return Head(_parse(space_id, found.body), found.etag) if found else None


def _parse(space_id: str, body: bytes) -> Meta:
    try:
        meta = Meta.from_bytes(body)
    except ValueError as error:
        raise SpaceBroken(f"The _meta.json of the space {space_id!r} can't be read. {MEND}") from error
    if meta.space_id != space_id:
        # A copied folder: what is written must never follow a name that access was not checked on.
        raise SpaceBroken(f"The _meta.json in the folder {space_id!r} is another space's. {MEND}")
    return meta


def load(process: Process, space_id: str) -> Head:
    """The space's head, fresh from the store; raises NotFound."""
    head = find(process, keys.check_space_id(space_id))
    if not head:
        raise NotFound("space", space_id)
    return head


def load_recent(process: Process, space_id: str) -> Meta:
    """The space's meta, at most 30 s old in this process: for paths that only need to know that it exists."""
    known = process.cache(_Known)
    return known.get(space_id) or known.put(load(process, space_id).meta)


def swap(process: Process, head: Head, **changes: object) -> Head:
    """Write `head` with `changes` over exactly the version that was read; raises PreconditionLost."""
    meta = head.meta.model_copy(update={**changes, "rev": head.meta.rev + 1})
    etag = process.store.put(keys.meta(meta.space_id), meta.to_bytes(), if_match=head.etag, content_type=documents.JSON)
    process.cache(_Known).drop(meta.space_id)
    return Head(meta, etag)


def update(process: Process, space_id: str, changes: Callable[[Meta], dict[str, object]]) -> Head:
    """Apply `changes` to the newest meta, again after each lost race; raises NotFound, at last PreconditionLost."""
    for _ in range(UPDATE_TRIES):
        head = load(process, space_id)
        wanted = changes(head.meta)
        if not wanted:
            return head
        try:
            return swap(process, head, **wanted)
        except PreconditionLost:
            continue
    raise PreconditionLost("Too many changes of this space at once.")


def patch(
    process: Process,
    space_id: str,
    *,
    description: str | None = None,
    owner: str | None = None,
    threshold: int | None = None,
    auto_paused: bool | None = None,
) -> Meta:
    """Change what a user may change of a space; None leaves a field alone."""
    wanted: dict[str, object] = {}
    if description is not None:
        wanted["description"] = limits.check_text("description", description, limits.DESCRIPTION_BYTES, blank=True)
    if owner is not None:
        wanted["owner"] = limits.check_text("owner", owner, limits.OWNER_BYTES)
    if threshold is not None:
        wanted["consolidation_threshold"] = threshold
    if auto_paused is not None:
        wanted["auto_paused"] = auto_paused
    if wanted:
        require_conditional_writes(process.store)
    return update(process, space_id, lambda _: wanted).meta

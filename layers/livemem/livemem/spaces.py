"""Spaces: the head object `_meta.json`, which every change of a space's state goes through, and the space's life.

Creation writes `_rules.md` first and `_meta.json` last. Deletion first marks `_meta.json` as deleted, by the same
compare-and-swap that a consolidation commits with, and removes it with `_rules.md` after everything else. So nothing
can commit into a deleted space, and whatever was interrupted is told by what is left.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock, documents, keys, limits, rules
from livemem.cache import TimedCache
from livemem.documents import Document
from livemem.errors import Busy, Conflict, InvalidRequest, NotFound, PreconditionLost, SpaceExists, StoreUnavailable
from livemem.store import Entry, Store, require_conditional_writes

logger = logging.getLogger(__name__)

UPDATE_TRIES = 20
INTERRUPTED_AFTER = timedelta(minutes=15)
"""Longest life of an invocation on Lambda: what is older was left behind by one that died."""

_known = TimedCache["Meta"](30)


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
    deleted_at: str | None = None
    """Set while the space is being deleted: for every reader it is gone already."""

    def automatic(self) -> bool:
        """Whether consolidations may start by themselves."""
        return self.consolidation_threshold > 0 and not self.auto_paused


@dataclass(frozen=True)
class Head:
    """A space's meta as read, with the ETag that a swap needs."""

    meta: Meta
    etag: str


@dataclass(frozen=True)
class Info:
    """A space at a glance; sizes in bytes."""

    meta: Meta
    live: list[Entry]
    bank: list[Entry]
    synthesis_exists: bool


def create(
    store: Store,
    *,
    space_id: str,
    description: str,
    rules_text: str | None,
    rules_template: str | None,
    owner: str | None,
    threshold: int,
    now: datetime,
    uid: str,
) -> Meta:
    """Create a space and return its meta: 4 PUT.

    Raises SpaceExists, InvalidRequest or TooLarge (naming the field), Conflict while a creation or deletion of the
    same id is under way.
    """
    keys.check_space_id(space_id)
    limits.check_text("description", description, limits.DESCRIPTION_BYTES, blank=True)
    if owner is not None:
        limits.check_text("owner", owner, limits.OWNER_BYTES)
    if rules_text is not None and rules_template is not None:
        raise InvalidRequest.of("rules_template", "give either rules or rules_template, not both")
    text = rules.template(rules_template or rules.DEFAULT_TEMPLATE) if rules_text is None else rules_text
    limits.check_text("rules", text, limits.RULES_BYTES)
    require_conditional_writes(store)
    meta = Meta(
        space_id=space_id,
        description=description,
        owner=owner,
        created_at=clock.iso(now),
        uid=uid,
        consolidation_threshold=threshold,
    )
    _claim_rules(store, space_id, text.encode(), now)
    store.put(keys.live_keep(space_id), b"")
    store.put(keys.bank_keep(space_id), b"")
    try:
        store.put(keys.meta(space_id), meta.to_bytes(), if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        found = find(store, space_id)
        # A repeated request of the store's client meets its own first try.
        if not found or found.meta.uid != uid:
            raise SpaceExists(f"The space {space_id!r} exists already.") from None
    return meta


def _claim_rules(store: Store, space_id: str, text: bytes, now: datetime) -> None:
    try:
        store.put(keys.rules(space_id), text, if_none_match=True)
        return
    except PreconditionLost:
        head = find_any(store, space_id)
    if head and not head.meta.deleted_at:
        raise SpaceExists(f"The space {space_id!r} exists already.")
    if head:
        finish_deletion(store, head, now)
    left = store.get(keys.rules(space_id))
    if left and now - left.last_modified < INTERRUPTED_AFTER:
        # Either the same client repeats an interrupted creation, or somebody else is at it right now.
        if left.body == text:
            return
        raise Conflict(f"The space {space_id!r} is being created by somebody else; try again in 15 minutes.")
    _delete_contents(store, space_id)
    try:
        store.put(keys.rules(space_id), text, if_match=left.etag if left else None, if_none_match=not left)
    except PreconditionLost:
        raise Conflict(f"The space {space_id!r} is being created by somebody else.") from None


def find(store: Store, space_id: str) -> Head | None:
    """The space's head, fresh from the store, or None."""
    head = find_any(store, space_id)
    return None if head and head.meta.deleted_at else head


def find_any(store: Store, space_id: str) -> Head | None:
    """The head even of a space that is being deleted, or None."""
    found = store.get(keys.meta(space_id))
    return Head(_parse(found.body), found.etag) if found else None


def _parse(body: bytes) -> Meta:
    try:
        return Meta.from_bytes(body)
    except ValueError as error:
        raise StoreUnavailable("The space's _meta.json can't be read.") from error


def load(store: Store, space_id: str) -> Head:
    """The space's head, fresh from the store; raises NotFound."""
    head = find(store, keys.check_space_id(space_id))
    if not head:
        raise NotFound("space", space_id)
    return head


def load_recent(store: Store, space_id: str) -> Meta:
    """The space's meta, at most 30 s old in this process: for paths that only need to know that it exists."""
    known = _known.get((store, space_id))
    return known or _known.put((store, space_id), load(store, space_id).meta)


def swap(store: Store, head: Head, **changes: object) -> Head:
    """Write `head` with `changes` over exactly the version that was read; raises PreconditionLost."""
    meta = head.meta.model_copy(update={**changes, "rev": head.meta.rev + 1})
    etag = store.put(keys.meta(meta.space_id), meta.to_bytes(), if_match=head.etag, content_type=documents.JSON)
    _known.drop((store, meta.space_id))
    return Head(meta, etag)


def update(store: Store, space_id: str, changes: Callable[[Meta], dict[str, object]]) -> Head:
    """Apply `changes` to the newest meta, again after each lost race; raises NotFound, at last PreconditionLost."""
    for _ in range(UPDATE_TRIES):
        head = load(store, space_id)
        wanted = changes(head.meta)
        if not wanted:
            return head
        try:
            return swap(store, head, **wanted)
        except PreconditionLost:
            continue
    raise PreconditionLost("Too many changes of this space at once.")


def patch(
    store: Store,
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
        require_conditional_writes(store)
    return update(store, space_id, lambda _: wanted).meta


def ids(store: Store, *, start_after: str = "") -> Iterator[str]:
    """The ids of all folders that may be spaces, in order."""
    for folder in store.folders(start_after=f"{start_after}/\U0010ffff" if start_after else ""):
        try:
            yield keys.check_space_id(folder)
        except keys.InvalidName:
            continue


def info(store: Store, space_id: str) -> Info:
    """Meta, live notes, bank files and whether there is a synthesis; raises NotFound."""
    head = load(store, space_id)
    live, bank, synthesis = store.map(
        list,
        [
            store.scan(keys.live_prefix(space_id)),
            store.scan(keys.bank_prefix(space_id)),
            store.scan(keys.synthesis(space_id), limit=1),
        ],
    )
    return Info(
        head.meta,
        [entry for entry in live if keys.parse_note(entry.key)],
        [entry for entry in bank if keys.parse_bank_file(entry.key)],
        bool(synthesis),
    )


def live_notes(store: Store, space_id: str, *, limit: int | None = None) -> list[Entry]:
    """The space's live notes, oldest first; other objects below `live/` are ignored."""
    listing = store.scan(keys.live_prefix(space_id), limit=limit)
    return [entry for entry in listing if keys.parse_note(entry.key)]


def bank_files(store: Store, space_id: str) -> list[Entry]:
    """The space's bank files in the order of their paths."""
    return [entry for entry in store.scan(keys.bank_prefix(space_id)) if keys.parse_bank_file(entry.key)]


def delete(store: Store, space_id: str, now: datetime) -> None:
    """Delete a space with all that is in it; raises NotFound, Busy while a commit is being applied.

    For A objects ceil(A/1000) LIST and DeleteObjects, and 1 GET, 1 PUT, 1 DeleteObjects. If it dies on the way the
    space is gone for its readers, and the sweep (or a creation of the same id after 15 minutes) removes the rest.
    """
    require_conditional_writes(store)
    for _ in range(UPDATE_TRIES):
        head = load(store, space_id)
        if head.meta.committed_run:
            raise Busy("A consolidation of this space is being written; try again in a moment.")
        try:
            swap(store, head, deleted_at=clock.iso(now))
        except PreconditionLost:
            continue
        _delete_marked(store, space_id)
        return
    raise PreconditionLost("Too many changes of this space at once.")


def finish_deletion(store: Store, head: Head, now: datetime) -> None:
    """Take over a deletion that died; raises Conflict while its first process may still be at it."""
    assert head.meta.deleted_at
    if now - clock.parse(head.meta.deleted_at) < INTERRUPTED_AFTER:
        raise Conflict(f"The space {head.meta.space_id!r} is being deleted; try again in 15 minutes.")
    try:
        swap(store, head, deleted_at=clock.iso(now))
    except PreconditionLost:
        raise Conflict(f"The space {head.meta.space_id!r} is being deleted by somebody else.") from None
    _delete_marked(store, head.meta.space_id)


def _delete_marked(store: Store, space_id: str) -> None:
    _delete_contents(store, space_id)
    store.delete_many([keys.meta(space_id), keys.rules(space_id)])


def _delete_contents(store: Store, space_id: str) -> None:
    markers = {keys.meta(space_id), keys.rules(space_id)}
    store.delete_many([entry.key for entry in store.scan(keys.prefix(space_id)) if entry.key not in markers])

"""How far the archive of a backup is: `_exports/{space}/{backup}.json`, changed by compare-and-swap alone."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.store import documents, keys
from livemem.store.documents import Count, Document, Moment, Seconds
from livemem.store.objects import Object


class State(Document):
    """The document. What is needed to go on is there while it is made: the parts uploaded so far, and the SHA-256 and
    metadata of the objects in them.
    """

    space_id: str
    backup_id: str
    claim: str
    """Which work on it wrote this: so no two workers write the same bytes."""
    rev: Count = 1
    asked: Literal["export", "download"]
    """What it was made for: the archive of the space as it stands, or of a given backup."""
    status: Literal["backing_up", "working", "complete", "failed"] = "working"
    delivered: bool = False
    """Whether somebody who asked for it was given its URL."""
    held_seconds: Seconds = 0
    """For how long after this was written somebody is at work on it, or will be."""
    started_at: Moment
    finished_at: Moment | None = None
    total: Count = 0
    """Objects of the backup."""
    next: Count = 0
    """How many of them are in the parts."""
    upload_id: str | None = None
    etags: list[str] = []
    bytes: Count = 0
    """Of the parts; of the archive once it is complete."""
    digests: list[str] = []
    metadata: dict[str, dict[str, str]] = {}
    objects: Count = 0
    left_out: Count = 0
    error: dict[str, str] | None = None


@dataclass(frozen=True)
class Saved:
    """A state as read or written, with its ETag."""

    state: State
    etag: str
    age: timedelta = timedelta()
    """Since it was written, by the store's clock."""

    def is_held(self) -> bool:
        """Whether somebody is at work on it."""
        at_work = self.state.status in ("backing_up", "working")
        return at_work and self.age < timedelta(seconds=self.state.held_seconds)


def find(process: Process, space_id: str, backup_id: str) -> Saved | None:
    """The state, or None: 1 GET. One that can't be read is none."""
    return parse(process.store.get(keys.export_state(space_id, backup_id)))


def parse(found: Object | None) -> Saved | None:
    """The state in an object."""
    try:
        state = State.from_bytes(found.body) if found else None
    except ValueError:
        return None
    if not found or not state or keys.export_state(state.space_id, state.backup_id) != found.key:
        return None
    return Saved(state, found.etag, found.age)


def create(
    process: Process,
    space_id: str,
    backup_id: str,
    asked: Literal["export", "download"],
    *,
    over: str | None,
    **fields: Any,
) -> Saved:
    """Write a new state where there is none, or `over` one of this ETag: 1 PUT. Raises PreconditionLost."""
    state = State(
        space_id=space_id,
        backup_id=backup_id,
        claim=process.new_id(),
        asked=asked,
        started_at=clock.iso(process.clock()),
        **fields,
    )
    return _put(process, state, {"if_match": over} if over else {"if_none_match": True})


def save(process: Process, saved: Saved, **changes: Any) -> Saved:
    """Write `changes` over exactly the state that was read: 1 PUT. Raises PreconditionLost."""
    changed = saved.state.model_copy(update={"claim": process.new_id(), "rev": saved.state.rev + 1, **changes})
    return _put(process, changed, {"if_match": saved.etag})


def _put(process: Process, state: State, condition: dict[str, Any]) -> Saved:
    key, body = keys.export_state(state.space_id, state.backup_id), state.to_bytes()
    try:
        return Saved(state, process.store.put(key, body, content_type=documents.JSON, **condition))
    except PreconditionLost:
        # Perhaps our own first try, whose answer was lost.
        found = process.store.get(key)
        if not found or found.body != body:
            raise
        return Saved(state, found.etag)

"""Setting aside an object that cannot be read, so that the rest of its space works, and putting it back.

The bytes are kept whole below `_quarantine/`, with a record of who did so, when and why. Then, by one conditional
write, something else takes the object's place where a number or an id must not be given twice (`instead` of its kind).
Else the object is removed. Every step can be repeated: the id under which an object is kept is made of its key and its
bytes.
"""

import hashlib
import logging
from collections.abc import Mapping

from livemem import clock, limits
from livemem.access.principal import Principal
from livemem.errors import Conflict, InvalidRequest, NotFound
from livemem.jobs.maintainable import Damaged
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces import unreadable as marks
from livemem.spaces.head import Head
from livemem.store import keys, stored, stored_documents
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry, Object
from livemem.upkeep import unreadable_objects
from livemem.upkeep.quarantine import Quarantined

logger = logging.getLogger(__name__)

BYTES = "application/octet-stream"
NO_HEAD = (
    "The head of a space cannot be set aside: without it there is no space. Put an earlier version of it back in the "
    "bucket, or restore a backup under another id."
)


def set_aside(process: Process, principal: Principal, space_id: str, key: str, reason: str) -> Quarantined:
    """Set an object of the space aside that cannot be read, and return its record: some GETs, 2 PUTs, and 1 PUT or
    DELETE. A repeat that comes after it is refused, as for every object that is not there, or can be read. An object
    that was changed meanwhile is kept all the same, and stays in its place.

    Raises NotFound, InvalidRequest (naming the field), Conflict where the object can be read, or changes meanwhile.
    """
    limits.check_text("reason", reason, limits.REASON_BYTES)
    head = heads.load(process, space_id)
    require_conditional_writes(process.store)
    name = name_of(space_id, key)
    item = process.store.get(key)
    if not item:
        raise NotFound("object", key)
    if unreadable_objects.is_readable(name, item.body):
        marks.remove(process, key)
        raise Conflict(f"The object {key!r} can be read. Only unreadable objects can be set aside.")
    quarantine_id = keys.quarantine_id(key, item.etag)
    # Whoever could not go on without it is looked after now, or after a death on the way.
    due_index.leave(process, space_id)
    process.store.put(keys.quarantined_bytes(space_id, quarantine_id), item.body, content_type=BYTES)
    body = _instead(process, head, name, item, quarantine_id, principal.name)
    quarantined = Quarantined(
        quarantine_id=quarantine_id,
        name=name,
        size=len(item.body),
        etag=item.etag,
        sha256=_sha256(item.body),
        written_at=clock.iso_millis(item.last_modified),
        content_type=item.content_type,
        metadata=dict(item.metadata),
        by=principal.name,
        at=clock.iso_millis(process.clock()),
        reason=reason,
        instead=_sha256(body) if body is not None else None,
    )
    _keep(process, space_id, quarantined)
    _replace(process, key, item, body)
    marks.remove(process, key)
    logger.warning("object set aside", extra={"space_id": space_id, "key": key, "quarantine_id": quarantine_id})
    return quarantined


def put_back(process: Process, principal: Principal, space_id: str, quarantine_id: str) -> Quarantined:
    """Put an object back as it was, byte for byte, in the place of what has taken it: 3 GETs, 3 PUTs.

    Perhaps a newer version of the service can read it now. Raises InvalidName, NotFound, Conflict where another object
    is in its place by now.
    """
    keys.check_ulid("quarantine_id", quarantine_id)
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    kept = load(process, space_id, quarantine_id)
    if kept.put_back_at:
        return kept
    # It may have come with an archive, from anybody.
    key = keys.prefix(space_id) + kept.name
    name = name_of(space_id, key)
    item = process.store.get(key)
    whole = process.store.get(keys.quarantined_bytes(space_id, quarantine_id))
    if not whole:
        raise NotFound("object", keys.quarantined_bytes(space_id, quarantine_id))
    if not item or item.body != whole.body:
        _check_place(kept, key, item)
        _replace(process, key, item, whole.body, kept.content_type or BYTES, kept.metadata)
    if not unreadable_objects.is_readable(name, whole.body):
        marks.leave(process, key)
    due_index.leave(process, space_id)
    done = kept.model_copy(update={"put_back_by": principal.name, "put_back_at": clock.iso_millis(process.clock())})
    _keep(process, space_id, done)
    logger.warning("object put back", extra={"space_id": space_id, "key": key, "quarantine_id": quarantine_id})
    return done


def _check_place(quarantined: Quarantined, key: str, item: Object | None) -> None:
    if (_sha256(item.body) if item else None) != quarantined.instead:
        raise Conflict(f"Another object has the key {key!r} by now. Nothing was changed.")


def load(process: Process, space_id: str, quarantine_id: str) -> Quarantined:
    """The record of an object that was set aside: 1 GET. Raises NotFound, ObjectUnreadable."""
    item = process.store.get(keys.quarantined(space_id, quarantine_id))
    if not item:
        raise NotFound("quarantined object", quarantine_id)
    return marks.parsed(process, Quarantined, item)


def page(
    process: Process, space_id: str, *, limit: int, after: str | None = None, missing: list[str] | None = None
) -> tuple[list[Quarantined], str | None]:
    """The objects set aside in the space, by their ids, and the id to continue behind, None at the end: 1 LIST per
    1,000, 1 GET each. Raises NotFound, InvalidName.
    """
    if after is not None:
        keys.check_ulid("after", after)
    heads.load(process, space_id)
    entries = process.store.scan(keys.quarantine_prefix(space_id))
    ids = [parsed for entry in entries if (parsed := keys.parse_quarantined(entry.key)) and parsed > (after or "")]
    batch = ids[:limit]
    items = process.store.get_many([keys.quarantined(space_id, item) for item in batch])
    known = [marks.tolerated(process, Quarantined, item, missing) for item in items if item]
    return [item for item in known if item], batch[-1] if len(ids) > limit else None


def name_of(space_id: str, key: str) -> str:
    """The name below the space of an object that can be set aside. Raises InvalidRequest."""
    prefix = keys.prefix(space_id)
    if not key.startswith(prefix):
        raise InvalidRequest.of("key", f"must be the key of an object of the space: it begins with {prefix!r}")
    name = keys.check_object_name(key.removeprefix(prefix))
    if name == keys.META:
        raise InvalidRequest.of("key", NO_HEAD)
    return name


def _instead(process: Process, head: Head, name: str, item: Object, quarantine_id: str, author: str) -> bytes | None:
    kind = unreadable_objects.kind_of(name)
    assert kind
    entry = Entry(
        key=item.key,
        size=len(item.body),
        etag=item.etag,
        last_modified=item.last_modified,
        seen_at=item.seen_at,
    )
    made = kind.instead(process, Damaged(head, name, entry, quarantine_id, author))
    return made.to_bytes() if made else None


def _replace(
    process: Process,
    key: str,
    item: Object | None,
    body: bytes | None,
    content_type: str = stored_documents.JSON,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Put `body` in the place of exactly the stored object, None: of nothing. Raises Conflict."""
    over = item.etag if item else None
    done = (
        process.store.delete(key, if_match=over)
        if body is None
        else stored.write_once(
            process.store, key, body, over=over, content_type=content_type, metadata=metadata
        ).says_so
    )
    if not done:
        raise Conflict(f"The object {key!r} was changed in the meantime. Try again.", retry_after=1)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _keep(process: Process, space_id: str, quarantined: Quarantined) -> None:
    process.store.put(
        keys.quarantined(space_id, quarantined.quarantine_id),
        quarantined.to_bytes(),
        content_type=stored_documents.JSON,
    )

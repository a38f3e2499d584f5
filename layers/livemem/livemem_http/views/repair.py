"""Objects that cannot be read, and those that were set aside."""

from typing import Annotated

from livemem import clock
from livemem.store import keys
from livemem.upkeep.quarantine import Quarantined
from livemem.upkeep.unreadable_objects import Broken
from livemem_http.views.fields import Body, Gapped, Moment, NextCursor, View, described

Key = Annotated[
    str,
    described(
        "The key of the object in the bucket.",
        "demo/_consolidations/000007_20260220T140000_20260220T140500.json",
    ),
]
QuarantineId = Annotated[str, described("The id under which the object is kept, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class UnreadableObject(View):
    """An object of the space that cannot be read."""

    key: Key
    size: Annotated[int, described("Size in bytes.", 0)]
    written_at: Annotated[Moment, described("The time of the last write, UTC.", "2026-02-20T14:05:00.000Z")]

    @classmethod
    def of(cls, broken: Broken) -> "UnreadableObject":
        return cls(key=broken.key, size=broken.size, written_at=clock.iso_millis(broken.written_at))


class UnreadablePage(View):
    """A page of objects that cannot be read."""

    items: Annotated[
        list[UnreadableObject],
        described("The objects, sorted by key. A page that is not the last one may hold fewer than `limit`."),
    ]
    next_cursor: NextCursor = None


class NewQuarantine(Body):
    """The object to set aside."""

    key: Key
    reason: Annotated[str, described("The reason, for later readers.", "Half of it is missing since the move.")]


class QuarantinedView(View):
    """An object that was set aside. Fields that do not apply are left out."""

    quarantine_id: QuarantineId
    key: Key
    size: Annotated[int, described("Size in bytes.", 0)]
    sha256: Annotated[str, described("The SHA-256 of the object's bytes, in hex.", "e3b0c44298fc1c149afbf4c8996fb924")]
    written_at: Annotated[Moment, described("The time when the object was written, UTC.", "2026-02-20T14:05:00.000Z")]
    kept_at: Annotated[
        str,
        described(
            "The key under which the object's bytes are kept.", "demo/_quarantine/01KHXE5Q2V8R0M4T6W9YBNCD3F.object"
        ),
    ]
    replaced: Annotated[
        bool,
        described(
            "True if a placeholder was written under the old key, because its number must not be given again.", True
        ),
    ]
    by: Annotated[str, described("The name of the token that set it aside.", "admin")]
    at: Annotated[Moment, described("The time when it was set aside, UTC.", "2026-02-21T09:00:00.000Z")]
    reason: Annotated[str, described("The reason.", "Half of it is missing since the move.")]
    put_back_by: Annotated[str | None, described("The name of the token that put it back.")] = None
    put_back_at: Annotated[Moment | None, described("The time when it was put back, UTC.")] = None

    @classmethod
    def of(cls, space_id: str, kept: Quarantined) -> "QuarantinedView":
        told = kept.model_dump(include=set(cls.model_fields))
        where = keys.quarantined_bytes(space_id, kept.quarantine_id)
        key = keys.prefix(space_id) + kept.name
        return cls.model_validate({**told, "key": key, "kept_at": where, "replaced": kept.instead is not None})


class QuarantinedPage(Gapped):
    """A page of objects that were set aside."""

    items: Annotated[list[QuarantinedView], described("The objects, sorted by id.")]
    next_cursor: NextCursor = None

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
QuarantineId = Annotated[str, described("The id under which it is kept, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class UnreadableObject(View):
    """An object of the space that cannot be read."""

    key: Key
    size: Annotated[int, described("Its size in bytes.", 0)]
    written_at: Annotated[Moment, described("When it was written, UTC.", "2026-02-20T14:05:00.000Z")]

    @classmethod
    def of(cls, broken: Broken) -> "UnreadableObject":
        return cls(key=broken.key, size=broken.size, written_at=clock.iso_millis(broken.written_at))


class UnreadablePage(View):
    """A page of objects that cannot be read."""

    items: Annotated[
        list[UnreadableObject],
        described("The objects, by their keys. A page may hold fewer than `limit` and not be the last one."),
    ]
    next_cursor: NextCursor = None


class NewQuarantine(Body):
    """The object to set aside."""

    key: Key
    reason: Annotated[str, described("Why, for those who come later.", "Half of it is missing since the move.")]


class QuarantinedView(View):
    """An object that was set aside. Fields that do not apply are left out."""

    quarantine_id: QuarantineId
    key: Key
    size: Annotated[int, described("Its size in bytes.", 0)]
    sha256: Annotated[str, described("The SHA-256 of its bytes, in hex.", "e3b0c44298fc1c149afbf4c8996fb924")]
    written_at: Annotated[Moment, described("When it was written, UTC.", "2026-02-20T14:05:00.000Z")]
    kept_at: Annotated[
        str, described("The key under which its bytes are.", "demo/_quarantine/01KHXE5Q2V8R0M4T6W9YBNCD3F.object")
    ]
    replaced: Annotated[
        bool,
        described("Whether something stands in its place that says so: where a number must not be given twice.", True),
    ]
    by: Annotated[str, described("Who set it aside: the name of the token.", "admin")]
    at: Annotated[Moment, described("When, UTC.", "2026-02-21T09:00:00.000Z")]
    reason: Annotated[str, described("Why.", "Half of it is missing since the move.")]
    put_back_by: Annotated[str | None, described("Who put it back.")] = None
    put_back_at: Annotated[Moment | None, described("When it was put back, UTC.")] = None

    @classmethod
    def of(cls, space_id: str, kept: Quarantined) -> "QuarantinedView":
        told = kept.model_dump(include=set(cls.model_fields))
        where = keys.quarantined_bytes(space_id, kept.quarantine_id)
        key = keys.prefix(space_id) + kept.name
        return cls.model_validate({**told, "key": key, "kept_at": where, "replaced": kept.instead is not None})


class QuarantinedPage(Gapped):
    """A page of objects that were set aside."""

    items: Annotated[list[QuarantinedView], described("The objects, by their ids.")]
    next_cursor: NextCursor = None

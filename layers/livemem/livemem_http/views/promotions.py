"""Promotions as requests and answers."""

from typing import Annotated, Literal

from livemem.notes.note import Note
from livemem.promotions.promoting import Promoted
from livemem_http.views.fields import Body, Moment, Redacted, SpaceId, View, described


class NewPromotion(Body):
    """A note or a memory to promote, and the space that gets the copy."""

    id: Annotated[
        str,
        described(
            "The id of a note, live or consolidated, or of a memory.",
            "20260220T140000_cline-dev_decision_1a2b3c4d",
            minLength=1,
            maxLength=200,
        ),
    ]
    target_space_id: Annotated[SpaceId, described("The space that gets the copy.", "team")]


class PromotionView(View):
    """A promotion: the copy in the other space, and what takes it back."""

    promotion_id: Annotated[
        str, described("The promotion, an ULID: to take it back by, in the other space.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")
    ]
    space_id: Annotated[SpaceId, described("The space that has the copy.", "team")]
    kind: Annotated[Literal["note", "memory"], described("The note or memory that was promoted.", "note")]
    id: Annotated[
        str,
        described("The id of the copy in that space.", "20260221T090000_cline-dev_decision_5e6f7a8b"),
    ]
    promoted_by: Annotated[str, described("The name of the token that promoted it first.", "ann")]
    promoted_at: Annotated[Moment, described("When it was promoted first, UTC.", "2026-02-21T09:00:00Z")]
    consolidation: Annotated[
        int | None, described("The change that folded the copy since. Left out: the note is live, or it is a memory.")
    ] = None
    already_known: Annotated[
        Literal[True] | None,
        described(
            "True: the space had a memory that says the same, or has merged both since. `id` is that memory; nothing "
            "is kept twice."
        ),
    ] = None
    redacted: Redacted = None

    @classmethod
    def of(cls, done: Promoted, space_id: str) -> "PromotionView":
        """`space_id`: the space that has the copy."""
        copy = done.copy
        note = copy if isinstance(copy, Note) else None
        return cls(
            promotion_id=done.promotion_id,
            space_id=space_id,
            kind="note" if note else "memory",
            id=copy.note_id if isinstance(copy, Note) else copy.memory_id,
            promoted_by=done.promotion.promoted_by,
            promoted_at=done.promotion.promoted_at,
            consolidation=note.consolidation if note else None,
            already_known=done.already_known or None,
            redacted=dict(done.redacted) or None,
        )

"""Notes as requests and answers."""

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
)

from livemem import limits
from livemem.errors import TooLarge
from livemem.notes.note import CapturedFrom, Note
from livemem_http.views.fields import (
    Body,
    Category,
    Moment,
    NextCursor,
    NoteId,
    NoteText,
    Redacted,
    SpaceId,
    Tag,
    View,
    described,
)

if TYPE_CHECKING:
    from livemem.notes.appending import NoteDraft


SaidAt = Annotated[
    Moment,
    described(
        "When it was said, where that is not now: searches, contexts and the start go by it. What lies ahead of the "
        "service's clock counts as now.",
        "2026-02-19T09:30:00Z",
    ),
]
NoteAuthor = Annotated[
    str,
    described(
        "Who said it, a person or an agent, where that is not the token's own agent.",
        "ines",
        minLength=1,
        maxLength=limits.SPEAKER_BYTES,
    ),
]


class NewNote(Body):
    """A note. Its agent is the name of the token. Its time is that of the request, unless it was said before."""

    category: Category
    content: NoteText
    tags: Annotated[
        list[Tag], Field(description="Words to find the note by.", examples=[["storage"]], max_length=limits.TAGS)
    ] = []
    said_at: SaidAt | None = None
    author: NoteAuthor | None = None

    def draft(self) -> "NoteDraft":
        """The note for the domain."""
        from livemem.notes.appending import NoteDraft  # noqa: PLC0415 - readers make none

        return NoteDraft(self.category, self.content, tuple(self.tags), self.said_at, self.author)


def _check_batch(notes: Any) -> Any:
    # Before the first note is looked at: each one that is wrong costs errors of its own.
    if isinstance(notes, list) and len(notes) > limits.BATCH_NOTES:
        raise TooLarge.of("notes", len(notes), limits.BATCH_NOTES, "notes")
    return notes


class NewNotes(Body):
    """Notes to write in one request. If one of them is refused, none is written."""

    notes: Annotated[
        list[NewNote],
        BeforeValidator(_check_batch),
        described(
            "The notes in their order.",
            [
                {"category": "todo", "content": "Write the runbook.", "tags": ["docs"]},
                {"category": "issue", "content": "The parser drops tabs."},
            ],
            minItems=1,
            maxItems=limits.BATCH_NOTES,
        ),
    ]


class CapturedFromView(View):
    """The source of a note that was captured: no agent wrote it."""

    conversation_id: Annotated[str, described("The conversation.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    turns: Annotated[tuple[int, int], described("The first and the last turn that it rests on.", [4, 5])]
    gone: Annotated[bool | None, described("True if the conversation is deleted.")] = None


class NoteView(View):
    """A note, live or consolidated."""

    note_id: NoteId
    space_id: SpaceId
    timestamp: Annotated[Moment, described("When it was written, UTC.", "2026-02-20T14:00:00Z")]
    agent: Annotated[str, described("Who wrote it: the name of the token.", "cline-dev")]
    category: Category
    tags: Annotated[list[str], described("Words to find the note by.", ["storage"])]
    content: Annotated[str, described("What it says, as Markdown.", "We keep S3 as the only store.")]
    size: Annotated[int, described("The content's size in bytes of UTF-8.", 29)]
    status: Annotated[
        Literal["live", "consolidated"],
        described(
            "`live`: it waits for a consolidation; `consolidated`: it is part of the bank and of the history.", "live"
        ),
    ]
    consolidation: Annotated[
        int | None, described("The number of the consolidation that folded it; only if it is consolidated.")
    ] = None
    malformed: Annotated[
        bool | None,
        described("True if the object in the bucket is no note of the usual form: its whole text is the content."),
    ] = None
    source: Annotated[
        CapturedFromView | None, described("Of a note that a model captured from what was said in a conversation.")
    ] = None
    said_at: Annotated[Moment | None, described("When it was said, where that is not when it was written.")] = None
    author: Annotated[str | None, described("Who said it, where that is not the agent.")] = None
    redacted: Redacted = None

    @classmethod
    def of(cls, note: Note, gone: Collection[str] = ()) -> "NoteView":
        """`gone`: the conversations that are known to be deleted."""
        return cls.model_validate(
            {
                **asdict(note),
                "malformed": note.malformed or None,
                "redacted": note.redacted or None,
                "source": _source(note.source, gone) if note.source else None,
            }
        )


def _source(source: CapturedFrom, gone: Collection[str]) -> CapturedFromView:
    deleted = source.conversation in gone or None
    return CapturedFromView(conversation_id=source.conversation, turns=source.turns, gone=deleted)


class NotePage(View):
    """A page of live notes."""

    items: Annotated[
        list[NoteView], described("The notes. A page may hold fewer than `limit` and not be the last one.")
    ]
    next_cursor: NextCursor = None


class NoteList(View):
    """Notes that were written."""

    items: Annotated[list[NoteView], described("The notes in the order of the request.")]

"""Notes as requests and answers."""

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from livemem import limits
from livemem.notes.note import CapturedFrom, CopiedFrom, Note
from livemem.text.code_version import CodeVersion
from livemem_http.views.fields import (
    ALONE,
    BY_ITEMS,
    SEVERAL,
    AtCode,
    Body,
    Branch,
    Category,
    CodeRepository,
    Commit,
    Moment,
    NoteId,
    NoteText,
    Page,
    Redacted,
    SpaceId,
    Tag,
    View,
    at_most,
    described,
)

if TYPE_CHECKING:
    from livemem.notes.appending import NoteDraft


SaidAt = Annotated[
    Moment,
    described(
        "The time when it was said. Default: now. Searches, contexts and the start use it. A time ahead of the "
        "service's clock counts as now.",
        "2026-02-19T09:30:00Z",
    ),
]
NoteAuthor = Annotated[
    str,
    described(
        "The speaker, a person or an agent. Default: the agent of the token.",
        "ines",
        minLength=1,
        maxLength=limits.SPEAKER_BYTES,
    ),
]


class NoteSource(Body):
    """The note or memory of another space that a note passes on. The token must be able to read it there."""

    space_id: SpaceId
    id: Annotated[
        str,
        described(
            "The id of the note or the memory.",
            "20260220T140000_cline-dev_decision_1a2b3c4d",
            minLength=1,
            maxLength=200,
        ),
    ]


class NewNote(Body):
    """A note. Its agent is the name of the token. Its time is that of the request, unless it was said before."""

    category: Category
    content: NoteText
    tags: Annotated[
        list[Tag],
        Field(description="Words by which the note can be found.", examples=[["storage"]], max_length=limits.TAGS),
    ] = []
    said_at: SaidAt | None = None
    author: NoteAuthor | None = None
    repository: CodeRepository = None
    branch: Branch = None
    commit: Commit = None
    source: Annotated[NoteSource | None, described("The note or memory of another space that this note passes on.")] = (
        None
    )

    def draft(self) -> "NoteDraft":
        """The note for the domain."""
        from livemem.notes.appending import NoteDraft  # noqa: PLC0415 - readers make none

        source = CopiedFrom(self.source.space_id, self.source.id) if self.source else None
        return NoteDraft(
            self.category, self.content, tuple(self.tags), self.said_at, self.author, source, CodeVersion.of(self)
        )


class NewNotes(Body):
    """Notes to write in one request. If one of them is refused, none is written."""

    items: Annotated[
        list[NewNote],
        at_most(limits.BATCH_NOTES, "notes"),
        described(
            "The notes, written in this order.",
            [
                {"category": "todo", "content": "Write the runbook.", "tags": ["docs"]},
                {"category": "issue", "content": "The parser drops tabs."},
            ],
            minItems=1,
            maxItems=limits.BATCH_NOTES,
        ),
    ]


NoteOrNotes = Annotated[Annotated[NewNote, ALONE] | Annotated[NewNotes, SEVERAL], BY_ITEMS]


class NoteCapture(View):
    """The source of a note that nobody wrote: turns of a conversation from which it was captured."""

    conversation_id: Annotated[str, described("The id of the conversation.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    turns: Annotated[tuple[int, int], described("The first and the last turn that the note rests on.", [4, 5])]
    gone: Annotated[bool | None, described("True if the conversation has been deleted.")] = None


class NoteView(AtCode):
    """A note, live or consolidated."""

    note_id: NoteId
    space_id: SpaceId
    timestamp: Annotated[Moment, described("The time when it was written, UTC.", "2026-02-20T14:00:00Z")]
    agent: Annotated[str, described("The name of the token that wrote it.", "cline-dev")]
    category: Category
    tags: Annotated[list[str], described("Words by which the note can be found.", ["storage"])]
    content: Annotated[str, described("The text of the note, as Markdown.", "We keep S3 as the only store.")]
    size: Annotated[int, described("Size of the text in bytes of UTF-8.", 29)]
    status: Annotated[
        Literal["live", "consolidated"],
        described(
            "`live`: the note waits for a consolidation. `consolidated`: it is part of the bank and of the history.",
            "live",
        ),
    ]
    consolidation: Annotated[
        int | None, described("The number of the consolidation that folded the note. Only if it is consolidated.")
    ] = None
    malformed: Annotated[
        bool | None,
        described(
            "True if the stored object does not have the usual form of a note. The content is then its whole text."
        ),
    ] = None
    source: Annotated[
        NoteCapture | NoteSource | None,
        described("The source, of a note that was captured from a conversation or passes on one of another space."),
    ] = None
    said_at: Annotated[
        Moment | None, described("The time when it was said, UTC. Left out: the time when it was written.")
    ] = None
    author: Annotated[str | None, described("The speaker. Left out: the agent.")] = None
    redacted: Redacted = None

    @classmethod
    def of(cls, note: Note, gone: Collection[str] = ()) -> "NoteView":
        """`gone`: the conversations that are known to be deleted."""
        return cls.model_validate(
            {
                **vars(note),
                **note.code.fields(),
                "malformed": note.malformed or None,
                "redacted": note.redacted or None,
                "source": _source(note.source, gone) if note.source else None,
            }
        )


def _source(source: CapturedFrom | CopiedFrom, gone: Collection[str]) -> NoteCapture | NoteSource:
    if isinstance(source, CopiedFrom):
        return NoteSource.model_validate(asdict(source))
    deleted = source.conversation in gone or None
    return NoteCapture(conversation_id=source.conversation, turns=source.turns, gone=deleted)


class NotePage(Page):
    """A page of live notes."""

    items: Annotated[
        list[NoteView], described("The notes. A page may hold fewer than `limit` and not be the last one.")
    ]


class NoteList(View):
    """Notes that were written."""

    items: Annotated[list[NoteView], described("The notes in the order of the request.")]

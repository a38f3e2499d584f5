"""One thing of a space, by its id, as an answer in pages."""

from typing import Annotated

from livemem.conversations.reading import Item, Page
from livemem.memories.memory import Memory
from livemem.notes.note import Note
from livemem.recall import by_id
from livemem.recall.by_id import ReadRequest, Thing, ThingKind
from livemem.text.invisible import visible
from livemem_http import markdown, remembered, transcripts
from livemem_http.views.bank import FileList, FileView
from livemem_http.views.fields import Moment, NextCursor, View, described
from livemem_http.views.memories import MemoryDetail
from livemem_http.views.notes import NoteView
from livemem_http.views.summaries import SummaryPage, SummaryView
from livemem_http.views.turns import TurnPage

NOTICE = "\n\n[{left} characters more: cursor {cursor}]\n"
CONFIRMED = "\n[confirmed {day}]\n"


class ReadView(View):
    """One thing of the space, or a page of it."""

    id: Annotated[str, described("The id, as in the request.", "bank/activeContext.md#Active context > Next steps")]
    kind: Annotated[
        ThingKind,
        described(
            "The kind of thing. `bank`: the list of files. `turn`: with the turn before and the one after it.",
            "section",
        ),
    ]
    text: Annotated[str, described("The page as Markdown.", "## Next steps\n\n- Write the runbook.\n")]
    chars: Annotated[int, described("Number of characters in the whole text.", 37)]
    remaining: Annotated[int, described("Number of characters after this page.", 0)]
    verified_at: Annotated[
        Moment | None,
        described(
            "The time of the last confirmation of a section or a memory, UTC. For a section with sub-sections: "
            "the earliest of theirs.",
            "2026-02-20T14:00:00Z",
        ),
    ] = None
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, wanted: ReadRequest, thing: Thing) -> "ReadView":
        """The wanted page. Raises InvalidRequest if the text was changed since the page before."""
        whole = visible(_text(thing)).strip("\n") + "\n"
        behind = len(_confirmed(thing.verified_at))
        page = by_id.page(whole, wanted.max_chars, wanted.place, behind=behind)
        return cls(
            id=wanted.id,
            kind=thing.kind,
            text=page.text,
            chars=page.chars,
            remaining=page.remaining,
            verified_at=thing.verified_at,
            next_cursor=page.next_cursor,
        )


def read_as_markdown(answer: ReadView) -> str:
    """The page, with the cursor of the next one. Behind the last page: the day of the last confirmation."""
    if answer.next_cursor:
        return answer.text.rstrip("\n") + NOTICE.format(left=answer.remaining, cursor=answer.next_cursor)
    return answer.text + _confirmed(answer.verified_at)


def _confirmed(verified_at: str | None) -> str:
    return CONFIRMED.format(day=verified_at[:10]) if verified_at else ""


def _text(thing: Thing) -> str:
    content = thing.content
    if isinstance(content, str):
        return content
    if isinstance(content, Note):
        return markdown.note(NoteView.of(content))
    if isinstance(content, Memory):
        return remembered.memory(MemoryDetail.of(content))
    if isinstance(content, Page):
        return transcripts.turns(TurnPage.of(content, None))
    if isinstance(content, Item):
        return transcripts.summaries(SummaryPage(items=[SummaryView.of(content)], next_cursor=None))
    return markdown.bank(FileList(items=[FileView.of(file) for file in content]))

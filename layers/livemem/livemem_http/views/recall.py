"""The context of an agent as an answer. Only the search function loads this module (search.py)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from livemem.recall.message_context import Context
from livemem.recall.render_context import KnownItem
from livemem_http.views import search
from livemem_http.views.fields import Moment, Unread, View, WrittenBy, described

ItemId = Annotated[
    str,
    described(
        "The id, as `GET .../read` takes it. For a section: the file and its headings.",
        "notes/20260220T140000_cline-dev_decision_1a2b3c4d",
    ),
]


class ContextItem(View):
    """What a context tells of an item of any kind."""

    time: Annotated[
        Moment,
        described("The time when it was said or written, UTC. For a section: the time when its file was written."),
    ]
    text: Annotated[
        str,
        described(
            "The text that is shown. Of a turn each line names its speaker. A single message with a question has also "
            "its answer.",
            "We keep S3 as the only store.",
        ),
    ]
    relevance: Annotated[
        float | None,
        described("How near it is to the message, from 0 to 1. Left out for the newest items.", 0.71),
    ] = None


class WrittenItem(ContextItem):
    """An item with an author."""

    by: Annotated[
        str | None,
        described(
            "The author, if there is one. For a summary: the speakers whose words another token wrote.", "cline-dev"
        ),
    ] = None
    written_by: WrittenBy = None


class NoteItem(WrittenItem):
    """A live note, or a consolidated one (`archive`)."""

    kind: Annotated[Literal["note", "archive"], described("The kind of item, as in search results.", "note")]
    id: ItemId
    captured_from: Annotated[
        str | None, described("If nobody wrote the note: the conversation from which it was captured.")
    ] = None
    from_space: Annotated[str | None, described("If the note was passed on: the space of its source.")] = None


class SpokenItem(WrittenItem):
    """A turn, a summary, or a memory."""

    kind: Annotated[Literal["turn", "summary", "memory"], described("The kind of item, as in search results.", "turn")]
    id: ItemId


class MessageItem(WrittenItem):
    """A message of a room."""

    kind: Annotated[Literal["message"], described("The kind of item, as in search results.", "message")]
    room: Annotated[str, described("The name of the room.", "salon")]
    message_id: Annotated[str, described("The id of the message.", "chat-4711")]


class SectionItem(ContextItem):
    """A section of a bank file."""

    kind: Annotated[Literal["bank"], described("The kind of item, as in search results.", "bank")]
    id: ItemId
    title: Annotated[
        str | None, described("The path of the file, and the headings that lead to the section.", "log.md > # Log")
    ] = None


AnyItem = Annotated[NoteItem | SectionItem | SpokenItem | MessageItem, Field(discriminator="kind")]


class ContextView(View):
    """What an agent should know before it answers."""

    markdown: Annotated[
        str, described("The whole context as Markdown for a prompt. Empty if nothing is relevant enough.", "")
    ]
    items: Annotated[list[AnyItem], described("The same items as data, in the order of the Markdown.")]
    chars: Annotated[int, described("Number of characters in the Markdown.", 0)]
    degraded: Annotated[
        list[str],
        described(
            "The sources that failed or were too late, and are left out: some of `turns`, `search`, `summaries`, "
            "`messages`, `facts`.",
            [],
        ),
    ]
    failure: Annotated[str | None, described("The reason why the embedding model was not used.")] = None
    unread: Unread = None

    @classmethod
    def of(cls, context: Context) -> "ContextView":
        values = {
            "markdown": context.markdown,
            "items": [_values(item) for item in context.items],
            "chars": len(context.markdown),
            "degraded": list(context.degraded),
            "failure": context.failure,
            "unread": context.unread or None,
        }
        return cls.model_validate(values)


def _values(item: KnownItem) -> dict[str, Any]:
    relevance = None if item.relevance is None else round(item.relevance, 4)
    return {**vars(item), "by": item.by or None, "title": item.title or None, "relevance": relevance}


def context_as_markdown(answer: ContextView) -> str:
    """The items as they are, and how many objects were left unread."""
    return (answer.markdown or "Nothing is known of it.\n") + search.unread_line(answer.unread)

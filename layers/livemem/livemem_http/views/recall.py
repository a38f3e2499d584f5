"""The context of an agent as an answer. Only the search function loads this module (search.py)."""

from typing import Annotated

from livemem.recall.message_context import Context, KnownKind
from livemem_http.views import search
from livemem_http.views.fields import Moment, Unread, View, WrittenBy, described


class KnownView(View):
    """An item that the space knows about a message."""

    kind: Annotated[KnownKind, described("The kind of item, as in search results.", "note")]
    id: Annotated[
        str,
        described(
            "The id, as `GET .../read` takes it. For a section: the file and its headings.",
            "notes/20260220T140000_cline-dev_decision_1a2b3c4d",
        ),
    ]
    time: Annotated[
        Moment,
        described("The time when it was said or written, UTC. For a section: the time when its file was written."),
    ]
    by: Annotated[
        str | None,
        described(
            "The author, if there is one. For a summary: the speakers whose words another token wrote.",
            "cline-dev",
        ),
    ] = None
    title: Annotated[
        str | None, described("Only for a section: the path of the file, and the headings that lead to the section.")
    ] = None
    text: Annotated[
        str,
        described(
            "The best matching part of the text, up to 1,000 characters. For a turn: both sides. For a single "
            "message with a question: also its answer. Each line names its speaker.",
            "We keep S3 as the only store.",
        ),
    ]
    relevance: Annotated[float | None, described("The cosine with the message, if there is a vector.", 0.71)] = None
    captured_from: Annotated[
        str | None,
        described("Only for a captured note, which nobody wrote: the id of the conversation."),
    ] = None
    from_space: Annotated[str | None, described("Only for a note that was passed on: the space of its source.")] = None
    written_by: WrittenBy = None


class ContextView(View):
    """What an agent should know before it answers."""

    markdown: Annotated[
        str, described("The whole context as Markdown for a prompt. Empty if nothing is relevant enough.", "")
    ]
    items: Annotated[list[KnownView], described("The same items as data, in the order of the Markdown.")]
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
        return cls(
            markdown=context.markdown,
            items=[
                KnownView(
                    kind=one.kind,  # type: ignore[arg-type]
                    id=one.id,
                    time=one.time,
                    by=one.by or None,
                    title=one.title or None,
                    text=one.text,
                    relevance=_rounded(one.relevance),
                    captured_from=one.captured_from,
                    from_space=one.from_space,
                    written_by=one.written_by,
                )
                for one in context.items
            ],
            chars=len(context.markdown),
            degraded=list(context.degraded),
            failure=context.failure,
            unread=context.unread or None,
        )


def context_as_markdown(answer: ContextView) -> str:
    """The items as they are, and how many objects were left unread."""
    return (answer.markdown or "Nothing is known of it.\n") + search.unread_line(answer.unread)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

"""Messages of rooms, and facts, as answers. Only the search function loads this module (search.py)."""

from typing import Annotated, Literal

from livemem.recall.memory_context import MemoryContext, ShownFact, ShownMessage
from livemem.recall.message_context import Context, KnownKind
from livemem.recall.search import SpaceHits
from livemem.search.engine import Hit
from livemem_http.views import search
from livemem_http.views.fields import Moment, Unread, View, WrittenBy, described

Relevance = Annotated[
    float | None,
    described(
        "The semantic similarity to the query: the cosine of the best matching passage, from 0 to 1. Left out "
        "if there is no vector to compare with.",
        0.71,
    ),
]


class RoomHitView(View):
    """A message that was found."""

    kind: Annotated[Literal["message"], described("The kind of document.", "message")] = "message"
    id: Annotated[
        str,
        described(
            "The id of the message, unique in the space: its room and its position.",
            "salon/20260220T140000_0123456789abcdef",
        ),
    ]
    room: Annotated[str, described("The room of the message.", "salon")]
    message_id: Annotated[str, described("The id of the message in its room.", "01KHXH9RA0QTF1S3T1Z8A0M0WJ")]
    author: Annotated[str, described("The author of the message.", "Ann")]
    timestamp: Annotated[Moment, described("The time when it was said, UTC.", "2026-02-20T14:00:00.120Z")]
    score: Annotated[
        float, described("How well the message matches the query. Scores can be compared only within one answer.", 3.2)
    ]
    relevance: Relevance = None
    snippet: Annotated[str, described("The best matching part of the text.", "Who turned the oven off?")]
    highlights: Annotated[
        list[tuple[int, int]],
        described(
            "The positions of the query's words in the snippet: start and end (exclusive), in characters.", [[15, 19]]
        ),
    ]
    source: Annotated[
        dict[str, str],
        described(
            "`href`: the path for a GET request that returns the surrounding messages.",
            {"href": "/v1/spaces/demo/rooms/salon/messages"},
        ),
    ]

    @classmethod
    def of(cls, space_id: str, hit: Hit) -> "RoomHitView":
        document, (start, end) = hit.document, hit.snippet
        return cls(
            id=document.id,
            room=document.source["room"],
            message_id=document.source["message_id"],
            author=document.author,
            timestamp=document.more["timestamp"],
            score=round(hit.score, 4),
            relevance=_rounded(hit.relevance),
            snippet=document.text[start:end],
            highlights=list(hit.highlights),
            source={"href": search.source_of(space_id, hit)["href"]},
        )


class RoomAnswer(search.Ranked):
    """The messages that were found in rooms, the best first."""

    items: Annotated[list[RoomHitView], described("The messages, the best match first.")]

    @classmethod
    def of(cls, answer: SpaceHits) -> "RoomAnswer":
        return cls(items=[RoomHitView.of(answer.space_id, hit) for hit in answer.hits], **search.ranked([answer]))


class SaidView(View):
    """A message of a room."""

    room: Annotated[str, described("The room of the message.", "salon")]
    message_id: Annotated[str, described("The id of the message in its room.", "01KHXH9RA0QTF1S3T1Z8A0M0WJ")]
    author: Annotated[str, described("The author of the message.", "Ann")]
    content: Annotated[str, described("The full text of the message.", "Who turned the oven off?")]
    timestamp: Annotated[Moment, described("The time when it was said, UTC.", "2026-02-20T14:00:00.120Z")]
    relevance: Relevance = None

    @classmethod
    def of(cls, said: ShownMessage) -> "SaidView":
        return cls(
            room=said.room,
            message_id=said.message_id,
            author=said.author,
            content=said.content,
            timestamp=said.timestamp,
            relevance=_rounded(said.relevance),
        )


class FactView(View):
    """A fact."""

    memory_id: Annotated[str, described("The id of the memory.", "01KHXH9RA0QTF1S3T1Z8A0M0WJ")]
    content: Annotated[str, described("The text of the fact.", "The oven is a Bosch.")]
    score: Annotated[
        float | None,
        described(
            "The similarity to the question: the cosine of the vectors, or the similarity of the letters. "
            "Left out without a question.",
            0.7,
        ),
    ] = None
    updated_at: Annotated[
        Moment, described("The time when it was last stored or corrected, UTC.", "2026-02-20T14:00:00.010Z")
    ]

    @classmethod
    def of(cls, fact: ShownFact) -> "FactView":
        return cls(
            memory_id=fact.memory_id,
            content=fact.content,
            score=_rounded(fact.score),
            updated_at=fact.updated_at,
        )


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
            "The sources that failed or were too late, and are left out. Of a conversation: `turns`, `search`, "
            "`summaries`. Of a room: `messages`, `facts`.",
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


class MemoryContextView(View):
    """The context for an agent that answers a person."""

    markdown: Annotated[
        str,
        described(
            "Messages and facts as Markdown for a prompt.",
            "[Mémoire - faits que tu connais]\n• Le four est un Bosch.\n",
        ),
    ]
    messages: Annotated[list[SaidView], described("The messages in the order of time.")]
    facts: Annotated[
        list[FactView], described("The facts, the most similar first; without a question, the newest first.")
    ]
    chars: Annotated[int, described("Number of characters in the Markdown.", 56)]
    degraded: Annotated[
        list[str],
        described("The sources that failed or were too late, and are left out: some of `messages`, `facts`.", []),
    ]
    unread: Unread = None

    @classmethod
    def of(cls, context: MemoryContext) -> "MemoryContextView":
        return cls(
            markdown=context.markdown,
            messages=[SaidView.of(one) for one in context.said],
            facts=[FactView.of(one) for one in context.facts],
            chars=len(context.markdown),
            degraded=list(context.degraded),
            unread=context.unread or None,
        )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def rooms_as_markdown(answer: RoomAnswer) -> str:
    """The hits one below the other, ready for a prompt. Each shows where to read the rest."""
    if not answer.items:
        return "Nothing was found.\n"
    lines = (
        search.line([hit.room, hit.timestamp, hit.author], hit.snippet, hit.source["href"]) for hit in answer.items
    )
    return "\n".join(lines) + "\n"


def memory_context_as_markdown(answer: MemoryContextView) -> str:
    """The blocks as they are, and how many objects were left unread."""
    return answer.markdown + search.unread_line(answer.unread)

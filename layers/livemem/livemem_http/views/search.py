"""Results of a search as answers. Only the search function loads this module: its imports need a layer of their own."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from livemem import clock
from livemem.recall import conversation_documents, memory_documents, room_documents, search
from livemem.recall.context import Context
from livemem.recall.document_sources import BANK
from livemem.recall.render_context import ShownSummary, ShownTurn
from livemem.recall.search import FailedSpace, SpaceHits
from livemem.search.engine import Hit
from livemem_http.views.fields import Moment, SpaceId, View, described

CONFIRMED = (BANK, memory_documents.MEMORY)
"""Kinds of documents that users confirm."""


class HitView(View):
    """A document that was found."""

    kind: Annotated[
        Literal["note", "archive", "bank", "turn", "summary", "memory", "message"],
        described(
            "`note`: a live note; `archive`: a consolidated one; `bank`: a section of a bank file; `turn`: one side of "
            "a turn of a conversation, or its tools; `summary`: a summary of turns or of summaries; `memory`: a "
            "memory; `message`: what somebody said in a room.",
            "note",
        ),
    ]
    id: Annotated[
        str,
        described(
            "Its id, unique in the space: that of the note or the memory, the file's path and the section's headings, "
            "the conversation with turn and side, or with level and number, or the room with the message's place.",
            "20260220T140000_cline-dev_decision_1a2b3c4d",
        ),
    ]
    space_id: Annotated[SpaceId | None, described("Of a search in several spaces: where it is.")] = None
    score: Annotated[float, described("How well it fits. Comparable within one answer and one space only.", 3.2)]
    snippet: Annotated[str, described("The part of its text that fits best.", "We keep S3 as the only store.")]
    highlights: Annotated[
        list[tuple[int, int]],
        described("Where the words of the query stand in the snippet: from, to (exclusive), in characters.", [[8, 10]]),
    ]
    title: Annotated[str | None, described("Of a section: the file's path and the headings that lead to it.")] = None
    time: Annotated[
        Moment, described("When it was said or written, UTC; of a section when its file was.", "2026-02-20T14:00:00Z")
    ]
    verified_at: Annotated[
        Moment | None,
        described(
            "Of a section and a memory: when it was last confirmed, UTC. A new note, a repeat, a correction and a "
            "confirmation by hand confirm it."
        ),
    ] = None
    author: Annotated[
        str | None, described("Who said or wrote it; of a section and a summary nobody.", "cline-dev")
    ] = None
    role: Annotated[str | None, described("Of a turn: `user`, `assistant`, `tool` or `system`.")] = None
    category: Annotated[str | None, described("Of a note or a memory: what kind it is.", "decision")] = None
    subjects: Annotated[list[str] | None, described("Of a memory: what it is about.")] = None
    expires_at: Annotated[Moment | None, described("Of a memory that expires: when, UTC.")] = None
    source: Annotated[
        dict[str, str],
        described(
            "`href`: what to GET for the whole. Of a section `section`, its headings as edits name it; of a "
            "consolidated note `consolidation`, the number of the one that folded it; of a turn `conversation_id` and "
            "`turn_index`; of a summary `conversation_id`, `level`, `number`, `covers`, its first and last turn, and "
            "from level 2 on `children`; of a memory `memory_id` and `kind`; of a message `room` and `message_id`.",
            {"href": "/v1/spaces/demo/notes/20260220T140000_cline-dev_decision_1a2b3c4d"},
        ),
    ]
    explain: Annotated[
        dict[str, float] | None, described("With `explain=true`: what each part of the score has added.")
    ] = None

    @classmethod
    def of(cls, space_id: str, hit: Hit, *, explain: bool, named: bool) -> "HitView":
        document, (start, end) = hit.document, hit.snippet
        return cls(
            kind=document.kind,  # type: ignore[arg-type]
            id=document.id,
            space_id=space_id if named else None,
            score=round(hit.score, 4),
            snippet=document.text[start:end],
            highlights=list(hit.highlights),
            title=document.title or None,
            time=document.time,
            verified_at=(hit.confirmed_at or document.time) if document.kind in CONFIRMED else None,
            author=document.author or None,
            role=document.role or None,
            category=document.category or None,
            subjects=list(document.tags) or None if document.kind == memory_documents.MEMORY else None,
            expires_at=document.more.get("expires_at"),
            source=source_of(space_id, hit),
            explain={name: round(value, 4) for name, value in hit.parts.items()} if explain else None,
        )


def source_of(space_id: str, hit: Hit) -> dict[str, str]:
    """The fields of a hit that show where the whole document is."""
    document = hit.document
    if document.kind in conversation_documents.KINDS:
        conversation = f"conversations/{document.source['conversation_id']}"
        what = (
            "summaries" if document.kind == conversation_documents.SUMMARY else f"turns/{document.source['turn_index']}"
        )
        below = f"{conversation}/{what}"
    elif document.kind == memory_documents.MEMORY:
        below = f"memories/{document.id}"
    elif document.kind == room_documents.MESSAGE:
        below = f"rooms/{document.source['room']}/messages"
    else:
        below = f"bank/{quote(document.group)}" if document.kind == BANK else f"notes/{document.id}"
    return {"href": f"/v1/spaces/{space_id}/{below}", **document.source}


class TalkHitView(View):
    """A turn, or a summary of turns."""

    kind: Annotated[
        Literal["turn", "summary"],
        described("`turn`: one side of a turn, or its tools; `summary`: a summary of turns or of summaries.", "turn"),
    ]
    id: Annotated[
        str,
        described(
            "Its id, unique in the space: the conversation with turn and side, or with level and number.",
            "01KHXH9RA0QTF1S3T1Z8A0M0WJ/12/user",
        ),
    ]
    conversation_id: Annotated[str, described("Its conversation.", "01KHXH9RA0QTF1S3T1Z8A0M0WJ")]
    score: Annotated[float, described("How well it fits. Comparable within one answer only.", 3.2)]
    relevance: Annotated[
        float | None,
        described(
            "How near it is to the question in meaning: the cosine of its best passage, from 0 to 1. Left out where "
            "there is no vector to compare with.",
            0.71,
        ),
    ] = None
    snippet: Annotated[str, described("The part of its text that fits best.", "We keep S3 as the only store.")]
    highlights: Annotated[
        list[tuple[int, int]],
        described("Where the words of the query stand in the snippet: from, to (exclusive), in characters.", [[8, 10]]),
    ]
    title: Annotated[str | None, described("Its title; neither a turn nor a summary has one by now.")] = None
    time: Annotated[
        Moment, described("When it was said, or the newest turn that it covers, UTC.", "2026-02-20T14:00:00Z")
    ]
    author: Annotated[str | None, described("Of a turn: who said it.", "cline-dev")] = None
    role: Annotated[str | None, described("Of a turn: `user`, `assistant`, `tool` or `system`.", "user")] = None
    turn_index: Annotated[int | None, described("Of a turn: its number.", 12)] = None
    level: Annotated[int | None, described("Of a summary: 1 to 3.")] = None
    number: Annotated[int | None, described("Of a summary: its number on its level.")] = None
    covers: Annotated[tuple[int, int] | None, described("Of a summary: the first and last turn that it covers.")] = None
    source: Annotated[
        dict[str, str],
        described(
            "`href`: what to GET for the whole.",
            {"href": "/v1/spaces/demo/conversations/01KHXH9RA0QTF1S3T1Z8A0M0WJ/turns/12"},
        ),
    ]

    @classmethod
    def of(cls, space_id: str, hit: Hit) -> "TalkHitView":
        document, (start, end) = hit.document, hit.snippet
        source = document.source
        turn = document.kind == conversation_documents.TURN
        return cls(
            kind=document.kind,  # type: ignore[arg-type]
            id=document.id,
            conversation_id=source["conversation_id"],
            score=round(hit.score, 4),
            relevance=None if hit.relevance is None else round(hit.relevance, 4),
            snippet=document.text[start:end],
            highlights=list(hit.highlights),
            title=document.title or None,
            time=document.time,
            author=document.author or None,
            role=document.role or None,
            turn_index=int(source["turn_index"]) if turn else None,
            level=None if turn else int(source["level"]),
            number=None if turn else int(source["number"]),
            covers=conversation_documents.ends(source, "covers"),
            source=source_of(space_id, hit),
        )


class Seen(View):
    """The documents that the search looked at."""

    documents: Annotated[int, described("Documents that this environment knows of the space, of all kinds.", 120)]
    cold: Annotated[bool, described("Whether this environment had to read the space first, which takes longer.", False)]
    as_of: Annotated[Moment, described("The moment of which it knows everything, UTC.", "2026-02-20T14:00:00.120Z")]


class Ranked(View):
    """The fields about a search that all answers have."""

    ranking: Annotated[
        Literal["bm25", "hybrid"],
        described(
            "`hybrid`: by words and by meaning; `bm25`: by words alone, because no embedding model is configured, or "
            "it did not answer.",
            "hybrid",
        ),
    ]
    unembedded: Annotated[
        int,
        described("Documents that ranking by meaning has not seen yet, at least in part; they are found by words.", 0),
    ]
    failure: Annotated[
        str | None,
        described("Why the embedding model did not take part, or not in all: a code such as `embedding_timeout`."),
    ] = None
    view: Annotated[Seen, described("What was looked at; of several spaces together.")]


class FailedSpaceView(View):
    """A space that could not be searched."""

    space_id: Annotated[SpaceId, described("The space.")]
    code: Annotated[
        str, described("Why: a code of an error, such as `search_not_ready` or `space_broken`.", "space_broken")
    ]
    detail: Annotated[str, described("The same as a sentence.", "Something in it can't be searched.")]


class SearchAnswer(Ranked):
    """The documents that were found, the best first."""

    items: Annotated[list[HitView], described("The documents.")]
    failed_spaces: Annotated[
        list[FailedSpaceView] | None,
        described(
            "Of a search in several spaces: those that could not be searched. What is in them is not among `items`."
        ),
    ] = None

    @classmethod
    def of(cls, answer: SpaceHits, *, explain: bool) -> "SearchAnswer":
        return cls.of_several([answer], len(answer.hits), explain=explain, named=False)

    @classmethod
    def of_several(
        cls,
        answers: Sequence[SpaceHits],
        limit: int,
        *,
        explain: bool,
        named: bool = True,
        failed: Sequence[FailedSpace] = (),
    ) -> "SearchAnswer":
        hits = search.merged(answers, limit)
        items = [HitView.of(space_id, hit, explain=explain, named=named) for space_id, hit in hits]
        views = [FailedSpaceView(space_id=one.space_id, code=one.code, detail=one.detail) for one in failed]
        return cls(items=items, failed_spaces=views or None, **ranked(answers))


class TalkAnswer(Ranked):
    """The turns and summaries that were found in conversations, the best first."""

    items: Annotated[list[TalkHitView], described("What was said, and summaries.")]

    @classmethod
    def of(cls, answer: SpaceHits) -> "TalkAnswer":
        return cls(items=[TalkHitView.of(answer.space_id, hit) for hit in answer.hits], **ranked([answer]))


def ranked(answers: Sequence[SpaceHits]) -> dict[str, Any]:
    """The values about a search, by the names of Ranked's fields."""
    failures = [answer.failure for answer in answers if answer.failure]
    hybrid = any(answer.ranking == "hybrid" for answer in answers)
    return {
        "ranking": "hybrid" if hybrid else "bm25",
        "unembedded": sum(answer.unembedded for answer in answers),
        "failure": failures[0] if failures else None,
        "view": Seen(
            documents=sum(answer.documents for answer in answers),
            cold=any(answer.cold for answer in answers),
            # A caller who may see no space gets an answer without hits.
            as_of=min((answer.as_of for answer in answers), default=clock.iso_millis(clock.now())),
        ),
    }


class ShownTurnView(View):
    """A turn as the context shows it."""

    turn_index: Annotated[int, described("Its number.", 12)]
    said_at: Annotated[Moment, described("When it was said, UTC.", "2026-02-20T14:00:00Z")]
    author: Annotated[str, described("Who says it: the author of a message, else the name of the token.", "cline-dev")]
    user: Annotated[str | None, described("The person on the user's side.")] = None
    role: Annotated[str | None, described("Of a lone message: `user`, `assistant`, `tool` or `system`.")] = None
    user_message: Annotated[str, described("What the user said, or what is shown of it.", "Which store do we keep?")]
    assistant_message: Annotated[str, described("What the assistant answered, or what is shown of it.", "S3 alone.")]
    tools: Annotated[list[str], described("The names of the tools that were called.", [])]
    left_out: Annotated[int, described("Characters that are not shown: the turn is cut in its middle.", 0)]
    relevance: Annotated[int | None, described("Of a turn that was found: in percent.")] = None

    @classmethod
    def of(cls, shown: ShownTurn) -> "ShownTurnView":
        turn = shown.turn
        return cls(
            turn_index=turn.turn_index,
            said_at=clock.iso(turn.said_at()),
            author=turn.author,
            user=turn.user,
            role=turn.role,
            user_message=shown.user,
            assistant_message=shown.assistant,
            tools=shown.tools,
            left_out=shown.left_out,
            relevance=shown.relevance,
        )


class ShownSummaryView(View):
    """A summary as the context shows it."""

    level: Annotated[int, described("1: of turns; 2 and 3: of summaries of the level below.", 1)]
    number: Annotated[int, described("Its number on its level.", 4)]
    covers: Annotated[tuple[int, int], described("The first and last turn that it covers.", [10, 12])]
    children: Annotated[tuple[int, int] | None, described("From level 2 on: the summaries that it is made of.")] = None
    range_start: Annotated[Moment, described("When the first of them was said, UTC.", "2026-02-20T14:00:00.120Z")]
    range_end: Annotated[Moment, described("When the last of them was said, UTC.", "2026-02-20T14:20:00.120Z")]
    summary: Annotated[str, described("Its text.", "They decided to keep S3 as the only store.")]
    key_findings: Annotated[list[str], described("What matters most.", ["S3 is the only store."])]
    files_mentioned: Annotated[list[str], described("Files that were talked about.", [])]
    tools_used: Annotated[list[str], described("Tools that were called.", [])]
    relevance: Annotated[int | None, described("Of a summary that was found: in percent.")] = None

    @classmethod
    def of(cls, shown: ShownSummary) -> "ShownSummaryView":
        one = shown.summary
        return cls(
            level=one.level,
            number=one.number,
            covers=one.covers.turns,
            children=one.children,
            range_start=one.range_start,
            range_end=one.range_end,
            summary=one.summary,
            key_findings=one.key_findings,
            files_mentioned=one.files_mentioned,
            tools_used=one.tools_used,
            relevance=shown.relevance,
        )


class SectionsView(View):
    """The content of the Markdown as data, as it was written."""

    recent_turns: Annotated[list[ShownTurnView], described("The newest turns, in the order in which they were said.")]
    relevant_turns: Annotated[
        list[ShownTurnView],
        described(
            "Turns that were found, the best first. Behind a single message that asks comes its answer, without a "
            "`relevance`."
        ),
    ]
    relevant_summaries: Annotated[list[ShownSummaryView], described("Summaries that were found, the best first.")]
    recent_summaries: Annotated[
        list[ShownSummaryView], described("Summaries of level 1 that are in none of level 2 yet, the newest first.")
    ]


class ContextView(View):
    """The context for an agent's next call to the model."""

    markdown: Annotated[str, described("All of it, ready for a prompt.", "## Recent Conversation (Raw)\n\nUser: ...\n")]
    sections: Annotated[SectionsView, described("The same as data.")]
    chars: Annotated[int, described("Characters of the Markdown.", 1_840)]
    degraded: Annotated[
        list[str],
        described("Sources that failed or were late, and are left out: some of `turns`, `search`, `summaries`.", []),
    ]

    @classmethod
    def of(cls, context: Context) -> "ContextView":
        shown = context.sections
        return cls(
            markdown=context.markdown,
            sections=SectionsView(
                recent_turns=[ShownTurnView.of(one) for one in shown.raw],
                relevant_turns=[ShownTurnView.of(one) for found in shown.turns for one in (found, *found.others)],
                relevant_summaries=[ShownSummaryView.of(one) for one in shown.summaries],
                recent_summaries=[ShownSummaryView.of(one) for one in shown.waiting],
            ),
            chars=len(context.markdown),
            degraded=list(context.degraded),
        )


def context_as_markdown(answer: ContextView) -> str:
    """The context as it is."""
    return answer.markdown


def as_markdown(
    answer: SearchAnswer | TalkAnswer, *, where: Callable[[HitView | TalkHitView], str] = lambda hit: hit.source["href"]
) -> str:
    """The hits one below the other, ready for a prompt. `where` gives the path of the whole document."""
    found = [_hit(hit, where(hit)) for hit in answer.items] or ["Nothing was found."]
    failed = answer.failed_spaces or [] if isinstance(answer, SearchAnswer) else []
    return "\n".join([*found, *(f"Not searched: {one.space_id} ({one.code}). {one.detail}" for one in failed)]) + "\n"


def _hit(hit: HitView | TalkHitView, where: str) -> str:
    if isinstance(hit, HitView):
        verified = (hit.verified_at or hit.time)[:10]
        confirmed = None if verified == hit.time[:10] else f"confirmed {verified}"
        told = [hit.space_id, hit.kind, hit.time, confirmed, hit.author, hit.role, hit.category, hit.title]
    else:
        what = f"turn {hit.turn_index}" if hit.turn_index is not None else f"level {hit.level} summary {hit.number}"
        told = [what, hit.time, hit.author, hit.role]
    return line(told, hit.snippet, where)


def line(told: Sequence[str | None], snippet: str, href: str) -> str:
    """A hit as one line of Markdown: its fields, its excerpt, and where the whole document is."""
    return f"- [{' '.join(part for part in told if part)}] {' '.join(snippet.split())} ({href})"

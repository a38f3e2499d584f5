"""Results of a search as answers. Only the search function loads this module: its imports need a layer of their own."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from livemem import clock
from livemem.recall import code_marks, document_sources, search
from livemem.recall.relevance import RelevanceFloor
from livemem.recall.search import HitsOfSpaces, SpaceHits
from livemem.recall.search_request import SKIP_MOST
from livemem.search.documents import ARCHIVE, BANK, CONVERSATION_KINDS, LIVE, MEMORY, MESSAGE, SUMMARY, TURN
from livemem.search.engine import Hit, Reason, WhyNot
from livemem.search.evidence import LIKELY
from livemem.store import cursors
from livemem.text.speakers import said_by
from livemem_http.views.fields import Moment, SpaceId, View, WrittenBy, described
from livemem_http.views.service import SpaceProblem

DAY = len("2026-02-20")

Category = Annotated[str | None, described("The category.", "decision")]
VerifiedAt = Annotated[
    Moment,
    described(
        "The time of the last confirmation, UTC. A new note, a repeat, a correction and a confirmation by hand confirm "
        "it.",
        "2026-02-20T14:00:00Z",
    ),
]


class HitView(View):
    """What a search tells of a document of any kind."""

    id: Annotated[str, described("The id, unique in the space.", "20260220T140000_cline-dev_decision_1a2b3c4d")]
    space_id: Annotated[
        SpaceId | None, described("The space of the document. Left out if one space alone was searched.")
    ] = None
    score: Annotated[
        float,
        described(
            "How well the document matches the query. Scores can be compared only within one answer and one space.", 3.2
        ),
    ]
    relevance: Annotated[
        float | None,
        described(
            "The semantic similarity to the query: the cosine of the best matching passage, from 0 to 1. Left out "
            "if there is no vector to compare with.",
            0.71,
        ),
    ] = None
    snippet: Annotated[
        str,
        described(
            "The best matching part of the text. For a section: it begins with the line that matches best.",
            "We keep S3 as the only store.",
        ),
    ]
    highlights: Annotated[
        list[tuple[int, int]],
        described(
            "The positions of the query's words in the snippet: start and end (exclusive), in characters.", [[8, 10]]
        ),
    ]
    time: Annotated[
        Moment,
        described(
            "The time when it was said or written, UTC. For a section: the time when its file was written. For a "
            "summary: the time of the newest turn that it covers.",
            "2026-02-20T14:00:00Z",
        ),
    ]
    source: Annotated[
        dict[str, str],
        described(
            "`href`: the path for a GET request that returns the whole document. Of a section also `section`, its "
            "headings as edits name them. Of a consolidated note `consolidation`, the number of the change that folded "
            "it. Of a captured note `conversation_id` and `covers`. Of a note that was passed on `from_space`. Of a "
            "turn `conversation_id` and `turn_index`. Of a summary `conversation_id`, `level`, `number`, `covers` (its "
            "first and last turn), and from level 2 on `children`. Of a memory `memory_id` and `kind`. Of a message "
            "`room` and `message_id`.",
            {"href": "/v1/spaces/demo/notes/20260220T140000_cline-dev_decision_1a2b3c4d"},
        ),
    ]
    explain: Annotated[
        dict[str, float] | None, described("The contribution of each part to the score. Only with `explain=true`.")
    ] = None


class WrittenHit(HitView):
    """A document with an author."""

    author: Annotated[str | None, described("The author.", "cline-dev")] = None
    written_by: WrittenBy = None


class NoteHit(WrittenHit):
    """A live note."""

    kind: Annotated[Literal["note"], described("The kind of document.", "note")]
    category: Category = None


class ArchiveHit(WrittenHit):
    """A consolidated note."""

    kind: Annotated[Literal["archive"], described("The kind of document.", "archive")]
    category: Category = None
    superseded_by: Annotated[
        str | None,
        described(
            "If the note no longer holds: the id of the note that its section follows now. It comes behind that one, "
            "unless the query asks for the past."
        ),
    ] = None


class SectionHit(HitView):
    """A section of a bank file."""

    kind: Annotated[Literal["bank"], described("The kind of document.", "bank")]
    title: Annotated[
        str | None, described("The path of the file, and the headings that lead to the section.", "log.md > # Log")
    ] = None
    verified_at: VerifiedAt


class TurnHit(WrittenHit):
    """A side of a turn of a conversation, or its tools."""

    kind: Annotated[Literal["turn"], described("The kind of document.", "turn")]
    role: Annotated[str | None, described("`user`, `assistant`, `tool` or `system`.", "user")] = None


class SummaryHit(HitView):
    """A summary of turns or of summaries."""

    kind: Annotated[Literal["summary"], described("The kind of document.", "summary")]


class MemoryHit(WrittenHit):
    """A memory."""

    kind: Annotated[Literal["memory"], described("The kind of document.", "memory")]
    category: Category = None
    subjects: Annotated[list[str] | None, described("The subjects.", ["storage"])] = None
    expires_at: Annotated[Moment | None, described("The expiry time, UTC. Left out: it never expires.")] = None
    verified_at: VerifiedAt


class MessageHit(WrittenHit):
    """A message in a room."""

    kind: Annotated[Literal["message"], described("The kind of document.", "message")]


OF_KIND: dict[str, type[HitView]] = {
    LIVE: NoteHit,
    ARCHIVE: ArchiveHit,
    BANK: SectionHit,
    TURN: TurnHit,
    SUMMARY: SummaryHit,
    MEMORY: MemoryHit,
    MESSAGE: MessageHit,
}
AnyHit = Annotated[
    NoteHit | ArchiveHit | SectionHit | TurnHit | SummaryHit | MemoryHit | MessageHit, Field(discriminator="kind")
]


def hit_view(space_id: str, hit: Hit, *, explain: bool, named: bool) -> HitView:
    """A hit with the fields of its kind. `named`: whether it names its space."""
    hit = code_marks.shown(hit)
    document, (start, end) = hit.document, hit.snippet
    values = {
        "kind": document.kind,
        "id": document.id,
        "space_id": space_id if named else None,
        "score": round(hit.score, 4),
        "relevance": None if hit.relevance is None else round(hit.relevance, 4),
        "snippet": document.text[start:end],
        "highlights": list(hit.highlights),
        "title": document.title or None,
        "time": document.time,
        "verified_at": _verified_at(hit),
        "author": document.author or None,
        "written_by": document.written_by,
        "role": document.role or None,
        "category": document.category or None,
        "subjects": list(document.tags) or None,
        "expires_at": document.more.get("expires_at"),
        "source": source_of(space_id, hit),
        "superseded_by": hit.superseded_by,
        "explain": {name: round(value, 4) for name, value in hit.parts.items()} if explain else None,
    }
    return OF_KIND[document.kind].model_validate(values)


def _verified_at(hit: Hit) -> str:
    return hit.confirmed_at or document_sources.verified_at(hit.document)


def source_of(space_id: str, hit: Hit) -> dict[str, str]:
    """The fields of a hit that show where the whole document is."""
    document = hit.document
    if document.kind in CONVERSATION_KINDS:
        conversation = f"conversations/{document.source['conversation_id']}"
        what = "summaries" if document.kind == SUMMARY else f"turns/{document.source['turn_index']}"
        below = f"{conversation}/{what}"
    elif document.kind == MEMORY:
        below = f"memories/{document.id}"
    elif document.kind == MESSAGE:
        below = f"rooms/{document.source['room']}/messages"
    else:
        below = f"bank/{quote(document.group)}" if document.kind == BANK else f"notes/{document.id}"
    return {"href": f"/v1/spaces/{space_id}/{below}", **document.source}


class Seen(View):
    """The documents that the search looked at."""

    documents: Annotated[
        int, described("Number of documents of all kinds that this environment knows of the space.", 120)
    ]
    cold: Annotated[bool, described("True if this environment had to read the space first, which takes longer.", False)]
    as_of: Annotated[
        Moment,
        described(
            "The time up to which the environment knows every document but those of `unread`, UTC.",
            "2026-02-20T14:00:00.120Z",
        ),
    ]
    unread: Annotated[
        int,
        described(
            "Number of objects that were not read yet, because many are new. The newest are read first. They are found "
            "a few seconds later, so send the request again.",
            0,
        ),
    ]


class Ranked(View):
    """The fields about a search that all answers have."""

    ranking: Annotated[
        Literal["bm25", "hybrid"],
        described(
            "`hybrid`: by words and vectors. `bm25`: by words alone, because no embedding model is configured "
            "or it did not answer.",
            "hybrid",
        ),
    ]
    unembedded: Annotated[
        int,
        described("Number of documents without all their vectors. They are found by words.", 0),
    ]
    failure: Annotated[
        str | None,
        described(
            "The reason why vectors were not used, or not for all documents: a code such as `embedding_timeout`."
        ),
    ] = None
    nothing: Annotated[
        Literal["no_match", "below_floor", "unread", "elsewhere"] | None,
        described(
            "The reason why nothing was found. `no_match`: no document matches. `below_floor`: the best documents "
            "share too few words with the query and are too far from it in meaning to be an answer. `unread`: many "
            "objects are new and not read yet. Send the request again in a few seconds. `elsewhere`: a scope that was "
            "not searched holds these words, see `elsewhere`."
        ),
    ] = None
    elsewhere: Annotated[
        list[str] | None,
        described(
            "Only where nothing was found: the scopes that were not searched, and hold words of the query, as far as "
            "this environment knows them."
        ),
    ] = None
    view: Annotated[Seen, described("The documents that were searched, over all searched spaces.")]


class FloorView(View):
    """The floor of a search. One of the first ten hits has to pass it. Each memory has to answer the question: by rare
    words, names, and closeness well above that of the other memories.
    """

    words: Annotated[list[str], described("The stems of the query's words that say something.", ["stor", "keep"])]
    least_words: Annotated[int, described("Passes by its words: a document with at least this number of them.", 2)]
    least_relevance: Annotated[
        float, described("Passes by its meaning: a document with at least this cosine.", LIKELY)
    ] = LIKELY
    passed_by: Annotated[list[str], described("The ids of the hits that pass.")]

    @classmethod
    def of(cls, floor: RelevanceFloor, hits: Sequence[Hit]) -> "FloorView":
        # Where there is a floor, each memory that was found has passed.
        passed = [hit.document.id for hit in hits if hit.document.kind == MEMORY or floor.admits_hit(hit)]
        return cls(words=sorted(floor.wanted | floor.names), least_words=floor.least_words, passed_by=passed)


class WhyNotView(View):
    """The reason why a document was not found."""

    id: Annotated[str, described("The id that was asked for.", "20260220T140000_cline-dev_decision_1a2b3c4d")]
    reason: Annotated[
        Reason,
        described(
            "`found`: it is among the hits. `unknown`: this search knows no such document. It was deleted, the id is "
            "wrong, or no search in its scope was made here. `no_words`: it has no word to look for. `scope`: it is of "
            "a kind or a part of the space that was not searched. `filtered`: a filter, a quoted phrase, an excluded "
            "word or its expiry leaves it out. `no_match`: it has nothing in common with the query, or less than "
            "`min_score`. `copy`: it says again what `copy_of` says. `below_floor`: it does not pass the floor. "
            "`rank`: other documents match better.",
            "rank",
        ),
    ]
    rank: Annotated[int | None, described("Its place among all documents that match, from 1.", 17)] = None
    behind: Annotated[
        list[str] | None, described("The ids of up to three documents directly before it, the nearest last.")
    ] = None
    copy_of: Annotated[str | None, described("The id of the document that it repeats.")] = None

    @classmethod
    def of(cls, told: WhyNot) -> "WhyNotView":
        return cls(
            id=told.id, reason=told.reason, rank=told.rank, behind=list(told.behind) or None, copy_of=told.copy_of
        )


class SearchAnswer(Ranked):
    """The documents that were found, the best first."""

    items: Annotated[list[AnyHit], described("The documents.")]
    failed_spaces: Annotated[
        list[SpaceProblem] | None,
        described("The spaces that could not be searched. `items` has none of their documents."),
    ] = None

    total: Annotated[
        int,
        described(
            "Number of documents that match, on all pages. With `hybrid` each document that passes the filters "
            "matches, the less the further behind. Of these the pages leave out copies of others, and what does not "
            "answer the query: memories, and documents that share nothing with it and fit worse than the average.",
            42,
        ),
    ]
    next_cursor: Annotated[
        str | None,
        described(
            "Send this value as `cursor` to get the next page. Left out: this is the last page. No page begins after "
            f"the first {SKIP_MOST:,} documents. A search in several spaces has none.",
            "MjA",
        ),
    ] = None
    next_spaces: Annotated[
        str | None,
        described(
            "Only a part of the spaces was searched. Send this value as `cursor` to search the next ones. Left out: "
            "there are no further ones.",
            "cG9ydA",
        ),
    ] = None

    floor: Annotated[FloorView | None, described("The floor, if the query has one. Only with `explain=true`.")] = None
    why_not: Annotated[
        WhyNotView | None, described("The reason why a document was not found. Only with `why_not`.")
    ] = None

    @classmethod
    def of(cls, answer: SpaceHits, *, explain: bool, floor: RelevanceFloor | None = None) -> "SearchAnswer":
        """`floor`: that of the request, which the answer tells if it explains itself."""
        alone = HitsOfSpaces([answer], [])
        found = cls.of_several(alone, len(answer.hits), explain=explain, named=False, floor=floor)
        if answer.after is not None and answer.after <= SKIP_MOST:
            found.next_cursor = cursors.encode(answer.after)
        if answer.why_not is not None:
            found.why_not = WhyNotView.of(answer.why_not)
        return found

    @classmethod
    def of_several(
        cls,
        found: HitsOfSpaces,
        limit: int,
        *,
        explain: bool,
        named: bool = True,
        floor: RelevanceFloor | None = None,
    ) -> "SearchAnswer":
        """The same of several spaces."""
        hits = search.merged(found.answers, limit)
        items: list[Any] = [hit_view(space_id, hit, explain=explain, named=named) for space_id, hit in hits]
        views = [SpaceProblem(space_id=one.space_id, code=one.code, detail=one.detail) for one in found.failed]
        passed = FloorView.of(floor, [hit for _, hit in hits]) if explain and floor is not None else None
        return cls(
            items=items,
            failed_spaces=views or None,
            total=sum(one.total for one in found.answers),
            next_spaces=cursors.encode(found.more),
            floor=passed,
            **ranked(found.answers),
        )


def ranked(answers: Sequence[SpaceHits]) -> dict[str, Any]:
    """The values about a search, by the names of Ranked's fields."""
    failures = [answer.failure for answer in answers if answer.failure]
    hybrid = any(answer.ranking == "hybrid" for answer in answers)
    empty = not any(answer.hits for answer in answers)
    unread = sum(answer.unread for answer in answers)
    below = any(answer.below_floor for answer in answers)
    elsewhere = sorted({scope for answer in answers for scope in answer.elsewhere}) if empty else []
    why = "unread" if unread else "elsewhere" if elsewhere else "below_floor" if below else "no_match"
    return {
        "nothing": why if empty else None,
        "elsewhere": elsewhere or None,
        "ranking": "hybrid" if hybrid else "bm25",
        "unembedded": sum(answer.unembedded for answer in answers),
        "failure": failures[0] if failures else None,
        "view": Seen(
            documents=sum(answer.documents for answer in answers),
            cold=any(answer.cold for answer in answers),
            # A caller who may see no space gets an answer without hits.
            as_of=min((answer.as_of for answer in answers), default=clock.iso_millis(clock.now())),
            unread=unread,
        ),
    }


def as_markdown(answer: SearchAnswer, *, lines: Sequence[str] | None = None) -> str:
    """The hits one below the other, ready for a prompt. `lines`: the hits as a caller shows them."""
    others = f" The words stand in the scope {', '.join(answer.elsewhere)}." if answer.elsewhere else ""
    shown = lines if lines is not None else [_hit(hit) for hit in answer.items]
    found = shown or [f"Nothing was found.{others}"]
    why = answer.why_not
    told = [f"Why not {why.id}: {_why(why)}."] if why else []
    failures = [f"Not searched: {one.space_id} ({one.code}). {one.detail}" for one in answer.failed_spaces or ()]
    more = answer.next_spaces
    further = [f"Not all spaces were searched. The next ones: cursor={more}"] if more else []
    return "\n".join([*found, *told, *failures, *further]) + "\n" + unread_line(answer.view.unread)


def unread_line(count: int | None) -> str:
    """The line of Markdown that tells how many objects were left unread, empty if there are none."""
    return f"Not read yet: {count} new objects. Ask again in a few seconds.\n" if count else ""


def _why(why: WhyNotView) -> str:
    parts = [
        why.reason,
        f"rank {why.rank}" if why.rank else "",
        f"copy of {why.copy_of}" if why.copy_of else "",
        f"behind {', '.join(why.behind)}" if why.behind else "",
    ]
    return ", ".join(filter(None, parts))


def _hit(hit: HitView) -> str:
    """A hit as one line of Markdown: its fields, its excerpt, and where the whole document is."""
    told = hit.model_dump()
    author = said_by(told["author"], told.get("written_by") or told["author"]) if "author" in told else None
    day, verified = hit.time[:DAY], (told.get("verified_at") or hit.time)[:DAY]
    confirmed = None if verified == day else f"confirmed {verified}"
    former = f"superseded by {told['superseded_by']}" if "superseded_by" in told else None
    where, rest = [hit.space_id, told["kind"]], [told.get(name) for name in ("role", "category", "title")]
    head = " ".join(filter(None, [*where, former, hit.time, confirmed, author, *rest]))
    return f"- [{head}] {' '.join(hit.snippet.split())} ({hit.source['href']})"

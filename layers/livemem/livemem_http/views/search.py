"""Results of a search as answers. Only the search function loads this: what it is made of needs a layer of its own."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel

from livemem.recall import search
from livemem.recall.search import Answer
from livemem.recall.sources import BANK
from livemem.search.engine import Hit
from livemem_http.views.fields import Moment, SpaceId, Sparse, told


class HitView(Sparse):
    """A document that was found."""

    kind: Annotated[
        Literal["note", "archive", "bank"],
        told("`note`: a live note; `archive`: a consolidated one; `bank`: a section of a bank file.", "note"),
    ]
    id: Annotated[
        str,
        told(
            "Its id, unique in the space: that of the note, or the file's path and the section's headings.",
            "20260220T140000_cline-dev_decision_1a2b3c4d",
        ),
    ]
    space_id: Annotated[SpaceId | None, told("Of a search in several spaces: where it is.")] = None
    score: Annotated[float, told("How well it fits. Comparable within one answer and one space only.", 3.2)]
    snippet: Annotated[str, told("The part of its text that fits best.", "We keep S3 as the only store.")]
    highlights: Annotated[
        list[tuple[int, int]],
        told("Where the words of the query stand in the snippet: from, to (exclusive), in characters.", [[8, 10]]),
    ]
    title: Annotated[str | None, told("Of a section: the file's path and the headings that lead to it.")] = None
    time: Annotated[Moment, told("When it was written, UTC; of a section when its file was.", "2026-02-20T14:00:00Z")]
    author: Annotated[str | None, told("Of a note: who wrote it.", "cline-dev")] = None
    category: Annotated[str | None, told("Of a note: what kind of note it is.", "decision")] = None
    source: Annotated[
        dict[str, str],
        told(
            "`href`: what to GET for the whole. Of a section `section`, its headings as edits name it; of a "
            "consolidated note `consolidation`, the number of the one that folded it.",
            {"href": "/v1/spaces/demo/notes/20260220T140000_cline-dev_decision_1a2b3c4d"},
        ),
    ]
    explain: Annotated[dict[str, float] | None, told("With `explain=true`: what each part of the score has added.")] = (
        None
    )

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
            author=document.author or None,
            category=document.category or None,
            source=_source(space_id, hit),
            explain={name: round(value, 4) for name, value in hit.parts.items()} if explain else None,
        )


def _source(space_id: str, hit: Hit) -> dict[str, str]:
    document = hit.document
    below = f"bank/{quote(document.group)}" if document.kind == BANK else f"notes/{document.id}"
    return {"href": f"/v1/spaces/{space_id}/{below}", **document.source}


class Seen(BaseModel):
    """What the search looked at."""

    documents: Annotated[int, told("Documents that there are in the space, of all kinds.", 120)]
    cold: Annotated[bool, told("Whether this environment had to read the space first, which takes longer.", False)]
    as_of: Annotated[Moment, told("The moment of which it knows everything, UTC.", "2026-02-20T14:00:00.120Z")]


class SearchAnswer(Sparse):
    """What was found, the best first."""

    items: Annotated[list[HitView], told("The documents.")]
    ranking: Annotated[
        Literal["bm25", "hybrid"],
        told(
            "`hybrid`: by words and by meaning; `bm25`: by words alone, because no embedding model is configured, or "
            "it did not answer.",
            "hybrid",
        ),
    ]
    unembedded: Annotated[
        int, told("Documents that ranking by meaning has not seen yet, at least in part; they are found by words.", 0)
    ]
    failure: Annotated[
        str | None,
        told("Why the embedding model did not take part, or not in all: a code such as `embedding_timeout`."),
    ] = None
    view: Annotated[Seen, told("What was looked at; of several spaces together.")]

    @classmethod
    def of(cls, answer: Answer, *, explain: bool) -> "SearchAnswer":
        return cls.of_several([answer], len(answer.hits), explain=explain, named=False)

    @classmethod
    def of_several(cls, answers: Sequence[Answer], limit: int, *, explain: bool, named: bool = True) -> "SearchAnswer":
        hits = search.merged(answers, limit)
        failures = [answer.failure for answer in answers if answer.failure]
        hybrid = any(answer.ranking == "hybrid" for answer in answers)
        seen: dict[str, Any] = {
            "documents": sum(answer.documents for answer in answers),
            "cold": any(answer.cold for answer in answers),
            "as_of": min(answer.as_of for answer in answers),
        }
        return cls(
            items=[HitView.of(space_id, hit, explain=explain, named=named) for space_id, hit in hits],
            ranking="hybrid" if hybrid else "bm25",
            unembedded=sum(answer.unembedded for answer in answers),
            failure=failures[0] if failures else None,
            view=Seen(**seen),
        )


def as_markdown(answer: SearchAnswer) -> str:
    """The hits one below the other, each with where the whole of it is, ready for a prompt."""
    if not answer.items:
        return "Nothing was found.\n"
    return "\n".join(_hit(hit) for hit in answer.items) + "\n"


def _hit(hit: HitView) -> str:
    told = [hit.space_id, hit.kind, hit.time, hit.author, hit.category, hit.title]
    text = " ".join(hit.snippet.split())
    return f"- [{' '.join(part for part in told if part)}] {text} ({hit.source['href']})"

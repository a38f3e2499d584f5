"""Merging two memories about the same thing. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from livemem import clock
from livemem.memories.memory import HISTORY, SUBJECTS, Absorbed, Former, Memory, Provenance
from livemem.memories.operation import By, Kept, Merged
from livemem.text import similarity, wording

Verdict = Literal["same", "contradicts", "different"]


@dataclass(frozen=True)
class Candidate:
    """A checked memory to be stored, with its expiry. `stood`: it already exists as a memory of its own."""

    memory: Memory
    replace: bool = False
    stood: bool = False

    @property
    def content(self) -> str:
        return self.memory.content


@dataclass(frozen=True)
class Near:
    """An existing memory that may say the same. `score`: a cosine, or the similarity of the texts."""

    memory: Memory
    score: float
    by: By

    @property
    def text(self) -> str:
        return self.memory.content


def merge(
    candidate: Candidate, near: Near, verdict: Verdict | None, now: datetime, number: int
) -> tuple[Memory, Merged] | None:
    """The existing memory merged with the candidate, by the operation `number`; None if both must stand.

    A memory that expires never replaces a permanent one, unless the caller sets `replace`.
    """
    old, new = near.memory, candidate.memory
    side = _kept(candidate, old, verdict)
    says_something_else = side == "new" and (verdict == "contradicts" or similarity.adds(new.content, old.content))
    if old.expires_at is None and new.expires_at is not None and says_something_else and not candidate.replace:
        return None
    by: By = "llm" if verdict else near.by
    merged = Merged(score=round(near.score, 4), by=by, former=old.content, kept=side)
    if by != "text":
        # Kept so that it can be split off again.
        merged = merged.model_copy(update={"sent": new, "before": old.model_copy(update={"history": []})})
    standing = new if side == "new" else old
    subjects = dict.fromkeys([*standing.subjects, *old.subjects, *new.subjects])
    return (
        old.model_copy(
            update={
                "content": standing.content,
                "category": new.category or old.category,
                "subjects": list(subjects)[:SUBJECTS],
                "updated_at": clock.iso_millis(now),
                "expires_at": _life(candidate, old, verdict),
                "source": standing.source,
                "said_at": standing.said_at,
                "author": standing.author,
                "provenance": standing.provenance,
                "revision": old.revision + 1,
                "history": _history(candidate, old, side),
                "absorbed": old.absorbed if by == "text" else _absorbed(candidate, old, number),
            }
        ),
        merged,
    )


def _absorbed(candidate: Candidate, old: Memory, number: int) -> list[Absorbed]:
    """All that were memories of their own, so that an erasure finds them, and the latest of the others."""
    new = Absorbed(number=number, memory_id=candidate.memory.memory_id, stood=candidate.stood)
    inner = candidate.memory.absorbed if candidate.stood else []
    parts = [*inner, *old.absorbed, new]
    return [part for place, part in enumerate(parts) if part.stood or place >= len(parts) - HISTORY]


def _kept(candidate: Candidate, old: Memory, verdict: Verdict | None) -> Kept:
    new = candidate.memory
    if candidate.replace or verdict == "contradicts":
        return "new"
    if wording.same(new.content, old.content):
        return "former"
    if similarity.adds(new.content, old.content):
        return "new"
    # A shorter restatement is less precise.
    return "new" if len(new.content) > len(old.content) else "former"


def _life(candidate: Candidate, old: Memory, verdict: Verdict | None) -> str | None:
    """When the merged memory expires: the later expiry if both say the same."""
    new = candidate.memory
    if candidate.replace or verdict == "contradicts":
        return new.expires_at
    if old.expires_at is None or new.expires_at is None:
        return None
    return max(old.expires_at, new.expires_at, key=clock.parse)


def _history(candidate: Candidate, old: Memory, side: Kept) -> list[Former]:
    new = candidate.memory
    if wording.same(new.content, old.content):
        return old.history
    # The content that does not stand is always kept.
    return [former(old if side == "new" else new), *new.history, *old.history][:HISTORY]


def former(gone: Memory) -> Former:
    """The content of a memory as an entry of a history."""
    return Former(content=gone.content, expires_at=gone.expires_at, at=gone.updated_at, author=gone.provenance.author)


def corrected(old: Memory, now: datetime, author: str, changes: dict[str, object]) -> Memory:
    """The memory after a correction by its id. A replaced content is in its history. A new one is said by `author`
    now, unless the changes say more. A content that stays as it was keeps its time and its speaker.
    """
    is_new = changes.get("content", old.content) != old.content
    origin = {"provenance": Provenance(author=author), "source": "manual", "said_at": None, "author": None}
    fresh = old.model_copy(
        update={
            **(origin if is_new else {}),
            **changes,
            "updated_at": clock.iso_millis(now),
            "revision": old.revision + 1,
        }
    )
    if not is_new:
        return fresh
    # The memories near to the new content are not known.
    return fresh.model_copy(update={"history": [former(old), *old.history][:HISTORY], "similar_to": []})

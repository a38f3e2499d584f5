"""Settling linked memories: a digest asks the LLM about those that were linked because it had not answered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from livemem.memories import log, memory_expiry, merging, operation
from livemem.memories.memory import Memory
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.memories.model_judge import PAIRS, Pair, judge
from livemem.memories.operation import Also, Merged, Operation
from livemem.memories.state import State
from livemem.process import Process
from livemem.store.memory_keys import KINDS, Kind
from livemem.text import similarity

CALLS = 5
"""Calls of the LLM in one digest, of 40 pairs each. The next digest continues."""
AUTHOR = "digest"


@dataclass(frozen=True)
class Settled:
    """How many memories were merged, and how many lost links because the LLM called them different."""

    merged: int = 0
    apart: int = 0


def settle(process: Process, space_id: str, until: datetime) -> Settled:
    """Ask about linked memories, the oldest first. Merge those that the LLM calls the same, unlink the different ones.

    1 LIST for each kind, up to 5 calls, and 1 LIST and 1 PUT for each memory with a verdict. Nothing is done without an
    LLM, or with MEMORY_MERGE=similarity. Raises MemoriesBroken, Busy, StoreUnavailable.
    """
    if not process.settings.llmaas_api_url or process.settings.memory_merge == "similarity":
        return Settled()
    merged = apart = 0
    left = CALLS
    for kind in KINDS:
        # For each memory that was merged into another one: the id of the other.
        moved: dict[str, str] = {}
        pairs = list(_pairs(log.load(process, space_id, kind), process.clock()))
        for start in range(0, min(len(pairs), left * PAIRS), PAIRS):
            some = pairs[start : start + PAIRS]
            told = judge(process, space_id, [_question(one, other) for one, other in some], until, waits=False)
            left -= 1
            if not told:
                # The LLM does not answer now.
                return Settled(merged, apart)
            for memory_id in dict.fromkeys(one.memory_id for one, _ in some):
                others = [other.memory_id for one, other in some if one.memory_id == memory_id]
                done = _settle(process, space_id, kind, memory_id, others, told, moved)
                merged += bool(done and done.merged)
                apart += bool(done and done.apart)
    return Settled(merged, apart)


def _pairs(found: State, now: datetime) -> Iterator[tuple[Memory, Memory]]:
    """Each memory with each one that it is linked to, the oldest memory first."""
    for memory in sorted(found.alive(now), key=lambda one: (one.created_at, one.memory_id)):
        for other in memory.similar_to:
            there = found.find(other, now)
            if there:
                yield memory, there


def _question(one: Memory, other: Memory) -> Pair:
    """The pair for the LLM: the content that was changed later is the new one."""
    new, old = sorted((one, other), key=lambda memory: (memory.updated_at, memory.memory_id), reverse=True)
    return new.content, old.content


def _settle(
    process: Process,
    space_id: str,
    kind: Kind,
    memory_id: str,
    others: list[str],
    told: Mapping[Pair, Verdict],
    moved: dict[str, str],
) -> Operation | None:
    """Apply the verdicts on one memory: it is merged with another one, or loses links."""

    def decide(found: State) -> Operation | None:
        now = process.clock()
        memory = found.find(memory_id, now)
        if not memory:
            return None
        verdicts = _verdicts(found, now, memory, others, told, moved)
        for other, verdict in sorted(verdicts.items(), key=lambda one: one[1] != "same"):
            there = found.find(moved.get(other, other), now)
            if verdict == "different" or not there or there.memory_id == memory_id:
                continue
            # At a contradiction the later content is the new one. Otherwise the earlier memory stays.
            is_newer = verdict == "contradicts" and there.updated_at > memory.updated_at
            gone, old = (there, memory) if is_newer else (memory, there)
            near = Near(old, similarity.lexical(gone.content, old.content), "llm")
            met = merging.merge(Candidate(gone, stood=True), near, verdict, now, found.number + 1)
            if met:
                return _merge(process, found, gone, *met)
        # An expiring memory stays beside a permanent one. There is nothing more to ask.
        return _unlink(process, found, memory, list(verdicts)) if verdicts else None

    _, written = log.write(process, space_id, kind, decide)
    if written:
        memory_expiry.mark(process, space_id, written.memory)
        for part in written.also:
            gone, into = part.memory.memory_id, written.memory.memory_id
            moved.update({one: into for one, place in moved.items() if place == gone} | {gone: into})
    return written


def _verdicts(
    found: State,
    now: datetime,
    memory: Memory,
    others: list[str],
    told: Mapping[Pair, Verdict],
    moved: Mapping[str, str],
) -> dict[str, Verdict]:
    """The verdicts on the memory and those that it is linked to, as far as their contents are still the same."""
    verdicts: dict[str, Verdict] = {}
    for other in others:
        there = found.find(moved.get(other, other), now)
        if other not in memory.similar_to or not there:
            continue
        # A memory that was merged meanwhile says the same as the one that it was merged into.
        said = [there.content, *(one.content for one in there.history)] if other in moved else [there.content]
        known = [
            verdict
            for content in said
            if (verdict := told.get((memory.content, content)) or told.get((content, memory.content)))
        ]
        if known:
            verdicts[other] = known[0]
    return verdicts


def _merge(process: Process, found: State, gone: Memory, standing: Memory, merged: Merged) -> Operation:
    links = [one for one in standing.similar_to if one != gone.memory_id]
    fresh = standing.content == gone.content
    cause = f"similar/{gone.memory_id}/{gone.revision}/{standing.memory_id}/{standing.revision}/{found.number}"
    return operation.after(
        process,
        found.number,
        "put",
        operation.op_id(cause),
        AUTHOR,
        standing.model_copy(update={"similar_to": links}),
        also=[Also(op="delete", memory=gone)],
        merged=merged,
        vector=found.vectors.get(gone.memory_id) if fresh else None,
    )


def _unlink(process: Process, found: State, memory: Memory, apart: list[str]) -> Operation:
    links = [one for one in memory.similar_to if one not in apart]
    cause = f"apart/{memory.memory_id}/{memory.revision}/{','.join(apart)}/{found.number}"
    # Its content is unchanged, so its revision and its time stay.
    still = memory.model_copy(update={"similar_to": links})
    return operation.after(process, found.number, "put", operation.op_id(cause), AUTHOR, still, apart=apart)

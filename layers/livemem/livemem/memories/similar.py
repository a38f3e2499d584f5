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
from livemem.store.keys import MEMORY_KINDS, MemoryKind
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
    LLM, with MEMORY_MERGE=similarity, or in a log with a damaged operation. Raises MemoriesBroken, Busy,
    StoreUnavailable.
    """
    if not process.settings.llmaas_api_url or process.settings.memory_merge == "similarity":
        return Settled()
    merged = apart = 0
    rest = CALLS
    for kind in MEMORY_KINDS:
        # For each memory that was merged into another one: the id of the other.
        moved: dict[str, str] = {}
        state = log.load(process, space_id, kind)
        pairs = [] if state.has_gaps else list(_pairs(state, process.clock()))
        for start in range(0, min(len(pairs), rest * PAIRS), PAIRS):
            batch = pairs[start : start + PAIRS]
            verdicts = judge(
                process, space_id, [_question(memory, other) for memory, other in batch], until, waits=False
            )
            rest -= 1
            if not verdicts:
                # The LLM does not answer now.
                return Settled(merged, apart)
            for memory_id in dict.fromkeys(memory.memory_id for memory, _ in batch):
                memory_ids = [other.memory_id for memory, other in batch if memory.memory_id == memory_id]
                done = _settle(process, space_id, kind, memory_id, memory_ids, verdicts, moved)
                merged += bool(done and done.merged)
                apart += bool(done and done.apart)
    return Settled(merged, apart)


def _pairs(state: State, now: datetime) -> Iterator[tuple[Memory, Memory]]:
    """Each memory with each one that it is linked to, the oldest memory first."""
    for memory in sorted(state.alive(now), key=lambda candidate: (candidate.created_at, candidate.memory_id)):
        for other in memory.similar_to:
            neighbour = state.find(other, now)
            if neighbour:
                yield memory, neighbour


def _question(first: Memory, other: Memory) -> Pair:
    """The pair for the LLM: the content that was changed later is the new one."""
    new, old = sorted((first, other), key=lambda memory: (memory.updated_at, memory.memory_id), reverse=True)
    return new.content, old.content


def _settle(
    process: Process,
    space_id: str,
    kind: MemoryKind,
    memory_id: str,
    others_ids: list[str],
    verdicts_by_pair: Mapping[Pair, Verdict],
    moved: dict[str, str],
) -> Operation | None:
    """Apply the verdicts on one memory: it is merged with another one, or loses links."""

    def decide(state: State) -> Operation | None:
        now = process.clock()
        memory = state.find(memory_id, now)
        # A damaged operation may have corrected it: nobody waits for this merge.
        if not memory or state.has_gaps:
            return None
        verdicts = _verdicts(state, now, memory, others_ids, verdicts_by_pair, moved)
        for other, verdict in sorted(verdicts.items(), key=lambda pair: pair[1] != "same"):
            standing = state.find(moved.get(other, other), now)
            if verdict == "different" or not standing or standing.memory_id == memory_id:
                continue
            # At a contradiction the later content is the new one. Otherwise the earlier memory stays.
            is_newer = verdict == "contradicts" and standing.updated_at > memory.updated_at
            gone, old = (standing, memory) if is_newer else (memory, standing)
            near = Near(old, similarity.lexical(gone.content, old.content), "llm")
            merged = merging.merge(Candidate(gone, stood=True), near, verdict, now, state.number + 1)
            if merged:
                return _merge(process, state, gone, *merged)
        # An expiring memory stays beside a permanent one. There is nothing more to ask.
        return _unlink(process, state, memory, list(verdicts)) if verdicts else None

    _, written = log.write(process, space_id, kind, decide)
    if written:
        memory_expiry.mark(process, space_id, written.memory)
        for part in written.also:
            gone, into = part.memory.memory_id, written.memory.memory_id
            moved.update({moved_id: into for moved_id, place in moved.items() if place == gone} | {gone: into})
    return written


def _verdicts(
    state: State,
    now: datetime,
    memory: Memory,
    other_ids: list[str],
    verdicts_by_pair: Mapping[Pair, Verdict],
    moved: Mapping[str, str],
) -> dict[str, Verdict]:
    """The verdicts on the memory and those that it is linked to, as far as their contents are still the same."""
    verdicts: dict[str, Verdict] = {}
    for other in other_ids:
        standing = state.find(moved.get(other, other), now)
        if other not in memory.similar_to or not standing:
            continue
        # A memory that was merged meanwhile says the same as the one that it was merged into.
        contents = (
            [standing.content, *(former.content for former in standing.history)]
            if other in moved
            else [standing.content]
        )
        said_verdicts = [
            verdict
            for content in contents
            if (
                verdict := verdicts_by_pair.get((memory.content, content))
                or verdicts_by_pair.get((content, memory.content))
            )
        ]
        if said_verdicts:
            verdicts[other] = said_verdicts[0]
    return verdicts


def _merge(process: Process, state: State, gone: Memory, standing: Memory, merged: Merged) -> Operation:
    links = [linked_id for linked_id in standing.similar_to if linked_id != gone.memory_id]
    fresh = standing.content == gone.content
    cause = f"similar/{gone.memory_id}/{gone.revision}/{standing.memory_id}/{standing.revision}/{state.number}"
    return operation.after(
        process,
        state.number,
        "put",
        operation.op_id(cause),
        AUTHOR,
        standing.model_copy(update={"similar_to": links}),
        also=[Also(op="delete", memory=gone)],
        merged=merged,
        vector=state.vectors.get(gone.memory_id) if fresh else None,
    )


def _unlink(process: Process, state: State, memory: Memory, apart: list[str]) -> Operation:
    links = [linked_id for linked_id in memory.similar_to if linked_id not in apart]
    cause = f"apart/{memory.memory_id}/{memory.revision}/{','.join(apart)}/{state.number}"
    # Its content is unchanged, so its revision and its time stay.
    still = memory.model_copy(update={"similar_to": links})
    return operation.after(process, state.number, "put", operation.op_id(cause), AUTHOR, still, apart=apart)

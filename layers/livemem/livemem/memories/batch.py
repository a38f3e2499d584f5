"""The LLM's verdicts on the memories of a batch: one call for each ten of them, in parallel.

Memories of a batch may be similar to each other too. So earlier ones of the batch are candidates like existing ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from livemem.memories import log, memory_vectors, model_judge, nearest
from livemem.memories.memory import Memory
from livemem.memories.memory_vectors import Floats, Rows
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.memories.model_judge import PAIRS, Pair
from livemem.process import Process
from livemem.store.memory_keys import KINDS, Kind
from livemem.text import similarity

TOGETHER = 10
"""Memories of one call."""


@dataclass(frozen=True)
class MemoryToStore:
    """A memory to be stored, the id of its operation, and its vector."""

    memory: Memory
    op_id: str
    vector: Floats | None


def judged(
    process: Process, space_id: str, new: Sequence[MemoryToStore], until: datetime | None, *, waits: bool
) -> Mapping[Pair, Verdict]:
    """The verdicts on each memory and the memories near to it, as far as the LLM gives them.

    1 LIST for each kind, and `model_judge.judge` for each ten memories. The 40 pairs of a call hold the nearest ones of
    each memory first. Nothing is asked without an LLM, or with MEMORY_MERGE=similarity.
    """
    if not process.settings.llmaas_api_url or process.settings.memory_merge == "similarity":
        return {}
    near_ones = [candidate for kind in KINDS for candidate in _candidates(process, space_id, kind, new)]
    groups = [near_ones[start : start + TOGETHER] for start in range(0, len(near_ones), TOGETHER)]

    def judge(group: Sequence[tuple[str, list[Near]]]) -> Mapping[Pair, Verdict]:
        return model_judge.judge(process, space_id, _pairs(group), until, waits=waits)

    results = process.store.map(judge, groups)
    return {pair: verdict for verdicts in results for pair, verdict in verdicts.items()}


def _pairs(group: Sequence[tuple[str, list[Near]]]) -> list[Pair]:
    """The nearest of each memory, then the second nearest of each, and so on, until a call is full."""
    by_memory = ([(content, near.text) for near in candidates] for content, candidates in group)
    return [pair for rank in zip_longest(*by_memory) for pair in rank if pair][:PAIRS]


def _by_both(content: str, candidates: Sequence[Near]) -> list[Near]:
    """The nearest by meaning and by letters in turn.

    A batch asks about a few only, and each way finds memories that the other misses.
    """
    grams = similarity.prepare(content)
    by_letters = sorted(
        candidates, key=lambda near: similarity.like(grams, similarity.prepare(near.text)), reverse=True
    )
    in_turn = (near for pair in zip(candidates, by_letters, strict=True) for near in pair)
    return list({near.memory.memory_id: near for near in in_turn}.values())


def _candidates(
    process: Process, space_id: str, kind: Kind, new: Sequence[MemoryToStore]
) -> Iterator[tuple[str, list[Near]]]:
    """The contents of a kind to ask about, each with the memories near to it."""
    of_kind = [entry for entry in new if entry.memory.kind == kind]
    if not of_kind:
        return
    state = log.load(process, space_id, kind)
    standing = state.alive(process.clock())
    rows: Rows | None = None
    for new_memory in of_kind:
        if new_memory.vector is not None:
            rows = rows or memory_vectors.of(process, space_id, kind, state, len(new_memory.vector))
            rows.learn(new_memory.memory.content, new_memory.vector)
    for new_memory in of_kind:
        if new_memory.op_id in state.done:
            continue
        content = new_memory.memory.content
        to_ask = nearest.to_ask(
            process, Candidate(new_memory.memory), nearest.find(process, standing, content, new_memory.vector, rows)
        )
        if to_ask:
            yield content, _by_both(content, to_ask)
        standing.append(new_memory.memory)

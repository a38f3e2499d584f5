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
    process: Process, space_id: str, wanted: Sequence[MemoryToStore], until: datetime | None, *, waits: bool
) -> Mapping[Pair, Verdict]:
    """The verdicts on each memory and the memories near to it, as far as the LLM gives them.

    1 LIST for each kind, and `model_judge.judge` for each ten memories. The 40 pairs of a call hold the nearest ones of
    each memory first. Nothing is asked without an LLM, or with MEMORY_MERGE=similarity.
    """
    if not process.settings.llmaas_api_url or process.settings.memory_merge == "similarity":
        return {}
    near_ones = [one for kind in KINDS for one in _candidates(process, space_id, kind, wanted)]
    groups = [near_ones[start : start + TOGETHER] for start in range(0, len(near_ones), TOGETHER)]

    def judge(group: Sequence[tuple[str, list[Near]]]) -> Mapping[Pair, Verdict]:
        return model_judge.judge(process, space_id, _pairs(group), until, waits=waits)

    told = process.store.map(judge, groups)
    return {pair: said for some in told for pair, said in some.items()}


def _pairs(group: Sequence[tuple[str, list[Near]]]) -> list[Pair]:
    """The nearest of each memory, then the second nearest of each, and so on, until a call is full."""
    by_memory = ([(content, one.text) for one in there] for content, there in group)
    return [pair for rank in zip_longest(*by_memory) for pair in rank if pair][:PAIRS]


def _by_both(content: str, there: Sequence[Near]) -> list[Near]:
    """The nearest by meaning and by letters in turn.

    A batch asks about a few only, and each way finds memories that the other misses.
    """
    wanted = similarity.prepare(content)
    by_letters = sorted(there, key=lambda one: similarity.like(wanted, similarity.prepare(one.text)), reverse=True)
    in_turn = (one for both in zip(there, by_letters, strict=True) for one in both)
    return list({one.memory.memory_id: one for one in in_turn}.values())


def _candidates(
    process: Process, space_id: str, kind: Kind, wanted: Sequence[MemoryToStore]
) -> Iterator[tuple[str, list[Near]]]:
    """The contents of a kind to ask about, each with the memories near to it."""
    some = [one for one in wanted if one.memory.kind == kind]
    if not some:
        return
    found = log.load(process, space_id, kind)
    there = found.alive(process.clock())
    rows: Rows | None = None
    for one in some:
        if one.vector is not None:
            rows = rows or memory_vectors.of(process, space_id, kind, found, len(one.vector))
            rows.learn(one.memory.content, one.vector)
    for one in some:
        if one.op_id in found.done:
            continue
        content = one.memory.content
        asked = nearest.to_ask(process, Candidate(one.memory), nearest.find(process, there, content, one.vector, rows))
        if asked:
            yield content, _by_both(content, asked)
        there.append(one.memory)

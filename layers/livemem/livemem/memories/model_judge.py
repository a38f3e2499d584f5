"""The LLM's verdicts on memories that may say the same: one call for up to 40 pairs, each asked once.

Where somebody waits, an answer may take some seconds at most. Nothing depends on it: without it both memories stand.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from itertools import zip_longest
from string import Template
from typing import Any

from livemem import clock
from livemem.errors import PreconditionLost, StoreUnavailable
from livemem.jobs import budget
from livemem.llm import contract, templates, window
from livemem.llm.answering import Contract, NoAnswer, ask_model
from livemem.llm.client import Messages
from livemem.llm.contract import Part
from livemem.memories import log, memory_vectors, nearest
from livemem.memories.memory import Memory
from livemem.memories.memory_vectors import Floats, Rows
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.process import Process
from livemem.store import stored
from livemem.store.bucket import VERDICT
from livemem.store.cache import TimedCache
from livemem.store.keys import MEMORY_KINDS, MemoryKind
from livemem.store.stored import Revised
from livemem.store.stored_documents import Moment

Pair = tuple[str, str]
"""A new content, and an existing one."""
PAIRS = 40
"""Pairs of one call."""
LONGEST = timedelta(seconds=10)
"""Time that an answer may take where somebody waits until the memory is stored."""
SHORTEST = 1.0
"""Seconds below which asking is pointless."""
MARGIN = timedelta(seconds=2)
"""Time before the deadline that is reserved to store the memory."""
ANSWER_TOKENS = 500
"""Tokens of the model's window reserved for the answer. Some models think first."""
PAIR_TOKENS = 20
"""Tokens of the answer for each pair. Some models list all of them."""
MOST_KNOWN = 50_000
LATER = "Memories that may say the same are kept apart."


class _Judged(Part):
    """The verdict on one pair."""

    pair: int
    verdict: Verdict


class VerdictsAnswer(Part):
    """The whole answer: the pairs that are not different, or all pairs."""

    verdicts: list[_Judged]


class _Kept(Revised):
    """`_verdicts/{sha256}.json` of a new content: the verdicts by the hashes of its pairs.

    It holds no text, because contents may have to be erased.
    """

    verdicts: dict[str, Verdict] = {}
    model: str = ""
    at: Moment | None = None


_VERDICTS = partial(TimedCache[tuple[str, str], Verdict], MOST_KNOWN)
"""The verdicts that this process has seen, by space and pair."""


def judge(
    process: Process, space_id: str, pairs: Iterable[Pair], until: datetime | None, *, waits: bool = True
) -> dict[Pair, Verdict]:
    """Whether new contents say the same as former ones. A pair without a verdict is missing in the result.

    `waits`: somebody waits, so the answer may take at most ten seconds. Otherwise it may take the time until `until`.

    Without an LLM, time or budget all unknown pairs are missing. 1 call for up to 40 pairs; more are ignored. 1 GET, in
    parallel, for each new content with a pair that this process has not seen. With a call 1 PUT for each of these
    contents, and the requests of a metered call (jobs/budget.py).
    """
    if not process.settings.llmaas_api_url:
        return {}
    digests = {pair: _digest(process, *pair) for pair in list(dict.fromkeys(pairs))[:PAIRS]}
    cache = process.cache(_VERDICTS)
    verdicts = {digest: verdict for digest in digests.values() if (verdict := cache.get((space_id, digest)))}
    _take_in(process, space_id, verdicts, {pair[0] for pair, digest in digests.items() if digest not in verdicts})
    unknown = [pair for pair, digest in digests.items() if digest not in verdicts]
    if unknown:
        answers = _asked(process, space_id, unknown, until, waits=waits)
        verdicts |= _keep_all(process, space_id, {pair: (digests[pair], verdict) for pair, verdict in answers.items()})
    for digest in verdicts.keys() & set(digests.values()):
        cache.put((space_id, digest), verdicts[digest])
    return {pair: verdicts[digest] for pair, digest in digests.items() if digest in verdicts}


def _digest(process: Process, new: str, old: str | None = None) -> str:
    """The hash of all that a verdict depends on; without `old`, the hash that names the verdicts of a new content.

    The hashed text is JSON, so that no two pairs give the same text.
    """
    pair = json.dumps([process.settings.llmaas_model, version(), new, old])
    return hashlib.sha256(pair.encode()).hexdigest()


def _key(process: Process, space_id: str, new: str) -> str:
    return VERDICT.key(space_id, _digest(process, new))


def _take_in(process: Process, space_id: str, verdicts: dict[str, Verdict], contents: Iterable[str]) -> None:
    """Add the stored verdicts on these new contents."""
    verdict_keys = [_key(process, space_id, content) for content in contents]
    if verdict_keys:
        for stored_verdicts in process.store.map(lambda key: _kept(process, key), verdict_keys):
            verdicts |= {digest: verdict for digest, verdict in stored_verdicts.items() if digest not in verdicts}


def _kept(process: Process, key: str) -> Mapping[str, Verdict]:
    """The stored verdicts of a key. The LLM is asked again for unreadable ones."""
    try:
        current = stored.find(process.store, key, stored.or_empty(_Kept))
    except StoreUnavailable:
        return {}
    return current.value.verdicts if current else {}


def _keep_all(process: Process, space_id: str, answers: Mapping[Pair, tuple[str, Verdict]]) -> dict[str, Verdict]:
    """Store verdicts, and return the stored ones. The first writer of a verdict wins."""
    by_content: dict[str, dict[str, Verdict]] = {}
    for (new, _), (digest, verdict) in answers.items():
        by_content.setdefault(new, {})[digest] = verdict
    results = process.store.map(
        lambda pair: _keep(process, _key(process, space_id, pair[0]), pair[1]), by_content.items()
    )
    return {digest: verdict for verdicts in results for digest, verdict in verdicts.items()}


def _keep(process: Process, key: str, verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    def standing(current: _Kept | None) -> _Kept | None:
        standing_verdicts = current.verdicts if current else {}
        if all(digest in standing_verdicts for digest in verdicts):
            return None
        now = clock.iso_millis(process.clock())
        return _Kept(verdicts={**verdicts, **standing_verdicts}, model=process.settings.llmaas_model, at=now)

    try:
        # Mostly there is no document, or it was read just now.
        written = stored.update(process.store, key, standing, process.new_id, read=stored.or_empty(_Kept), current=None)
    except (PreconditionLost, StoreUnavailable):
        return verdicts
    return written.value.verdicts if written else verdicts


def _asked(
    process: Process, space_id: str, pairs: Sequence[Pair], until: datetime | None, *, waits: bool
) -> dict[Pair, Verdict]:
    by = process.clock() + LONGEST
    fitting = _fitting(pairs, process.settings.llmaas_context_tokens)
    if not fitting:
        return {}
    contract_of_pairs = contract_of(fitting)
    if until:
        by = min(by, until - MARGIN) if waits else until - MARGIN
    try:
        with budget.metered(process, space_id, LATER) as meter:
            answered = ask_model(
                process, meter, messages_of(fitting), contract_of_pairs, by, shortest=SHORTEST, corrects=False
            )
    except NoAnswer:
        return {}
    # The model has not read all of a cut prompt.
    return {} if answered.used.prompts_cut else answered.value


def _fitting(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    """The first pairs, as many as fit into the model's window."""
    first_pairs = pairs
    while first_pairs and most - window.size(messages_of(first_pairs)) < ANSWER_TOKENS + PAIR_TOKENS * len(first_pairs):
        first_pairs = first_pairs[: len(first_pairs) // 2]
    return first_pairs


def contract_of(pairs: Sequence[Pair]) -> Contract[dict[Pair, Verdict]]:
    """The contract for an answer about these pairs."""
    return Contract(VerdictsAnswer, lambda text: _told(pairs, contract.parse(text, VerdictsAnswer)))


def _told(pairs: Sequence[Pair], answer: VerdictsAnswer) -> dict[Pair, Verdict]:
    """The verdicts by pair. A pair that the answer leaves out is different.

    A pair with two different verdicts has none. Where the answer names a pair that does not exist, the model has lost
    count, and the pairs that it leaves out have none either.
    """
    by_number: dict[int, set[Verdict]] = {}
    for verdict in answer.verdicts:
        by_number.setdefault(verdict.pair, set()).add(verdict.verdict)
    default: set[Verdict] = {"different"} if by_number.keys() <= set(range(1, len(pairs) + 1)) else set()
    by_pair = {pair: by_number.get(number, default) for number, pair in enumerate(pairs, 1)}
    return {pair: next(iter(verdicts)) for pair, verdicts in by_pair.items() if len(verdicts) == 1}


def messages_of(pairs: Sequence[Pair]) -> Messages:
    """The prompt about these pairs, numbered from 1. A new content with several pairs occurs once."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for number, (new, old) in enumerate(pairs, 1):
        entries.setdefault(new, []).append({"pair": number, "there": old})
    questions = [{"new": new, "pairs": numbered} for new, numbered in entries.items()]
    user = Template(_text("verdict_user")).substitute(pairs=templates.json_line(questions))
    return [{"role": "system", "content": _text("verdict_system")}, {"role": "user", "content": user}]


_text = partial(templates.text, "memories")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of the prompt's texts."""
    return templates.version(map(_text, ("verdict_system", "verdict_user")))


TOGETHER = 10
"""Memories of one call."""


@dataclass(frozen=True)
class MemoryToStore:
    """A memory to be stored, the id of its operation, and its vector."""

    memory: Memory
    op_id: str
    vector: Floats | None


def judge_batch(
    process: Process, space_id: str, new: Sequence[MemoryToStore], until: datetime | None, *, waits: bool
) -> Mapping[Pair, Verdict]:
    """The verdicts on each memory and the memories near to it, earlier ones of the batch among them, as far as the LLM
    gives them.

    1 LIST for each kind, and `judge` for each ten memories. The 40 pairs of a call hold the nearest ones of
    each memory first. Nothing is asked without an LLM, or with MEMORY_MERGE=similarity.
    """
    if not process.settings.llmaas_api_url or process.settings.memory_merge == "similarity":
        return {}
    near_ones = [candidate for kind in MEMORY_KINDS for candidate in _candidates_of_batch(process, space_id, kind, new)]
    groups = [near_ones[start : start + TOGETHER] for start in range(0, len(near_ones), TOGETHER)]
    results = process.store.map(
        lambda group: judge(process, space_id, _pairs_of_batch(group), until, waits=waits), groups
    )
    return {pair: verdict for verdicts in results for pair, verdict in verdicts.items()}


def _pairs_of_batch(group: Sequence[tuple[str, list[Near]]]) -> list[Pair]:
    """The nearest of each memory, then the second nearest of each, and so on, until a call is full."""
    by_memory = ([(content, near.text) for near in candidates] for content, candidates in group)
    return [pair for rank in zip_longest(*by_memory) for pair in rank if pair][:PAIRS]


def _by_both(process: Process, content: str, candidates: Sequence[Near]) -> list[Near]:
    """The nearest by meaning and by letters in turn.

    A batch asks about a few only, and each way finds memories that the other misses.
    """
    likeness = nearest.by_letters(process, [near.memory for near in candidates], content)
    in_turn: dict[int, Near] = {}
    for place, (by_letters, _) in enumerate(nearest.best(likeness, len(likeness))):
        in_turn |= {place: candidates[place], by_letters: candidates[by_letters]}
    return list(in_turn.values())


def _candidates_of_batch(
    process: Process, space_id: str, kind: MemoryKind, new: Sequence[MemoryToStore]
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
            yield content, _by_both(process, content, to_ask)
        standing.append(new_memory.memory)

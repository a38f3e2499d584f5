"""What conversation memory costs: appends, contexts, and the LLM for 1,000 turns.

    .venv/bin/python -m benchmarks.conversations [--turns 50 500 5000] [--data FOLDER...]

The store is the embedded one, a process of its own; each request to it takes 20 ms more where times are measured. The
LLM is the offline one (extracts by fixed rules), called within this process; vectors are made at once. An append is
compared with a single PUT, a context with the listings that it needs, calls with what the dry run said before. `--data`
puts data sets through both profiles (format: docs/recall.md); nothing is fetched.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search import ADMIN, BUCKET, Slow, Words, embed, settings_of, unheard
from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import log, orders, reading, summaries, turn_import, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters, Profile
from livemem.conversations.summaries_job import SummariesJob
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft
from livemem.jobs.worker import Worked
from livemem.llm import tool_calling
from livemem.llm.client import Messages, Reply
from livemem.process import Process
from livemem.recall import context, indexing
from livemem.settings import Settings
from livemem.spaces import lifecycle
from livemem.store.clients import open_store
from livemem.store.objects import Store
from local.offline_llm.chat import complete_chat
from tests.support.object_stores import EMBEDDED, running

SPACE = "talk"
DELAY = 0.020
APPENDS, CONTEXTS = 60, 25
TURNS = 1_000
PROFILES: tuple[Profile, ...] = ("turns", "windows")
APPEND_GOAL, CONTEXT_GOAL = 100, 150
"""Milliseconds, the median with 20 ms more for each request."""


class Counted:
    """An S3 client that counts its requests."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.count = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request: Callable[..., Any] = getattr(self._client, name)

        def counted(**arguments: Any) -> Any:
            self.count += 1
            return request(**arguments)

        return counted


@dataclass
class Bench:
    """A process on the store: `client` counts its requests, `slow` says how much more each one takes."""

    process: Process
    client: Counted
    slow: Slow
    calls: list[int]

    def timed(self, do: Callable[[], object]) -> float:
        """Milliseconds that it takes with the delay."""
        self.slow.seconds = DELAY
        began = time.perf_counter()
        try:
            do()
        finally:
            self.slow.seconds = 0.0
        return (time.perf_counter() - began) * 1_000


def bench(settings: Settings) -> Bench:
    """A process with the offline LLM in it, and vectors that cost nothing."""
    store = open_store(settings)
    calls: list[int] = []

    def ask(messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None) -> Reply:
        del max_tokens, timeout, schema
        calls.append(1)
        answer = complete_chat({"model": "offline-rules", "messages": messages})
        return Reply(answer["choices"][0]["message"]["content"], {k: answer["usage"][k] for k in COUNTS})

    slow = Slow(store.v4, 0.0)
    client = Counted(slow)
    counted: Any = client
    process = Process(
        store=Store(store.bucket, counted, counted, sleep=lambda _: None),
        settings=settings,
        ask=ask,
        converse=tool_calling.connect(settings),
        enqueue=unheard,
        new_suffix=lambda: "00000000",
        embed=embed,
    )
    return Bench(process, client, slow, calls)


COUNTS = ("prompt_tokens", "completion_tokens")


def drafts(count: int, seed: int = 1) -> list[Draft]:
    """Turns as long as those of real talk: most are short, some long."""
    words, chance = Words(seed), random.Random(seed)  # noqa: S311 - the same texts in every run
    sizes = [(chance.choice((60, 120, 200, 400)), chance.choice((200, 400, 800, 1_600))) for _ in range(count)]
    return [
        Draft(f"{words.text(user)}.", f"{words.text(assistant)}.", message_id=f"m{place}")
        for place, (user, assistant) in enumerate(sizes)
    ]


def begin(process: Process, profile: Profile) -> str:
    """A new conversation."""
    wanted = NewConversation(profile=profile, parameters=Parameters(batch_delay_ms=0))
    return conversations.create(process, SPACE, "bench", wanted).conversation_id


def measure_appends(one: Bench) -> None:
    """Print what an append takes beside one PUT."""
    conversation_id = begin(one.process, "turns")
    todo = drafts(APPENDS, seed=2)
    puts = [
        one.timed(partial(one.process.store.put, f"{SPACE}/scratch-{place}", b"x" * 1_000)) for place in range(APPENDS)
    ]
    one.client.count = 0

    def append(draft: Draft) -> None:
        log.append(one.process, SPACE, conversation_id, "bench", draft)

    times = [one.timed(partial(append, draft)) for draft in todo]
    requests = one.client.count / APPENDS
    put, p50 = statistics.median(puts), statistics.median(times)
    slowest = sorted(times)[int(APPENDS * 0.9)]
    print(f"\nAppends, {DELAY * 1_000:.0f} ms more for each request\n")
    print("| one PUT ms | append p50 ms (goal) | p90 | over one PUT (3 round trips) | requests |")
    print("|---|---|---|---|---|")
    print(f"| {put:.1f} | {p50:.1f} ({APPEND_GOAL}) | {slowest:.1f} | {p50 / put:.2f} (3) | {requests:.1f} |")


def measure_contexts(one: Bench, counts: Sequence[int]) -> None:
    """Print what a warm context takes, after each new turn, as a conversation grows."""
    print(f"\nContexts after one new turn each, warm, {DELAY * 1_000:.0f} ms more for each request\n")
    print("| turns | context p50 ms (goal) | p90 | over one GET | requests | characters | summaries of level 1, 2, 3 |")
    print("|---|---|---|---|---|---|---|")
    for count in counts:
        conversation_id = begin(one.process, "turns")
        todo = drafts(count + CONTEXTS + 2, seed=3)
        turn_import.take_in(one.process, SPACE, conversation_id, "bench", todo[:count])
        update_all(one, conversation_id)
        indexing.index(one.process, SPACE, clock.now() + timedelta(hours=1))
        get = statistics.median(one.timed(lambda: one.process.store.get(f"{SPACE}/_meta.json")) for _ in range(20))
        times, requests = [], []
        words = Words(4)
        for place, draft in enumerate(todo[count:]):
            log.append(one.process, SPACE, conversation_id, "bench", draft)
            asked = context.TalkContextRequest(words.query())
            before = one.client.count
            took = one.timed(lambda: use(context.of_conversation(one.process, SPACE, conversation_id, asked)))  # noqa: B023
            if place >= 2:
                times.append(took)
                requests.append(one.client.count - before)
        chars = len(context.of_conversation(one.process, SPACE, conversation_id, asked).markdown)
        made = [str(level.summarised) for level in reading.detail(one.process, SPACE, conversation_id).levels]
        p50, p90 = statistics.median(times), sorted(times)[int(len(times) * 0.9)]
        print(
            f"| {count:,} | {p50:.0f} ({CONTEXT_GOAL}) | {p90:.0f} | {p50 / get:.1f} "
            f"| {statistics.median(requests):.0f} | {chars:,} | {', '.join(made)} |",
            flush=True,
        )


def use(found: Any) -> None:
    """A context in which nothing failed."""
    assert not found.degraded, found.degraded


def update_all(one: Bench, conversation_id: str) -> Worked[SummariesJob]:
    """Bring the summaries up to the log."""
    deadline = clock.now() + timedelta(hours=5)
    return update.look(one.process, SPACE, conversation_id, deadline)


@dataclass(frozen=True)
class Cost:
    """What summarising took, beside what was foreseen."""

    name: str
    turns: int
    chars: int
    boundaries: Sequence[int]
    foreseen: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    blocks: Sequence[int]
    again: int
    """Calls of an update that finds nothing to do."""
    requests_again: int


def cost(one: Bench, name: str, profile: Profile, todo: Sequence[Draft]) -> Cost:
    """Take the turns in, foresee, update, and update once more."""
    process = one.process
    conversation_id = begin(process, profile)
    turn_import.take_in(process, SPACE, conversation_id, "bench", todo)
    log.close(process, SPACE, conversation_id)
    _, at = reading.standing(process, SPACE, conversation_id)
    foreseen = orders.forecast(process, at).calls
    del one.calls[:]
    outcome = update_all(one, conversation_id)
    assert outcome.outcome == "done", outcome
    assert outcome.job
    calls = len(one.calls)
    before = one.client.count
    update_all(one, conversation_id)
    again, requests = len(one.calls) - calls, one.client.count - before
    there = summaries.read(process, At(SPACE, at.conversation, at.built))
    blocks = [
        boundary.chars for boundary in summaries.block_boundaries(process, there, range(1, there.boundaries[1] + 1))
    ]
    chars = sum(len(draft.user_message) + len(draft.assistant_message) for draft in todo)
    used = outcome.job.usage
    return Cost(
        name,
        len(todo),
        chars,
        [there.boundaries[level] for level in (1, 2, 3)],
        foreseen,
        calls,
        used.prompt_tokens,
        used.completion_tokens,
        sorted(blocks),
        again,
        requests,
    )


def print_costs(costs: Sequence[Cost]) -> None:
    """Print costs per 1,000 turns, and sizes of blocks."""
    print("\nSummaries: calls and tokens of the LLM per 1,000 turns\n")
    print(
        "| conversation | turns | characters a turn | blocks, groups, groups of groups | calls | over the dry run "
        "(goal 0.95 to 1.05) | tokens in | tokens out | block min, median, max | again: calls, requests |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in costs:
        share = 1_000 / one.turns
        sizes = f"{one.blocks[0]:,}, {statistics.median(one.blocks):,.0f}, {one.blocks[-1]:,}"
        print(
            f"| {one.name} | {one.turns:,} | {one.chars / one.turns:,.0f} | {', '.join(map(str, one.boundaries))} "
            f"| {one.calls * share:,.0f} | {one.calls / one.foreseen:.3f} | {one.prompt_tokens * share:,.0f} "
            f"| {one.completion_tokens * share:,.0f} | {sizes} | {one.again}, {one.requests_again} |",
            flush=True,
        )


def data_set(folder: Path) -> list[tuple[str, list[Draft]]]:
    """The conversations of a data set; where nobody says who is the assistant, every other one is."""
    data = json.loads((folder / "dataset.json").read_text("utf-8"))
    found = []
    for number, conversation in enumerate(data["conversations"], 1):
        messages = [
            Draft.of_message(
                document.get("role") or ("user", "assistant")[place % 2], document["text"], message_id=str(place)
            )
            for place, document in enumerate(conversation["documents"])
        ]
        found.append((f"{data['name']} {number}", messages))
    return found


def together(name: str, costs: Sequence[Cost]) -> Cost:
    """Several conversations as one row."""
    boundaries = [sum(one.boundaries[level] for one in costs) for level in range(3)]
    return replace(
        costs[0],
        name=name,
        turns=sum(one.turns for one in costs),
        chars=sum(one.chars for one in costs),
        boundaries=boundaries,
        foreseen=sum(one.foreseen for one in costs),
        calls=sum(one.calls for one in costs),
        prompt_tokens=sum(one.prompt_tokens for one in costs),
        completion_tokens=sum(one.completion_tokens for one in costs),
        blocks=sorted(size for one in costs for size in one.blocks),
        again=sum(one.again for one in costs),
        requests_again=max(one.requests_again for one in costs),
    )


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, nargs="*", default=[50, 500, 5_000], help="lengths for contexts")
    arguments.add_argument("--data", type=Path, nargs="*", default=[], help="folders of data sets")
    given = arguments.parse_args()
    with running(EMBEDDED) as target:
        target.client().create_bucket(Bucket=BUCKET)
        one = bench(settings_of(target))
        lifecycle.create(one.process, ADMIN, lifecycle.SpaceRequest(SPACE, rules="Keep a log.", threshold=0))
        measure_appends(one)
        costs = [cost(one, f"made up, `{profile}`", profile, drafts(TURNS)) for profile in PROFILES]
        for folder in given.data:
            for profile in PROFILES:
                parts = [cost(one, name, profile, todo) for name, todo in data_set(folder)]
                costs.append(together(f"{folder.name}, {len(parts)} conversations, `{profile}`", parts))
        print_costs(costs)
        measure_contexts(one, given.turns)


if __name__ == "__main__":
    main()

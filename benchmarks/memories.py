"""What memories cost: storing and searching as a space grows, coming cold, and digests.

    .venv/bin/python -m benchmarks.memories [--memories 100 1000 10000] [--messages 2000]

The store is the embedded one, a process of its own; each request to it takes 20 ms more where times are measured. Texts
are made up, vectors are made at once, as by a model that costs nothing. A store is compared with the LIST and the PUT
that it needs, one after the other, a search with its LIST, in the same run. `CPU` is what the process itself works for
one. `cold` is the first search of a process, with a snapshot. The LLM of the digest finds a memory in every tenth
message, at once.
"""

import argparse
import statistics
import time
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from benchmarks.conversations import DELAY, Bench, bench
from benchmarks.search import ADMIN, BUCKET, Words, settings_of
from livemem import clock
from livemem.llm import embeddings
from livemem.llm.client import Messages, Reply
from livemem.memories import memory_vectors, operation, reading, state, storing
from livemem.memories.memory import Memory, MemoryDraft, Provenance
from livemem.memories.operation import Operation
from livemem.memories.state import State
from livemem.process import Process
from livemem.rooms import digest_progress, digest_work, message, posting
from livemem.rooms.digest_work import DigestOrder
from livemem.spaces import lifecycle
from livemem.store.bucket import MEMORY_SNAPSHOT, OPERATION
from tests.support.chatter import answer, memory, shown
from tests.support.object_stores import EMBEDDED, running

MEMORIES = (100, 1_000, 10_000)
DIMENSIONS = (384, 1_536)
STORES, SEARCHES, WARM = 40, 20, 3
CHARACTERS = 120
MESSAGES = 2_000
STORE_GOAL = 150
"""Milliseconds, the median with 20 ms more for each request and 1,000 memories."""


class Embedding:
    """A model whose vectors cost nothing and are near to nothing; it counts its calls."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.calls = 0

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> list["array[float]"]:
        del query, timeout
        self.calls += 1
        return [array("f", self.vector(text).tobytes()) for text in texts]

    def vector(self, text: str) -> Any:
        """The vector of a text, the same each time."""
        made = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimensions, dtype=np.float32)
        return made / np.linalg.norm(made)


@dataclass(frozen=True)
class Measured:
    """Milliseconds, medians; `requests` of one store."""

    memories: int
    dimensions: int
    raw: float
    store: float
    store_p90: float
    store_cpu: float
    requests: float
    lists: float
    search: float
    search_cpu: float
    cold: float


def fill(process: Process, space_id: str, count: int, model: Embedding) -> None:
    """A space that holds so many facts: the newest operation of its log, a snapshot, and its vectors."""
    words, now = Words(count), clock.iso_millis(clock.now())
    memories = [
        Memory(
            memory_id=clock.new_id(),
            kind="fact",
            content=words.text(CHARACTERS),
            subjects=["bench"],
            created_at=now,
            updated_at=now,
            expires_at="2999-01-01T00:00:00.000Z" if place % 4 == 0 else None,
            provenance=Provenance(author="bench"),
        )
        for place in range(count)
    ]
    last = Operation(number=count, op="put", op_id=operation.op_id("last"), at=now, author="bench", memory=memories[-1])
    process.store.put(OPERATION.key(space_id, "fact", count), last.to_bytes())
    standing = State(count, {one.memory_id: one for one in memories}, op_id=last.op_id)
    rows = memory_vectors.Rows()
    rows.add({one.content: model.vector(one.content) for one in memories}, model.dimensions)
    memory_vectors.keep(process, space_id, "fact", count, rows, memories)
    process.store.put(MEMORY_SNAPSHOT.key(space_id, "fact", count), state.to_snapshot(standing).to_bytes())


def cpu(do: Callable[[], object]) -> float:
    """Milliseconds of work of this process, without delay."""
    began = time.process_time()
    do()
    return (time.process_time() - began) * 1_000


def measure(one: Bench, count: int, model: Embedding) -> Measured:
    """Store and search in a space of so many memories."""
    process = replace(one.process, embed=model)
    space_id = f"facts-{count}-{model.dimensions}"
    lifecycle.create(process, ADMIN, lifecycle.SpaceRequest(space_id, rules="Keep a log.", threshold=0))
    fill(process, space_id, count, model)
    words = Words(7)

    def search() -> None:
        # What `GET memories?q=` does.
        assert reading.answers(process, space_id, words.text(60), kind="fact").by == "vector"

    def store() -> None:
        storing.store(process, space_id, "bench", MemoryDraft(words.text(CHARACTERS)))

    def raw(place: int) -> None:
        list(process.store.scan(OPERATION.prefix(space_id, "fact"), limit=1))
        process.store.put(f"{space_id}/scratch-{place}", b"x" * 4_000)

    cold = one.timed(search)
    for _ in range(WARM):
        store()
    one.client.count = 0
    times = [one.timed(store) for _ in range(STORES)]
    requests = one.client.count / STORES
    return Measured(
        count,
        model.dimensions,
        statistics.median(one.timed(partial(raw, place)) for place in range(STORES)),
        statistics.median(times),
        sorted(times)[int(STORES * 0.9)],
        statistics.median(cpu(store) for _ in range(STORES // 2)),
        requests,
        statistics.median(
            one.timed(lambda: list(process.store.scan(OPERATION.prefix(space_id, "fact"), limit=1)))
            for _ in range(SEARCHES)
        ),
        statistics.median(one.timed(search) for _ in range(SEARCHES)),
        statistics.median(cpu(search) for _ in range(SEARCHES)),
        cold,
    )


def print_measured(one: Bench, counts: Sequence[int]) -> None:
    """Print what storing and searching takes as a space grows."""
    print(f"\nMemories, warm, {DELAY * 1_000:.0f} ms more for each request, vectors not counted\n")
    print(
        "| memories | numbers a vector | LIST and PUT ms | store p50 ms (goal at 1,000) | p90 | over LIST and PUT "
        "| requests | CPU ms | LIST ms | search p50 ms | over a LIST | CPU ms | cold search ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for count in counts:
        for dimensions in DIMENSIONS:
            it = measure(one, count, Embedding(dimensions))
            goal = f" ({STORE_GOAL})" if count == 1_000 else ""
            print(
                f"| {count:,} | {dimensions:,} | {it.raw:.0f} | {it.store:.0f}{goal} | {it.store_p90:.0f} "
                f"| {it.store / it.raw:.2f} | {it.requests:.2f} | {it.store_cpu:.1f} | {it.lists:.0f} "
                f"| {it.search:.0f} | {it.search / it.lists:.2f} | {it.search_cpu:.1f} | {it.cold:.0f} |",
                flush=True,
            )


def print_digest(one: Bench, count: int) -> None:
    """Print what the digest of so many messages takes."""
    model, asked = Embedding(DIMENSIONS[0]), []

    def ask(messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None) -> Reply:
        del max_tokens, timeout, schema
        asked.append(1)
        found = [memory(said["content"], said["number"]) for said in shown(messages) if said["number"] % 10 == 0]
        return Reply(answer(*found), {})

    process = replace(one.process, embed=model, ask=ask)
    lifecycle.create(process, ADMIN, lifecycle.SpaceRequest("talk", rules="Keep a log.", threshold=0))
    words = Words(3)
    for start in range(0, count, posting.BATCH):
        some = [message.MessageDraft("Zoe", words.text(CHARACTERS)) for _ in range(min(posting.BATCH, count - start))]
        posting.post_all(process, "talk", "hall", some)
    model.calls, one.client.count = 0, 0
    began = time.monotonic()
    (outcome,) = digest_work.carry_out(process, "talk", DigestOrder(forced=True), clock.now() + timedelta(hours=1))
    took = time.monotonic() - began
    assert outcome.job, outcome
    done = digest_progress.find_done(process, "talk", outcome.job.job_id)
    assert done, outcome
    print(f"\nThe digest of {count:,} messages of {CHARACTERS} characters, no delay\n")
    print("| chunks | calls of the LLM | a chunk | memories new, merged | embedding calls | S3 requests | s |")
    print("|---|---|---|---|---|---|---|")
    print(
        f"| {done.chunks} | {len(asked)} | {len(asked) / done.chunks:.2f} | {done.new}, {done.merged} "
        f"| {model.calls} | {one.client.count:,} | {took:.1f} |"
    )


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--memories", type=int, nargs="*", default=list(MEMORIES), help="sizes of spaces")
    arguments.add_argument("--messages", type=int, default=MESSAGES, help="of the digest; 0: none")
    given = arguments.parse_args()
    with running(EMBEDDED) as target:
        target.client().create_bucket(Bucket=BUCKET)
        settings = settings_of(target)
        assert embeddings.name(settings)
        one = bench(settings)
        print_measured(one, given.memories)
        if given.messages:
            print_digest(one, given.messages)


if __name__ == "__main__":
    main()

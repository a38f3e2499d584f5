"""What a search costs in time and memory, warm and cold, as a space grows.

    .venv/bin/python -m benchmarks.search --documents 1000 10000 100000

The store is the embedded one, a process of its own; each space is searched by a fresh process. Documents have 1 kB:
consolidated notes in records of 500, and the last 500 live. Vectors have 384 dimensions and are made at once, as by
a model that costs nothing. `warm` is the median of searches in an environment that knows the space, `lists` that of the
same listings alone, `over` what the search takes beyond them. `cold` is the first search of an environment, with a
snapshot, where each request to the store takes 20 ms more; `built` the same without a snapshot.
"""

import argparse
import hashlib
import json
import os
import random
import secrets
import statistics
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.archive import resident
from livemem import clock
from livemem.access.principal import Principal
from livemem.changes.records import NoteSource, Record
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.notes import note as notes
from livemem.process import Function, Process
from livemem.recall import indexing, search
from livemem.recall.document_sources import sources
from livemem.recall.search_request import SearchRequest
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import keys
from livemem.store.bucket import HEAD, NOTE, RECORD, SEGMENT
from livemem.store.clients import open_store
from livemem.store.objects import Store
from tests.support.object_stores import EMBEDDED, Target, running

ROOT = Path(__file__).resolve().parents[1]
BUCKET, SPACE = "bench", "large"
ADMIN = Principal("bench", frozenset({"read", "write", "admin"}), frozenset())
BYTES, PER_RECORD, LIVE = 1_000, 500, 500
DIMENSIONS = 384
DELAY = 0.020
QUERIES = 40
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
GOALS = {1_000: (15, 1.5, 300), 10_000: (15, 1.5, 300), 100_000: (60, 5.0, None)}
"""By documents: milliseconds over the listings, seconds cold, MiB (None: no goal)."""


@dataclass(frozen=True)
class Measured:
    """Medians in milliseconds; `cold` and `built` in seconds; memory in MiB."""

    documents: int
    warm: float = 0.0
    slowest: float = 0.0
    lists: float = 0.0
    over: float = 0.0
    cold: float = 0.0
    built: float = 0.0
    before: float = 0.0
    memory: float = 0.0


class Slow:
    """An S3 client each of whose requests takes so many seconds more."""

    def __init__(self, client: Any, seconds: float) -> None:
        self._client = client
        self.seconds = seconds

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request: Callable[..., Any] = getattr(self._client, name)

        def late(**arguments: Any) -> Any:
            time.sleep(self.seconds)
            return request(**arguments)

        return late


class Words:
    """Texts whose words are as rare as those of a language: the n-th most frequent one comes 1/n as often."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - the same texts in every run
        letters = "etaoinshrdlucmfwypvbg"
        self.all = sorted(
            {"".join(self._chance.choices(letters, k=self._chance.randint(3, 10))) for _ in range(40_000)}
        )
        self._chance.shuffle(self.all)
        weights = np.cumsum(1 / (np.arange(len(self.all)) + 10))
        self._weights = weights.tolist()

    def text(self, size: int) -> str:
        words = self._chance.choices(self.all, cum_weights=self._weights, k=size // 6 + 10)
        return " ".join(words)[:size]

    def query(self) -> str:
        return " ".join(self._chance.choices(self.all[:20_000], cum_weights=self._weights[:20_000], k=8))


def embed(texts: Sequence[str], *, query: bool, timeout: float) -> list["array[float]"]:
    """Vectors of no meaning, the same for the same text."""
    del query, timeout
    found = []
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(DIMENSIONS, dtype=np.float32)
        found.append(array("f", (vector / np.linalg.norm(vector)).tobytes()))
    return found


def unheard(function: Function, payload: Mapping[str, Any]) -> None:
    """Nothing goes on beside what is measured."""
    del function, payload


def new_process(settings: Settings, delay: float = 0.0) -> Process:
    """A process as a function's environment has it, with an embedding model that costs nothing."""
    store = open_store(settings)
    if delay:
        slow: Any = Slow(store.v4, delay)
        store = Store(store.bucket, slow, slow)
    return Process(
        store=store,
        settings=settings,
        ask=llm.connect(settings),
        converse=tool_calling.connect(settings),
        enqueue=unheard,
        new_suffix=lambda: secrets.token_hex(4),
        embed=embed,
    )


def fill(process: Process, documents: int) -> None:
    """Make a space of so many notes, all but the last ones in records."""
    lifecycle.create(process, ADMIN, lifecycle.SpaceRequest(SPACE, rules="Keep a log.", threshold=0))
    head = heads.load(process, SPACE)
    source = Words(documents)
    folded = documents - min(LIVE, documents)
    count = 0
    for start in range(0, folded, PER_RECORD):
        count += 1
        some = [_note(index, source) for index in range(start, min(start + PER_RECORD, folded))]
        record = _record(head.meta.uid, count, some)
        process.store.put(RECORD.key(SPACE, record.name()), record.to_bytes())
    for index in range(folded, documents):
        name, body = _note(index, source)
        process.store.put(NOTE.key(SPACE, name), body)
    heads.swap(process, head, changes=count, folded_until=keys.compact_time(_moment(folded)))


def _moment(index: int) -> datetime:
    return BEGINNING + timedelta(minutes=index)


def _note(index: int, source: Words) -> tuple[str, bytes]:
    name = keys.NoteName(_moment(index), f"agent-{index % 7}", keys.CATEGORIES[index % 7], f"{index:08x}")
    text = source.text(BYTES)
    note = notes.Note(name.note_id, SPACE, clock.iso(name.timestamp), name.agent, name.category, (), text, len(text))
    return name.note_id, notes.format_note(note)


def _record(uid: str, number: int, some: Sequence[tuple[str, bytes]]) -> Record:
    return Record(
        number=number,
        run_id="0" * 26,
        uid=uid,
        kind="consolidation",
        trigger="api",
        started_at=clock.iso(BEGINNING),
        committed_at=clock.iso(BEGINNING),
        notes=[NoteSource.of(name, body) for name, body in some],
    )


def child(target: Target, what: str, documents: int) -> Measured:
    """Search in a process of its own."""
    arguments = [sys.executable, "-m", "benchmarks.search", "--child", what, "--endpoint", target.endpoint]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(("layers/livemem", ".")),
        "BENCH_KEY": target.access_key,
        "BENCH_SECRET": target.secret_key,
    }
    done = subprocess.run(
        [*arguments, "--documents", str(documents)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def run_child(endpoint: str, what: str, documents: int) -> None:
    """Measure one of both, and print it."""
    target = Target(EMBEDDED.name, endpoint, os.environ["BENCH_KEY"], os.environ["BENCH_SECRET"])
    settings = settings_of(target)
    queries = [Words(documents).query() for _ in range(QUERIES)]
    process = new_process(settings, DELAY)
    process.store.get(HEAD.key(SPACE))
    before = resident()
    if what == "built":
        # However long that takes.
        search.READING = timedelta(hours=1)
        print(json.dumps(asdict(Measured(documents, built=timed(lambda: ask(process, queries[0]))))))
        return
    cold = timed(lambda: ask(process, queries[0]))
    client: Any = process.store.v4
    client.seconds = 0.0
    ask(process, queries[1])
    warm = [timed(lambda query=query: ask(process, query)) * 1_000 for query in queries]  # type: ignore[misc]
    lists = [timed(lambda: list_all(process)) * 1_000 for _ in queries]
    over = statistics.median(warm) - statistics.median(lists)
    print(
        json.dumps(
            asdict(
                Measured(
                    documents,
                    statistics.median(warm),
                    max(warm),
                    statistics.median(lists),
                    over,
                    cold,
                    before=before,
                    memory=resident(),
                )
            )
        )
    )


def timed(do: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def ask(process: Process, query: str) -> None:
    """One search over everything."""
    found = search.search(process, SPACE, SearchRequest.of(query, scope="all"))
    assert found.ranking == "hybrid"
    assert found.hits


def list_all(process: Process) -> None:
    """The listings that a search makes, in the same way: side by side."""
    prefixes = [source.prefix for source in sources(process, SPACE)]
    prefixes.append(SEGMENT.prefix(SPACE))
    process.store.map(lambda prefix: list(process.store.scan(prefix)), prefixes)


def settings_of(target: Target) -> Settings:
    """The settings of a process on this store, with an embedding model."""
    return target.settings(
        BUCKET,
        llmaas_api_url="http://127.0.0.1:1/v1",
        embeddings_api_url="http://127.0.0.1:1/v1",
        embeddings_model="bench",
        embeddings_dimensions=DIMENSIONS,
    )


def run(documents: int, *, built: bool) -> Measured:
    """Fill a space, index it, and search it in fresh processes."""
    with running(EMBEDDED) as target:
        target.client().create_bucket(Bucket=BUCKET)
        process = new_process(settings_of(target))
        fill(process, documents)
        without = child(target, "built", documents).built if built else 0.0
        indexing.index(process, SPACE, clock.now() + timedelta(hours=5))
        return replace(child(target, "search", documents), built=without)


def main() -> None:
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--documents", type=int, nargs="+", default=[1_000, 10_000])
    arguments.add_argument("--built", action="store_true", help="measure also without a snapshot")
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    arguments.add_argument("--endpoint", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        run_child(given.endpoint, given.child, given.documents[0])
        return
    print(
        "| documents | warm ms | slowest | lists | over (goal) | cold s (goal) | built s | memory MiB (goal) | before |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for documents in given.documents:
        one = run(documents, built=given.built)
        over, cold, memory = GOALS.get(documents, (None, None, None))
        print(
            f"| {documents:,} | {one.warm:.1f} | {one.slowest:.1f} | {one.lists:.1f} | {one.over:.1f} ({over}) "
            f"| {one.cold:.2f} ({cold}) | {one.built:.2f} | {one.memory:.0f} ({memory}) | {one.before:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""How much memory functions take with a space of 200,000 live notes whose LLM was down for a month.

The bucket is in this process. Each function runs in a process of its own, which asks for objects over a pipe and tells
its greatest resident size (`VmHWM`). That holds the interpreter and all that the function loads, as on Lambda.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from botocore.exceptions import ClientError

from benchmarks.memories import Embedding, fill
from benchmarks.scale.account import template_kinds
from benchmarks.scale.growth import LargeWorld
from tests.support.bucket import FakeS3

ROOT = Path(__file__).resolve().parents[2]
SPACE, FACTS = "demo", "facts"
MEMORIES, DIMENSIONS = 19_900, 1_536
"""Nearly as many as a space may have, with the vectors of a large model."""
STEPS: Mapping[str, tuple[str, ...]] = {
    "counter": ("count",),
    "sweep": ("sweep", "daily"),
    "ingest": ("note",),
    "reads": ("page", "summary"),
    "search": ("start", "search"),
    "indexer": ("index",),
    "consolidate": ("consolidate",),
    "backup": ("back_up",),
    "memories": ("store", "answers"),
}
"""Steps of each function (benchmarks/scale/one_function.py)."""
SHARE = 0.7
"""The part of a function's memory that a step may take."""


@dataclass(frozen=True)
class Taken:
    """What a step took: MB at most, requests, and how it ended."""

    function: str
    step: str
    megabytes: int
    requests: int
    said: str

    @property
    def share(self) -> float:
        """The part of the function's memory."""
        return self.megabytes / template_kinds()[self.function].megabytes


def full(count: int) -> tuple[FakeS3, datetime]:
    """A bucket with a space of so many live notes by ten agents, another one of many memories with vectors, and the
    present time.
    """
    world = LargeWorld(embeddings_api_url="http://embeddings.invalid", embeddings_model="m")
    model = Embedding(DIMENSIONS)
    world.create_space(FACTS)
    fill(world.with_parts(embed=model), FACTS, min(count, MEMORIES), model)
    world.create_space(SPACE, threshold=30)
    world.note("An observation of the day, as agents write them, about ports and servers. " * 4, space_id=SPACE)
    (key,) = [one for one in world.keys(f"{SPACE}/live/") if one.endswith(".md")]
    body = world.inner.objects[key].body
    world.inner.delete_object(Bucket="bucket", Key=key)
    # A month of notes, the newest of them three weeks old.
    for number in range(count):
        moment = world.clock().replace(month=1, day=1 + number * 28 // count, hour=number % 24, minute=number % 60)
        name = f"{moment:%Y%m%dT%H%M%S}_agent-{number % 10}_progress_{number:08x}.md"
        world.inner.put_object(Bucket="bucket", Key=f"{SPACE}/live/{name}", Body=body)
    return world.inner, world.clock()


class Served:
    """The bucket for processes that ask over a socket. Each connection has a thread."""

    def __init__(self, bucket: FakeS3, address: str) -> None:
        self.requests = 0
        self._bucket = bucket
        self._listener = Listener(address, "AF_UNIX")
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no further connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        try:
            while True:
                name, arguments = connection.recv()
                connection.send(self._answer(name, arguments))
        except (EOFError, OSError):
            connection.close()

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Any]:
        self.requests += 1
        try:
            answer = getattr(self._bucket, name)(**arguments)
        except ClientError as error:
            return "error", (error.response, error.operation_name)
        if "Body" in answer:
            answer = {**answer, "Body": answer["Body"].read()}
        return "answer", answer


def measure(count: int, steps_of: Mapping[str, tuple[str, ...]] = STEPS) -> Iterator[Taken]:
    """Each step of each function, one after the other, each in a new process."""
    bucket, moment = full(count)
    now = moment.isoformat()
    with TemporaryDirectory() as folder, closing(Served(bucket, f"{folder}/bucket")) as served:
        for function, steps in steps_of.items():
            for step in steps:
                before = served.requests
                yield replace(_once(f"{folder}/bucket", function, step, now), requests=served.requests - before)


def _once(address: str, function: str, step: str, now: str) -> Taken:
    program = [sys.executable, "-m", "benchmarks.scale.one_function", address, function, step, now]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        return Taken(function, step, 0, 0, ended.stderr.strip().splitlines()[-1])
    told = json.loads(ended.stdout.splitlines()[-1])
    return Taken(function, step, told["megabytes"], 0, told["said"])


def table(count: int = 200_000) -> Iterator[str]:
    """The lines of the table."""
    yield f"| {count:,} live notes: function | step | MB at most | of its memory | requests | result |"
    yield "|---|---|---:|---:|---:|---|"
    for one in measure(count):
        row = [f"`{one.function}`", one.step, f"{one.megabytes:,}", f"{one.share:.0%}", f"{one.requests:,}", one.said]
        yield f"| {' | '.join(row)} |"

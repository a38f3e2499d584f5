"""How much memory functions take with a space of 200,000 live notes whose LLM was down for a month, with as many
memories, messages and turns as there may be or anybody would write.

The bucket is in this process. Each function runs in a process of its own, which asks for objects over a pipe and tells
its greatest resident size (`VmHWM`). That holds the interpreter and all that the function loads, as on Lambda.
"""

import itertools
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from botocore.exceptions import ClientError

from benchmarks.memories import Embedding, fill
from benchmarks.scale.account import template_kinds
from benchmarks.scale.growth import LargeWorld
from benchmarks.scale.one_function import DIMENSIONS, FACTS, MODEL, PIECE, SPACE, TALK
from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.llm import embeddings
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.search import segments, vectors
from livemem.settings import Settings
from livemem.store.bucket import SEARCH_SNAPSHOT, SEGMENT, TURN
from tests.support.bucket import FakeS3
from tests.support.world import World

ROOT = Path(__file__).resolve().parents[2]
MEMORIES = 19_900
"""Nearly as many as a space may have, with the vectors of a large model."""
MESSAGES, CHARACTERS = 20_000, 4_000
"""Of a room that is full, each of so many characters."""
UNEMBEDDED = 1_500
"""Texts without a vector when the indexer begins."""
TURNS = 50_000
"""Of a conversation without a summary."""
ROOM = "general"
NUMBER = "000000"
STEPS: tuple[tuple[str, str], ...] = (
    ("counter", "count"),
    ("sweep", "sweep"),
    ("sweep", "daily"),
    ("ingest", "note"),
    ("reads", "page"),
    ("reads", "summary"),
    ("search", "start"),
    ("search", "search"),
    ("indexer", "index"),
    ("indexer", "embed"),
    ("search", "by_meaning"),
    ("ask", "ask"),
    ("consolidate", "consolidate"),
    ("summarize", "summarize"),
    ("digest", "digest"),
    ("memories", "store"),
    ("memories", "answers"),
    ("backup", "back_up"),
)
"""Functions and their steps (benchmarks/scale/one_function.py), in an order in which each finds what it needs."""
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
    """A bucket with a space of so many live notes by ten agents, and at most as many turns in one conversation; another
    one of many memories with vectors, and a full room; and the present time.
    """
    world = LargeWorld(embeddings_api_url="http://embeddings.invalid", embeddings_model=MODEL)
    model = Embedding(DIMENSIONS)
    world.create_space(FACTS)
    fill(world.with_parts(embed=model), FACTS, min(count, MEMORIES), model)
    world.create_space(SPACE, threshold=30)
    _messages(world, min(count, MESSAGES))
    _turns(world, min(count, TURNS))
    _notes(world, count)
    return world.inner, world.clock()


def _notes(world: World, count: int) -> None:
    """A month of notes, the newest of them three weeks old. Each says something else."""
    world.note(
        f"{NUMBER} is an observation of the day, as agents write them, about ports and servers. " * 4, space_id=SPACE
    )
    (key,) = [one for one in world.keys(f"{SPACE}/live/") if one.endswith(".md")]
    body = world.inner.objects[key].body
    world.inner.delete_object(Bucket="bucket", Key=key)
    for number in range(count):
        moment = world.clock().replace(month=1, day=1 + number * 28 // count, hour=number % 24, minute=number % 60)
        name = f"{moment:%Y%m%dT%H%M%S}_agent-{number % 10}_progress_{number:08x}.md"
        own = body.replace(NUMBER.encode(), f"{number:06}".encode())
        world.inner.put_object(Bucket="bucket", Key=f"{SPACE}/live/{name}", Body=own)


def _messages(world: World, count: int) -> None:
    text = "What was said in the room on this day about ports and servers. "
    for first in range(0, count, posting.BATCH):
        said = [f"Message {first + one}. {text * (CHARACTERS // len(text))}" for one in range(posting.BATCH)]
        posting.post_all(world.process, FACTS, ROOM, [MessageDraft("Ann", one) for one in said])
        world.clock.move(1)


def _turns(world: World, count: int) -> None:
    conversations.create(world.process, SPACE, "ann", NewConversation(), conversation_id=TALK)
    said = Draft("What is the port of the server? " * 20, "It is the one that the notes of the day name. " * 40)
    log.append(world.process, SPACE, TALK, "ann", said)
    first = json.loads(world.inner.objects[TURN.key(SPACE, TALK, 1)].body)
    for number in range(2, count + 1):
        body = json.dumps({**first, "index": number}).encode()
        world.inner.put_object(Bucket="bucket", Key=TURN.key(SPACE, TALK, number), Body=body)


class Served:
    """The bucket for processes that ask over a socket. Each connection has a thread."""

    def __init__(self, bucket: FakeS3, address: str) -> None:
        self.requests = 0
        self._bucket = bucket
        self._numbers = itertools.count(1)
        self._reading: dict[int, Iterator[bytes]] = {}
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
                name, arguments, has_body = connection.recv()
                if name == "read":
                    connection.send_bytes(next(self._reading[arguments["number"]], b""))
                    continue
                if has_body:
                    arguments["Body"] = b"".join(iter(connection.recv_bytes, b""))
                kind, answer = self._answer(name, arguments)
                body = answer["Body"].read() if kind == "answer" and "Body" in answer else None
                connection.send((kind, answer if body is None else {**answer, "Body": self._kept(body)}))
                if body is not None and len(body) <= PIECE:
                    connection.send_bytes(body)
        except (EOFError, OSError):
            connection.close()

    def _kept(self, body: bytes) -> int:
        """The number under which a large body is read piece by piece."""
        if len(body) <= PIECE:
            return 0
        number = next(self._numbers)
        self._reading[number] = (body[start : start + PIECE] for start in range(0, len(body), PIECE))
        return number

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, Any]:
        self.requests += 1
        try:
            return "answer", getattr(self._bucket, name)(**arguments)
        except ClientError as error:
            return "error", (error.response, error.operation_name)


def measure(count: int, steps: Sequence[tuple[str, str]] = STEPS) -> Iterator[Taken]:
    """Each step of each function, one after the other, each in a new process."""
    bucket, moment = full(count)
    now = moment.isoformat()
    with TemporaryDirectory() as folder, closing(Served(bucket, f"{folder}/bucket")) as served:
        for function, step in steps:
            if step == "embed":
                _embed_most(bucket, Path(folder))
            before = served.requests
            yield replace(_once(f"{folder}/bucket", function, step, now), requests=served.requests - before)


def _embed_most(bucket: FakeS3, folder: Path) -> None:
    """Vectors for all texts of the last snapshot but the newest, as the indexer would write them within hours."""
    snapshot = max(key for key in bucket.objects if key.startswith(SEARCH_SNAPSHOT.prefix(SPACE)))
    (folder / "snapshot").write_bytes(bucket.objects[snapshot].body)
    with closing(sqlite3.connect(folder / "snapshot")) as database:
        names = [bytes(name) for (name,) in database.execute("SELECT DISTINCT hash FROM passages ORDER BY p")]
    chance, settings = np.random.default_rng(1), Settings(embeddings_model=MODEL)
    for number, first in enumerate(range(0, len(names) - UNEMBEDDED, segments.ROWS), start=1):
        some = names[first : min(first + segments.ROWS, len(names) - UNEMBEDDED)]
        rows = chance.standard_normal((len(some), DIMENSIONS), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        body = vectors.encode(dict(zip(some, rows, strict=True)))
        key = SEGMENT.key(SPACE, embeddings.name(settings), DIMENSIONS, number)
        bucket.put_object(Bucket="bucket", Key=key, Body=body)


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

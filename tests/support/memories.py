"""Memories in tests: a model of meaning that knows which words mean the same."""

import math
import re
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from livemem.llm.embeddings import Vector
from livemem.memories import log, storing
from livemem.memories.memory import MemoryDraft
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store.keys import MemoryKind
from tests.support.world import World

URL = "http://embeddings.invalid/v1"
SIZE = 64
TOPIC = re.compile(r"([0-9]+): ")


@dataclass
class Meaning:
    """An embedding model for texts that begin with the number of their topic: `7: ...`, which alone is their meaning.

    Texts of one topic have a cosine of `near`, those of two of 0. Others are near to nothing but themselves.
    """

    near: float = 0.95
    calls: list[list[str]] = field(default_factory=list)

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> list[Vector]:
        self.calls.append(list(texts))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        found = TOPIC.match(text)
        numbers = [0.0] * SIZE
        own = zlib.crc32(text.encode()) % (SIZE // 2)
        if found:
            # What two of a topic share, and what each has for itself.
            numbers[SIZE // 2 + int(found[1]) % (SIZE // 2)] = math.sqrt(self.near)
            numbers[own] = math.sqrt(1 - self.near)
        else:
            numbers[own] = 1.0
        return array("f", numbers)


def of_one_topic(new: str, there: str) -> str:
    """What a model says that takes texts of one topic for one fact, whatever else they say."""
    one, other = TOPIC.match(new), TOPIC.match(there)
    if not one or not other or one[1] != other[1]:
        return "different"
    return "same"


def world_with_meaning(**settings: Any) -> tuple[World, Meaning]:
    """A world with an embedding model of that kind, an LLM that takes what is of one topic for one fact, and a space
    `demo`.
    """
    world = World(embeddings_api_url=URL, **settings)
    world.llm.judge = of_one_topic
    meaning = Meaning()
    world.process = world.with_parts(embed=meaning)
    world.create_space()
    return world, meaning


def store(
    process: Process, content: str, token: str = "ann", /, *, op_id: str | None = None, **draft: Any
) -> StoredMemory:
    """Store a memory in `demo`, by the token of this name."""
    return storing.store(process, "demo", token, MemoryDraft(content, **draft), op_id=op_id)


def contents(process: Process, kind: MemoryKind = "fact") -> list[str]:
    """What the memories of a kind say, in the order in which they were last written."""
    return [one.content for one in log.load(process, "demo", kind).alive(process.clock())]

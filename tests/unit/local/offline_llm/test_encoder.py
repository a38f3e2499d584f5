"""The encoder: loaded once, whatever its threads; never a vector that points nowhere."""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.offline_llm import encoder
from local.offline_llm.encoder import Encoder, Unavailable, by_hash, readable
from tests.support.cases import each


class Model:
    """Rows as told, and how often and from how many threads at once it was asked."""

    def __init__(self, row: Any) -> None:
        self.row = row
        self.loaded = 0
        self.at_once = 0
        self.most = 0
        self._lock = threading.Lock()

    def load(self) -> Any:
        self.loaded += 1
        return self

    def __call__(self, texts: Sequence[str]) -> Any:
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        time.sleep(0)
        with self._lock:
            self.at_once -= 1
        return [self.row for _ in texts]


GOOD = [1.0] + [0.0] * 511


def test_it_is_loaded_for_the_first_text_once_and_asked_in_turns():
    model = Model(GOOD)
    shared = Encoder(model.load)
    assert (shared.encode([]), model.loaded) == ([], 0)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(shared.encode, [["a", "b"]] * 40))

    assert (model.loaded, model.most) == (1, 1)
    assert all([vector.tolist() for vector in pair] == [GOOD, GOOD] for pair in found)


@each("row", [[0.0] * 512, [math.nan] * 512, [math.inf] + [0.0] * 511, [1e-9] * 512, [1.0] * 512, [1.0], []])
def test_a_vector_that_points_nowhere_is_replaced_by_one_that_the_text_has_alone(row: Any):
    one, same, other = Encoder(Model(row).load).encode(["a", "a", "b"])

    assert one == same != other
    assert math.hypot(*one) == 1


@given(st.text())
def test_the_stand_in_has_length_1_whatever_the_text(text: str):
    assert math.hypot(*by_hash(text)) == 1
    assert len(by_hash(text)) == 512


@given(st.text(st.characters(), max_size=100))
def test_whatever_the_text_the_model_gets_text(text: str):
    readable(text).encode()


def test_a_long_text_is_read_up_to_a_bound():
    assert len(readable("é" * 10_000)) == 4_000


def test_a_model_that_cannot_be_loaded_is_not_tried_again():
    tried = []

    def load() -> Any:
        tried.append(1)
        raise OSError("wrong ELF class")

    broken = Encoder(load)
    assert broken.is_there()
    for _ in range(3):
        with pytest.raises(Unavailable):
            broken.encode(["a"])

    assert (len(tried), broken.is_there()) == (1, False)


def test_without_its_package_there_is_no_model(monkeypatch: pytest.MonkeyPatch):
    assert Encoder().is_there()
    monkeypatch.setattr(encoder, "find_spec", lambda _: None)

    assert not Encoder().is_there()


def test_a_question_waits_for_one_turn_of_a_backlog_and_not_for_its_end():
    asked: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def model(texts: Sequence[str]) -> Any:
        asked.append(len(texts))
        begun.set()
        assert go_on.wait(20)
        return [GOOD for _ in texts]

    shared = Encoder(lambda: model)
    with ThreadPoolExecutor(4) as threads:
        backlogs = [threads.submit(shared.encode, ["text"] * 4 * encoder.TURN_TEXTS) for _ in range(2)]
        assert begun.wait(20)
        question = threads.submit(shared.encode, ["question"])
        while len(shared._turns._waiting) < 2:
            time.sleep(0.001)
        go_on.set()
        assert len(question.result(20)) == 1
        assert [len(one.result(20)) for one in backlogs] == [4 * encoder.TURN_TEXTS] * 2

    assert asked[:2] == [encoder.TURN_TEXTS, 1]
    assert asked[2:] == [encoder.TURN_TEXTS] * 7

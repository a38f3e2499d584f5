"""An embedding model whose vectors change their length: an answer like that of any model that fails, and no error."""

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from livemem.errors import EmbeddingUnavailable
from livemem.memories import correcting, reading, storing
from livemem.memories.correcting import Correction
from livemem.memories.memory import MemoryDraft
from livemem.memories.memory_vectors import Rows
from livemem.memories.storing_outcome import StoredMemory
from livemem.recall import message_context
from tests.support.cases import each
from tests.support.searching import Embedder, find, run_indexer, searching_world, texts
from tests.support.world import World

FACTS = ["The ferry leaves at nine.", "The harbour crane is red.", "The oven needs gas."]
Length = Callable[[int, bool], int]


class Changing(Embedder):
    """A model whose vectors have the length that `length` says, by the number of the call and whether it asks."""

    length: Length = staticmethod(lambda call, query: 64)

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> list["array[float]"]:
        self.dimensions = self.length(len(self.calls), query)
        return super().__call__(texts, query=query, timeout=timeout)

    def change(self, length: Length) -> None:
        self.length = length  # type: ignore[method-assign]
        self.calls.clear()


CHANGES: dict[str, Length] = {
    "shorter questions": lambda call, query: 16 if query else 64,
    "longer questions": lambda call, query: 128 if query else 64,
    "longer texts": lambda call, query: 64 if query else 128,
    "another one each time": lambda call, query: 16 + call,
    "two in turn": lambda call, query: 32 if call % 2 else 64,
    "one number": lambda call, query: 64 if call % 3 else 1,
}


def filled() -> tuple[World, Changing]:
    """A space whose memories have vectors of 64 numbers, which the process knows."""
    world, _ = searching_world()
    world.create_space()
    model = Changing()
    world.process = world.with_parts(embed=model)
    for content in FACTS:
        store(world, content)
    reading.search(world.process, "demo", "harbour")
    return world, model


def store(world: World, content: str, **more: Any) -> StoredMemory:
    return storing.store(world.process, "demo", "ann", MemoryDraft(content, **more))


def facts(world: World) -> list[str]:
    return sorted(one.content for one in reading.all_of(world.process, "demo", "fact"))


@each("cold", [False, True])
@each("name", CHANGES)
def test_a_search_of_memories_goes_by_letters_where_the_vectors_changed_their_length(name: str, cold: bool):
    world, model = filled()
    model.change(CHANGES[name])
    if cold:
        world.process = world.with_parts(embed=model)

    for _ in range(4):
        found = reading.ask(world.process, "demo", "harbour crane", kind="fact", limit=3)

        assert found.found[0].memory.content == FACTS[1]
        assert found.by == "vector" or "vectors of" in (found.degraded or "")
        context = message_context.context_of_room(world.process, "demo", "The harbour crane?", room="quay")
        assert FACTS[1] in context.markdown
        assert context.degraded == ()


@each("name", CHANGES)
def test_a_memory_is_stored_or_refused_as_by_a_model_that_fails_and_none_is_lost(name: str):
    world, model = filled()
    model.change(CHANGES[name])
    stored = list(FACTS)

    for number in range(6):
        content = f"The lighthouse number {number} is blue."
        with suppress(EmbeddingUnavailable):
            store(world, content)
            stored.append(content)

    assert facts(world) == sorted(stored)
    # Once it keeps to a length, all goes on by meaning.
    model.change(lambda call, query: 64)
    store(world, "The last lighthouse is grey.")
    assert reading.ask(world.process, "demo", "harbour crane", kind="fact", limit=3).by == "vector"


@each("length", [2, 32, 65, 512])
def test_a_model_with_a_new_length_for_all_replaces_the_stored_vectors(length: int):
    world, model = filled()
    model.change(lambda call, query: length)

    store(world, "The lighthouse is blue.")

    assert reading.ask(world.process, "demo", "harbour crane", kind="fact", limit=3).by == "vector"
    # All texts were embedded once more, and no further time.
    assert sorted(text for some, query in model.calls if not query for text in some) == sorted(
        [*FACTS, "The lighthouse is blue."]
    )


def test_questions_of_another_length_do_not_cost_the_vectors_that_are_there():
    world, model = filled()
    model.change(CHANGES["shorter questions"])
    for _ in range(5):
        reading.ask(world.process, "demo", "harbour crane", kind="fact", limit=3)
    model.change(lambda call, query: 64)

    assert reading.ask(world.process, "demo", "harbour crane", kind="fact", limit=3).by == "vector"
    assert model.calls == [(["harbour crane"], True)]


@each("name", CHANGES)
def test_a_batch_and_a_correction_are_stored_or_refused_and_searches_go_on(name: str):
    world, model = filled()
    first = reading.all_of(world.process, "demo", "fact")[0]
    model.change(CHANGES[name])

    drafts = [MemoryDraft(f"The buoy number {number} is green.") for number in range(5)]
    with suppress(EmbeddingUnavailable):
        storing.store_all(world.process, "demo", "ann", drafts)
    correcting.correct(world.process, "demo", "ann", first.memory_id, Correction(content="It leaves at ten."))

    assert "It leaves at ten." in facts(world)
    assert reading.ask(world.process, "demo", "ten", kind="fact", limit=3).found


@each("name", CHANGES)
def test_a_search_of_the_space_and_its_indexer_say_so_and_store_nothing_that_is_missing_again(name: str):
    world, model = filled()
    world.note("The harbour crane is booked.")
    model.change(CHANGES[name])

    for _ in range(4):
        answer = find(world.process, "harbour crane")

        assert "The harbour crane is booked." in texts(answer)
    done = [run_indexer(world) for _ in range(4)]
    assert {one["error"] for one in done if "error" in one} <= {"embedding_wrong_dimension"}
    lengths = {key.split("/")[2].rpartition("-")[2] for key in world.keys("demo/_vectors/")}
    assert len(lengths) <= len(done)


def test_the_indexer_keeps_no_vectors_of_another_length_than_it_looks_for():
    world, model = filled()
    model.change(lambda call, query: 64 if call == 0 else 32)

    assert run_indexer(world)["error"] == "embedding_wrong_dimension"
    assert not world.keys("demo/_vectors/")


def test_a_search_of_the_space_names_the_change_and_rests_before_it_asks_for_texts_again():
    world, model = filled()
    world.note("The harbour crane is booked.")
    model.change(CHANGES["shorter questions"])

    first = find(world.process, "harbour crane")
    asked = len([1 for _, query in model.calls if not query])
    again = find(world.process, "harbour crane")

    assert first.failure == again.failure == "embedding_wrong_dimension"
    assert len([1 for _, query in model.calls if not query]) == asked == 1


def test_vectors_that_another_request_replaced_meanwhile_are_no_error_but_a_failure_of_the_model():
    rows = Rows()
    rows.add({"a": np.array([1.0, 0.0], dtype=np.float32)}, 2)
    question = np.array([1.0, 0.0], dtype=np.float32)
    rows.add({"b": np.array([1.0, 0.0, 0.0], dtype=np.float32)}, 3)

    for contents in (["a"], ["b"], ["c"]):
        with pytest.raises(EmbeddingUnavailable):
            rows.cosines(contents, question)
    assert list(rows.cosines([], question)) == []

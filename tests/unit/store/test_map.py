"""Many requests at once: results in order, the first error told, and no deadlock where one map calls another."""

import threading
from typing import Any

import pytest

from livemem.store.objects import Store
from tests.support.bucket import FakeS3
from tests.support.cases import each

SECONDS = 20


def store(threads: int) -> Store:
    client: Any = FakeS3()
    return Store("bucket", client, client, threads=threads)


def within(seconds: float, work: Any) -> Any:
    """What `work` gives; fails the test if it is still at it after `seconds`."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it hangs"
    return found[0]


@each("threads", [1, 2, 3, 16])
@each("depth", [1, 2, 3])
def test_a_map_inside_a_map_ends_with_all_results_in_order(threads: int, depth: int):
    shared = store(threads)

    def grow(level: int) -> list[Any]:
        if level == 0:
            return [0]
        return shared.map(lambda index: (index, grow(level - 1)), range(4))

    found = within(SECONDS, lambda: grow(depth))

    expected: list[Any] = [0]
    for _ in range(depth):
        expected = [(index, expected) for index in range(4)]
    assert found == expected


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_the_error_of_the_first_item_that_failed_is_raised_and_nothing_goes_on_afterwards(threads: int):
    shared = store(threads)
    running: set[int] = set()

    def fail(index: int) -> int:
        running.add(index)
        try:
            if index in (3, 5):
                raise ValueError(index)
            return index
        finally:
            running.discard(index)

    with pytest.raises(ValueError, match="3"):
        within(SECONDS, lambda: capture(lambda: shared.map(fail, range(6))))()

    assert not running


def capture(work: Any) -> Any:
    """A function that raises or returns what `work` did in its own thread."""
    try:
        value = work()
    except ValueError as error:
        caught = error

        def again() -> Any:
            raise caught

        return again
    return lambda: value


def test_as_many_items_are_worked_on_at_once_as_there_are_threads():
    shared = store(4)
    together = threading.Barrier(4, timeout=SECONDS)

    assert shared.map(lambda index: (together.wait() >= 0, index)[1], range(8)) == list(range(8))

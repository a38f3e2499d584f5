"""The random choices of histories, through one interface: drawn by Hypothesis, which shortens a history that fails, or
made from a number, so that thousands are played fast and each can be played again.
"""

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """Where a history asks what happens next. The first of several options is the simplest one."""

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        ...

    def number(self, least: int, most: int) -> int:
        """Both included."""
        ...


class Seeded:
    """Choices that follow from a number."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)


class Drawn:
    """Choices of Hypothesis, for a test under `@given(data=st.data())`."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def number(self, least: int, most: int) -> int:
        return int(self._data.draw(_numbers(least, most)))


_NUMBERS: dict[tuple[int, int], st.SearchStrategy[int]] = {}


def _numbers(least: int, most: int) -> st.SearchStrategy[int]:
    if (least, most) not in _NUMBERS:
        _NUMBERS[least, most] = st.integers(least, most)
    return _NUMBERS[least, most]


def chance(choices: Choices, percent: int) -> bool:
    """True in so many of a hundred cases; the simplest case is False."""
    return choices.number(1, 100) > 100 - percent


def some(choices: Choices, options: Sequence[T], count: int) -> list[T]:
    """So many of them, each once, in any order."""
    left = list(options)
    return [left.pop(choices.number(0, len(left) - 1)) for _ in range(min(count, len(left)))]

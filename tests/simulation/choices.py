"""The random choices of histories: of Hypothesis, which shortens a history that fails, or made from a number, so that
thousands are played fast and each can be played again.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Where a history asks what happens next. The first of several options is the simplest one.

    `random` may be one of Hypothesis (`st.randoms`).
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.number(0, len(options) - 1)]

    def number(self, least: int, most: int) -> int:
        """Both included."""
        return self._random.randint(least, most)


def seeded(number: int) -> Choices:
    """Choices that follow from a number."""
    return Choices(Random(number))


def chance(choices: Choices, percent: int) -> bool:
    """True in so many of a hundred cases; the simplest case is False."""
    return choices.number(1, 100) > 100 - percent


def some(choices: Choices, options: Sequence[T], count: int) -> list[T]:
    """So many of them, each once, in any order."""
    left = list(options)
    return [left.pop(choices.number(0, len(left) - 1)) for _ in range(min(count, len(left)))]

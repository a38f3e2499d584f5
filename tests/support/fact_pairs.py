"""Two hundred pairs of facts, of which it is known whether they are one (benchmarks/fact_pairs.jsonl): different facts
in nearly the same words, new values, and the same facts in other words; and a model that answers as the labels say.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

PATH = Path(__file__).parents[2] / "benchmarks" / "fact_pairs.jsonl"


@dataclass(frozen=True)
class FactPair:
    """What was stored first, and what comes then."""

    id: str
    lang: Literal["en", "fr", "fr-en"]
    label: Literal["same", "contradicts", "different"]
    one: str
    other: str


@cache
def fact_pairs() -> tuple[FactPair, ...]:
    """All of them."""
    return tuple(FactPair(**json.loads(line)) for line in PATH.read_text("utf-8").splitlines())


class RightJudge:
    """What a model says that is always right: what the labels say, and of all others that they are different."""

    def __init__(self, pairs: Sequence[FactPair]) -> None:
        self._labels = {frozenset((pair.one, pair.other)): pair.label for pair in pairs}
        self.asked: set[frozenset[str]] = set()

    def __call__(self, new: str, there: str) -> str:
        self.asked.add(frozenset((new, there)))
        return self._labels.get(frozenset((new, there)), "different")

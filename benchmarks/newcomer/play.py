"""The story, played by the hooks of `livemem init`, and what a start answers of the needs.

`story.jsonl` has the turns: the session, the day, and what was said. `needs.json` has what an agent needs on the fourth
morning. Its patterns were written before any start was looked at. A need is answered by one line.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.support.hooked_agent import HookedAgent, Turn

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.jsonl"
NEEDS, RULES_GOAL, MODEL_GOAL = 20, 10, 16
"""All needs, and those that a start answers at least where fixed rules fold, and where a language model does."""


@dataclass(frozen=True)
class Need:
    """What an agent needs to know, and the patterns of which a line that tells it has one."""

    id: str
    need: str
    any: Sequence[str]

    def answered(self, start: str) -> bool:
        """Whether a line tells it."""
        return any(re.search(pattern, line) for pattern in self.any for line in start.splitlines())


def missing(start: str) -> list[str]:
    """The needs that no line of a start answers."""
    needs = [Need(**one) for one in json.loads((FOLDER / "needs.json").read_text("utf-8"))]
    assert len(needs) == NEEDS
    return [need.id for need in needs if not need.answered(start)]


def live_three_days(agent: HookedAgent, settle: Callable[[], None]) -> None:
    """All sessions. `settle` waits until the service has worked off a session."""
    turns = map(json.loads, (FOLDER / "story.jsonl").read_text("utf-8").splitlines())
    for day, said in groupby(turns, lambda turn: turn["day"]):
        agent.live(day, [Turn(turn["user"], turn["assistant"]) for turn in said])
        settle()

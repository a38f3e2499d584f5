"""The language model of the simulated account: it takes its time, has a rate limit, and may be down for hours."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.scale.one_model import fold, read_notes
from benchmarks.scale.virtual import Schedule
from livemem.llm.client import LlmError, Messages, Reply
from tests.support.chatter import notes_facts
from tests.support.talk import extract
from tests.support.world import verdicts

MINUTE = 60.0


def answer(messages: Messages, schema: Mapping[str, Any] | None) -> tuple[str, bool]:
    """The answer, and whether it is a short one: of a consolidation it is not."""
    wanted = (schema or {}).get("properties", {})
    if "uncited" in wanted:
        return "{}", True
    asked = messages[1]["content"]
    if "verdicts" in wanted:
        return verdicts(messages, lambda *_: "different"), True
    if "# Messages of the room" in asked:
        return notes_facts(messages), True
    if "bank_files" in wanted:
        notes, there = read_notes(messages)
        return fold(notes, there), False
    return extract(messages), True


@dataclass
class Model:
    """`seconds` for a consolidation, `short` for all else. `a_minute`: calls that are taken in a minute. `down`: from
    which second to which it answers 503.
    """

    schedule: Schedule
    seconds: float = 20.0
    short: float = 6.0
    a_minute: int = 2_000
    down: tuple[float, float] = (0.0, 0.0)
    calls: int = 0
    refused: int = 0
    tokens: int = 0
    written: int = 0
    _recent: deque[float] = field(default_factory=deque)

    def __call__(self, messages: Messages, *limits: Any) -> Reply:
        """As `livemem.llm.client.Ask`; the last of the limits is the schema."""
        schema = limits[2] if len(limits) > 2 else None
        now = self.schedule.now
        if self.down[0] <= now < self.down[1]:
            self.refused += 1
            self.schedule.sleep(1.0)
            raise LlmError("llm_unavailable", "It is down.", 503)
        while self._recent and now - self._recent[0] > MINUTE:
            self._recent.popleft()
        if len(self._recent) >= self.a_minute:
            self.refused += 1
            self.schedule.sleep(1.0)
            raise LlmError("llm_throttled", "Too many calls.", 429)
        self._recent.append(now)
        said, short = answer(messages, schema)
        used = sum(len(one["content"]) for one in messages) // 4, len(said) // 4
        self.calls += 1
        self.tokens += used[0]
        self.written += used[1]
        self.schedule.sleep(self.short if short else self.seconds)
        return Reply(said, {"prompt_tokens": used[0], "completion_tokens": used[1]})

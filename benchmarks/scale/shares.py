"""Summaries of a tenant that sends turns to hundreds of conversations at once, and of others who send one each minute.

The summarize function has a few slots. The table says how long the turns of the others wait for their summaries.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from benchmarks.scale.account import Account
from benchmarks.scale.growth import LargeWorld
from benchmarks.scale.model import Model
from benchmarks.scale.virtual import Schedule
from livemem.conversations import conversation as conversations
from livemem.conversations import log, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.jobs import shares
from livemem.process import Process
from livemem.store.bucket import TURN
from tests.support.world import carry_out

FLOOD, OTHER = "flood", "other"
LENGTH = 3_000
"""Characters of a turn, enough for a summary of its own."""


@dataclass
class Shared:
    """Seconds from a turn to its summary: of the others, and of the tenant with the flood."""

    others: list[float] = field(default_factory=list)
    flood: list[float] = field(default_factory=list)
    requests: int = 0
    left: int = 0


class _Play:
    def __init__(self, slots: int) -> None:
        self.world, self.outcome = LargeWorld(), Shared()
        for name in (FLOOD, OTHER):
            self.world.create_space(name)
        schedule = Schedule(self.world.clock)
        parts = {"ask": Model(schedule, short=20.0), "enqueue": self.enqueue}
        self.account = Account(self.world, schedule, parts, {"summarize": slots})
        self.account.heard = self.heard
        self.said: dict[str, float] = {}

    def turn(self, space_id: str) -> None:
        """A turn of a new conversation."""
        schedule = self.account.schedule

        def work(process: Process, _: datetime) -> None:
            talk = conversations.create(process, space_id, "ann", NewConversation())
            said = Draft("a" * LENGTH, "b" * LENGTH)
            log.append(process, space_id, talk.conversation_id, "ann", said)
            self.said[talk.conversation_id] = schedule.now

        self.account.request("conversations", "a turn", work)

    def heard(self, key: str) -> None:
        if parsed := TURN.parse(key):
            written = self.account.schedule.now
            self.summarize(
                parsed[0],
                lambda process, until: update.hear(process, [key], until, key, self.since(written)),
            )

    def enqueue(self, function: str, payload: Any) -> None:
        queued = self.account.schedule.now
        if function == "summarize":
            self.summarize(
                payload["space_id"],
                lambda process, until: carry_out(
                    payload, process, until, self.account.schedule.sleep, self.since(queued)
                ),
            )

    def since(self, moment: float) -> timedelta:
        return timedelta(seconds=self.account.schedule.now - moment)

    def summarize(self, space_id: str, work: Any) -> None:
        def told(process: Process, until: datetime) -> None:
            for one in work(process, until):
                if one.outcome == "done" and one.job.subject in self.said:
                    waited = self.account.schedule.now - self.said.pop(one.job.subject)
                    (self.outcome.flood if space_id == FLOOD else self.outcome.others).append(waited)

        self.account.queue("summarize", f"summaries of {space_id}", told)


def play(conversations_at_once: int, *, slots: int = 5, minutes: int = 60, crowded: timedelta | None = None) -> Shared:
    """Let one tenant send a turn to so many conversations within a minute, and another one a turn each minute.

    `crowded`: another time after which a queue counts as long.
    """
    game, usual = _Play(slots), shares.CROWDED
    shares.CROWDED = crowded if crowded is not None else usual
    try:
        for number in range(conversations_at_once):
            game.account.schedule.at(60 * number / conversations_at_once, lambda: game.turn(FLOOD))
        for minute in range(1, minutes):
            game.account.schedule.at(60.0 * minute, lambda: game.turn(OTHER))
        game.account.schedule.run(3 * 3_600)
    finally:
        shares.CROWDED = usual
    game.outcome.requests = game.account.tally.requests[f"summaries of {FLOOD}"].total()
    game.outcome.left = len(game.said)
    return game.outcome


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| | others p50 s | others longest s | the tenant's last s | requests for the tenant | left to the sweep |"
    yield "|---|---:|---:|---:|---:|---:|"
    for said, crowded in (("without shares", timedelta(days=1)), ("with shares", None)):
        found = play(300, crowded=crowded)
        others = sorted(found.others)
        row = [said, f"{others[len(others) // 2]:.0f}", f"{others[-1]:.0f}", f"{max(found.flood):.0f}"]
        yield f"| {' | '.join([*row, f'{found.requests:,}', f'{found.left}'])} |"

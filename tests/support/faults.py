"""How a request to the store goes wrong: the process dies at it, or gets an error."""

from dataclasses import dataclass
from typing import Protocol

from tests.support.counting import CountingClient

LATER = 20 * 60
"""Seconds after which every lease of a dead process has run out."""


class HasClient(Protocol):
    """A world, or an actor."""

    client: CountingClient


@dataclass(frozen=True)
class Fault:
    """How a request goes wrong. `done`: the store did it, but the answer got lost."""

    name: str
    done: bool
    code: str | None = None
    status: int = 0

    def arm(self, one: HasClient, point: int) -> None:
        """Let it happen at request `point` of a world's present process, or of an actor."""
        if self.code is None:
            one.client.kill_at(point, done=self.done)
        else:
            one.client.break_at(point, self.code, self.status, done=self.done)


KILLS = (Fault("killed before", done=False), Fault("killed after", done=True))
ERRORS = (
    Fault("409 conflict", done=False, code="ConditionalRequestConflict", status=409),
    Fault("412 on a write that happened", done=True, code="PreconditionFailed", status=412),
    Fault("412 on a write that did not", done=False, code="PreconditionFailed", status=412),
    Fault("500", done=False, code="InternalError", status=500),
    Fault("500 on a request that happened", done=True, code="InternalError", status=500),
    Fault("503 slow down", done=False, code="SlowDown", status=503),
)
FAULTS = (*KILLS, *ERRORS)

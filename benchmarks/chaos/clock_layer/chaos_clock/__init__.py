"""Gives each function environment of the benchmark a clock of its own, minutes apart from the others.

The benchmark's template has this folder as a further layer, so the local runtime imports it once before it forks
environments. What it moves is the service's one clock (livemem/clock.py: `now`, and the time in new ids); requests to
the store stay signed with the real time.
"""

import os
import random
from datetime import datetime, timedelta, tzinfo
from typing import Any

VARIABLE = "CHAOS_CLOCK_MINUTES"
"""By how much a clock may be off, either way."""


class _Offset:
    """Of this process."""

    seconds: float = 0.0

    def draw(self, most: float) -> None:
        # Whole distances are worth more than small ones: a third of the clocks are right, the others off by all of it.
        self.seconds = random.SystemRandom().choice((-most, 0.0, most))


OFFSET = _Offset()


class _Shifted:
    """Stands for `datetime` in livemem/clock.py."""

    @staticmethod
    def now(zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + timedelta(seconds=OFFSET.seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime, name)


def _move(most: float) -> None:
    from ulid import ULID as plain  # noqa: N811, PLC0415 - the layer below is on the path of an environment only

    from livemem import clock  # noqa: PLC0415

    class Shifted:
        """Stands for `ULID`."""

        def __new__(cls) -> Any:
            return plain.from_datetime(_Shifted.now().astimezone())

        from_str = staticmethod(plain.from_str)

    setattr(clock, "datetime", _Shifted())  # noqa: B010 - no type of the clock's knows of it
    setattr(clock, "ULID", Shifted)  # noqa: B010
    os.register_at_fork(after_in_child=lambda: OFFSET.draw(most))


if float(os.environ.get(VARIABLE) or 0):
    _move(60 * float(os.environ[VARIABLE]))

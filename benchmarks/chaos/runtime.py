"""`python -m local` with a clock that is minutes off: each life of the runtime draws its own.

What it moves is the service's one clock (livemem/clock.py: `now`, and the time in new ids); requests to the store stay
signed with the real time.
"""

import os
import random
import sys
from datetime import datetime, timedelta, tzinfo
from typing import Any

VARIABLE = "CHAOS_CLOCK_MINUTES"
"""By how much the clock may be off, either way."""


class _Shifted:
    """Stands for `datetime` in livemem/clock.py."""

    def __init__(self, seconds: float) -> None:
        self._off = timedelta(seconds=seconds)

    def now(self, zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + self._off

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime, name)


def move_clock(minutes: float) -> None:
    """Set the clock of this process. Whole distances are worth more than small ones: a third of the clocks are right,
    the others off by all of it.
    """
    from ulid import ULID as plain  # noqa: N811, PLC0415 - the layer is on the path by now

    import local  # noqa: F401, PLC0415
    from livemem import clock  # noqa: PLC0415

    shifted = _Shifted(random.SystemRandom().choice((-60 * minutes, 0.0, 60 * minutes)))

    class Shifted:
        """Stands for `ULID`."""

        def __new__(cls) -> Any:
            return plain.from_datetime(shifted.now().astimezone())

        from_str = staticmethod(plain.from_str)

    setattr(clock, "datetime", shifted)  # noqa: B010 - no type of the clock's knows of it
    setattr(clock, "ULID", Shifted)  # noqa: B010


if __name__ == "__main__":
    from local.__main__ import main

    move_clock(float(os.environ.get(VARIABLE) or 0))
    sys.exit(main())

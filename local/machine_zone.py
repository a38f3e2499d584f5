"""The time zone of this machine, by its IANA name."""

from collections.abc import Mapping
from contextlib import suppress
from zoneinfo import ZoneInfo

import tzlocal

UNKNOWN = "UTC"
"""Also what POSIX says of a machine that names none."""


def of_machine(variables: Mapping[str, str]) -> str:
    """The name that `TZ` says, else the one of the system's settings; `UTC` where neither tells it.

    A `TZ` in the form of POSIX (`CET-1CEST`) is no name.
    """
    names = [variables.get("TZ", "").removeprefix(":")]
    # Settings that contradict each other name none.
    with suppress(LookupError, ValueError, OSError):
        names.append(tzlocal.get_localzone_name() or "")
    return next(filter(_is_zone, names), UNKNOWN)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return bool(name)

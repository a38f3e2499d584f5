"""The time zone of this machine, by its IANA name."""

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

LOCALTIME = Path("/etc/localtime")
UNKNOWN = "UTC"
"""Also what POSIX says of a machine that names none."""


def of_machine(variables: Mapping[str, str], localtime: Path = LOCALTIME) -> str:
    """The name that `TZ` says, else the one that /etc/localtime links to (localtime(5)); `UTC` where neither tells it.

    A `TZ` in the form of POSIX (`CET-1CEST`) is no name, and a file that was copied has none.
    """
    linked = str(localtime.resolve()) if localtime.is_symlink() else ""
    named = (variables.get("TZ", "").removeprefix(":"), linked.partition("/zoneinfo/")[2])
    return next((name for name in named if _is_zone(name)), UNKNOWN)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return bool(name)

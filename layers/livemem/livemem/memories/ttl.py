"""The time to live of a memory: `30m`, `12h`, `7d`, `2w`, `1y`, or for ever."""

import re
from datetime import datetime, timedelta

from livemem.errors import InvalidRequest

_TTL = re.compile(r"([1-9][0-9]{0,3})([mhdwy])")
UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
RULE = "must be a whole number from 1 to 9999 and one of m, h, d, w, y (minutes to years), such as 30m or 7d"


def parse(text: str, field: str = "ttl") -> timedelta:
    """The time that a text means. A year has 365 days.

    Raises InvalidRequest: a mistake never makes a memory permanent.
    """
    match = _TTL.fullmatch(text)
    if not match:
        raise InvalidRequest.of(field, RULE)
    return int(match[1]) * UNITS[match[2]]


def until(ttl: str | None, now: datetime, field: str = "ttl") -> datetime | None:
    """When a memory that is stored now expires; None: never. Raises InvalidRequest."""
    if ttl is None:
        return None
    life = parse(ttl, field)
    try:
        return now + life
    except OverflowError:
        raise InvalidRequest.of(field, "ends after the year 9999: send null for a memory that never expires") from None

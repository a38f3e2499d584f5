"""Time and ids: UTC everywhere, ISO 8601 with `Z` in documents, ULIDs for runs and spaces."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo

from ulid import ULID

Clock = Callable[[], datetime]

ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9][A-Za-z0-9_+-]{0,31}){0,2}")
"""The shape of the name of a time zone (IANA)."""


def now() -> datetime:
    """The present time, UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """`2026-02-20T14:00:00Z`: whole seconds, UTC."""
    # strftime pads years before 1000 on some systems only.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def iso_millis(moment: datetime) -> str:
    """`2026-02-20T14:00:00.123Z`: for times that are subtracted from each other."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse(text: str) -> datetime:
    """The moment of an ISO 8601 text. Without an offset it is taken as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time outside of the years 1 to 9999") from None


def parse_bound(text: str, *, last: bool = False) -> datetime:
    """The moment of an ISO 8601 text (`parse`). Of a day its first or `last` one, without a time zone, which `in_zone`
    gives it. Raises ValueError.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return parse(text)
    # Where clocks are set back at midnight, a day ends with the second one.
    return datetime.combine(day, time.max, None).replace(fold=1) if last else datetime.combine(day, time.min, None)


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The moment in UTC. One without a time zone is of this one."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        # On the first or the last day that there is.
        return moment.replace(tzinfo=UTC)


def new_id() -> str:
    """A new ULID: 26 characters that sort by time."""
    return str(ULID())


def id_time(ulid: str) -> datetime:
    """When the ULID was made. Raises ValueError."""
    return ULID.from_str(ulid).datetime


def zone(name: str) -> ZoneInfo:
    """The time zone of an IANA name such as `Europe/Paris`. Raises ValueError."""
    if not ZONE.fullmatch(name):
        raise ValueError("no name of a time zone")
    try:
        return ZoneInfo(name)
    except (KeyError, OSError) as error:
        # A folder of the database is no time zone, and a missing name is none either.
        raise ValueError("an unknown time zone") from error

"""Schedule expressions of EventBridge, `rate(...)` and `cron(...)`, and when a cron expression comes next.

croniter knows the calendar. AWS has `?` and days of the week from 1 = Sunday, which are translated here. croniter works
on the time of the wall clock, and the two changes of the clock are dealt with here.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import CroniterBadCronError, croniter

from livemem import clock

_RATE = re.compile(r"^rate\(\s*(\d{1,9})\s+(minute|hour|day)s?\s*\)$", re.ASCII)
_CRON = re.compile(r"^cron\(([^()]*)\)$")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# Between two fifth Sundays of a February there may be 40.
_YEARS = 50
# Of an expression, as the API of EventBridge Scheduler has it.
_LONGEST = 256


@dataclass(frozen=True)
class Rate:
    """So often, beginning soon after the start."""

    seconds: float


@dataclass(frozen=True)
class Cron:
    """At these times of the wall clock in a time zone. `pattern` is croniter's."""

    pattern: str
    zone: ZoneInfo


def read_expression(text: str, timezone: str = "UTC") -> Rate | Cron:
    """Read `rate(n minutes|hours|days)` or `cron(...)` with six fields, as EventBridge documents them.

    `timezone` is an IANA name, for cron. Raises ValueError, whose text says what is wrong.
    """
    try:
        zone = clock.zone(timezone)
    except ValueError as error:
        raise ValueError(f"{timezone[:80]!r} is no time zone of the IANA database, like Europe/Paris") from error
    if len(text) > _LONGEST:
        raise ValueError(f"a schedule expression has at most {_LONGEST} characters")
    if (rate := _RATE.match(text)) and int(rate[1]):
        return Rate(int(rate[1]) * _SECONDS[rate[2]])
    if (found := _CRON.match(text)) is None:
        raise ValueError(f"{text!r} is neither rate(n minutes|hours|days) nor cron(...) with six fields")
    pattern = _translate(found[1])
    try:
        croniter.expand(pattern, strict=True)
    except (CroniterBadCronError, ValueError) as error:
        raise ValueError(f"{text} has a field that is wrong, or days that never come: {error}") from error
    return Cron(pattern, zone)


def next_time(cron: Cron, after: datetime) -> datetime | None:
    """The first moment behind `after` (aware) at which a cron expression comes, in UTC; None when there is none left.

    As EventBridge Scheduler documents it: a time that the clock skips when it is put forward is skipped, and one that
    it shows twice when it is put back comes once (here the first time).
    """
    begin = after.astimezone(cron.zone).replace(tzinfo=None)
    # With its bound given, croniter ends where nothing follows instead of raising.
    for wall in croniter(cron.pattern, begin, max_years_between_matches=_YEARS).all_next(datetime):
        moment = wall.replace(tzinfo=cron.zone).astimezone(UTC)
        exists = moment.astimezone(cron.zone).replace(tzinfo=None) == wall
        # In an hour that comes twice the clock shows again what it has shown.
        if exists and moment > after:
            return moment
    return None


def _translate(expression: str) -> str:
    """The six fields of AWS as croniter wants them: Sunday is 0, the seconds before the year. Raises ValueError."""
    fields = expression.upper().split()
    if len(fields) != 6:
        raise ValueError(
            f"cron({expression}) has {len(fields)} fields; it takes six: minutes, hours, day of month, ..."
        )
    if (fields[2] == "?") == (fields[4] == "?"):
        raise ValueError(f"cron({expression}): of day of month and day of week exactly one has to be ?")
    for place, names in ((3, _MONTHS), (4, _DAYS)):
        for number, name in enumerate(names, 1):
            fields[place] = fields[place].replace(name, str(number))
    if not all(re.fullmatch(r"[\d*,/#?LW-]+", field, re.ASCII) for field in fields):
        raise ValueError(f"cron({expression}) has a sign or a name that its field does not take")
    *first, weekday, year = (re.sub(r"(\d+)-(\d+)", _span, field) for field in fields)
    # Neither which of a month's days it is, nor a step.
    weekday = re.sub(r"(?<![#/\d])\d+", _day, "7" if weekday == "L" else weekday)
    weekday = re.sub(r"^(\d)L$", r"L\1", weekday)
    return " ".join((*first, weekday, "0", year)).replace("?", "*")


def _span(span: re.Match[str]) -> str:
    """croniter goes over the end of a field where a span goes backwards, and all around it where it is one number."""
    if int(span[1]) > int(span[2]):
        raise ValueError(f"{span[0]!r} goes backwards")
    return span[1] if span[1] == span[2] else span[0]


def _day(number: re.Match[str]) -> str:
    if not 1 <= int(number[0]) <= len(_DAYS):
        raise ValueError(f"{number[0]!r} is no day of the week (1-7 or SUN-SAT)")
    return str(int(number[0]) - 1)

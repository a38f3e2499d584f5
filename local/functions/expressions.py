"""Schedule expressions of EventBridge, `rate(...)` and `cron(...)`, and when a cron expression comes next.

The fields are read here, since AWS has rules of its own (a year, `?`, days of the week from 1 = Sunday); croniter then
knows the calendar. It works on the time of the wall clock, and the two changes of the clock are dealt with here.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import CroniterBadCronError, croniter

_RATE = re.compile(r"^rate\(\s*(\d{1,9})\s+(minute|hour|day)s?\s*\)$", re.ASCII)
_CRON = re.compile(r"^cron\(([^()]*)\)$")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# The last year that croniter takes; EventBridge goes on to 2199.
_LAST_YEAR = 2099
# Between two fifth Sundays of a February there may be 40.
_YEARS = 50
# Of an expression, as the API of EventBridge Scheduler has it.
_LONGEST = 256


@dataclass(frozen=True)
class Rate:
    """So often, beginning soon after the start."""

    seconds: int


@dataclass(frozen=True)
class Cron:
    """At these times of the wall clock in a time zone."""

    expression: str
    zone: ZoneInfo

    @cached_property
    def pattern(self) -> str:
        """The same for croniter: numbers only, Sunday is 0, and seconds before the year."""
        return _translate(self.expression)


@dataclass(frozen=True)
class _Field:
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()
    steps: bool = True


_FIELDS = (
    _Field("minutes", 0, 59),
    _Field("hours", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 1, 7, _DAYS, steps=False),
    _Field("year", 1970, 2199),
)


def read_expression(text: str, timezone: str = "UTC") -> Rate | Cron:
    """Read `rate(n minutes|hours|days)` or `cron(...)` with six fields, as EventBridge documents them.

    Args:
        text: the expression.
        timezone: an IANA name, for cron.
    Raises:
        ValueError: the expression is neither, or can never come, or nobody knows the time zone; the text says which.
    """
    zone = _read_zone(timezone)
    if len(text) > _LONGEST:
        raise ValueError(f"a schedule expression has at most {_LONGEST} characters")
    if (rate := _RATE.match(text)) and int(rate[1]):
        return Rate(int(rate[1]) * _SECONDS[rate[2]])
    if (found := _CRON.match(text)) is None:
        raise ValueError(f"{text!r} is neither rate(n minutes|hours|days) nor cron(...) with six fields")
    cron = Cron(found[1], zone)
    try:
        croniter.expand(cron.pattern, strict=True)
    except CroniterBadCronError as error:
        raise ValueError(f"{text!r} can never come: there is no such day in these months") from error
    return cron


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


def _read_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name[:80]!r} is no time zone of the IANA database, like Europe/Paris") from error


def _translate(expression: str) -> str:
    """Write the six fields of AWS as croniter wants them. Raises ValueError."""
    texts = expression.upper().split()
    if len(texts) != len(_FIELDS):
        raise ValueError(f"cron({expression}) has {len(texts)} fields; it takes six: minutes, hours, day of month, ...")
    minutes, hours, day, month, weekday, year = texts
    if (day == "?") == (weekday == "?"):
        raise ValueError(f"cron({expression}): of day of month and day of week exactly one has to be ?")
    fields = dict(zip((field.name for field in _FIELDS), _FIELDS, strict=True))
    years = [number for number in _numbers(fields["year"], year) if number <= _LAST_YEAR]
    if not years:
        raise ValueError(f"{year!r} is a year behind {_LAST_YEAR}, which the local runtime does not know")
    return " ".join(
        (
            _join(_numbers(fields["minutes"], minutes)),
            _join(_numbers(fields["hours"], hours)),
            "*" if day == "?" else _translate_day(fields["day of month"], day),
            _join(_numbers(fields["month"], month)),
            "*" if weekday == "?" else _translate_weekday(fields["day of week"], weekday),
            "0",
            _join(years),
        )
    )


def _translate_day(field: _Field, text: str) -> str:
    if text == "L":
        return text
    if text.endswith("W"):
        return f"{_number(field, text[:-1], text)}W"
    return _join(_numbers(field, text))


def _translate_weekday(field: _Field, text: str) -> str:
    if text == "L":
        return "6"  # the last day of the week
    if text.endswith("L"):
        return f"L{_number(field, text[:-1], text) - 1}"
    if "#" in text:
        day, _, which = text.partition("#")
        if which not in {"1", "2", "3", "4", "5"}:
            raise _wrong(field, text)
        return f"{_number(field, day, text) - 1}#{which}"
    return _join([number - 1 for number in _numbers(field, text)])


def _numbers(field: _Field, text: str) -> list[int]:
    """All numbers that a field without `L`, `W`, `#` and `?` stands for."""
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if slash and (not field.steps or not re.fullmatch(r"0*[1-9][0-9]{0,3}", step)):
            raise _wrong(field, text)
        if first == "*" and not dash:
            low, high = field.first, field.last
        else:
            low = _number(field, first, text)
            high = _number(field, last, text) if dash else field.last if slash else low
        if low > high:
            raise _wrong(field, text)
        found.update(range(low, high + 1, int(step or 1)))
    return sorted(found)


def _number(field: _Field, text: str, whole: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.first
    if not re.fullmatch(r"[0-9]{1,4}", text) or not field.first <= int(text) <= field.last:
        raise _wrong(field, whole)
    return int(text)


def _wrong(field: _Field, text: str) -> ValueError:
    names = f" or {field.names[0]}-{field.names[-1]}" if field.names else ""
    return ValueError(f"{text!r} is no {field.name} of a cron expression ({field.first}-{field.last}{names})")


def _join(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))

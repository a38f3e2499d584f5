import calendar
import re
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.functions.expressions import Cron, Rate, next_time, read_expression
from tests.support.cases import each

# Days on which the clock changes: forward and back, by an hour and by half of one; and a zone where it never does.
CHANGES = [
    ("Europe/Paris", datetime(2027, 3, 28, 1, tzinfo=UTC)),
    ("Europe/Paris", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 3, 14, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2027, 4, 3, 15, tzinfo=UTC)),
    ("UTC", datetime(2027, 3, 28, 1, tzinfo=UTC)),
]
DAYS = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]


def cron(fields: str, zone: str = "UTC") -> Cron:
    found = read_expression(f"cron({fields})", zone)
    assert isinstance(found, Cron)
    return found


def walls(fields: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times as the clock on the wall shows them, with the offset from UTC."""
    found, moment = [], datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    for _ in range(count):
        moment = next_time(cron(fields, zone), moment) or pytest.fail("nothing follows")
        found.append(moment.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes"))
    return found


@cache
def minutes_around(zone: str, change: datetime) -> list[tuple[datetime, datetime]]:
    """Each minute of three days with what the clock shows, without those that it shows for the second time."""
    start = change - timedelta(hours=36)
    moments = [start + timedelta(minutes=n) for n in range(72 * 60)]
    shown = [(moment, moment.astimezone(ZoneInfo(zone))) for moment in moments]
    return [(moment, wall) for moment, wall in shown if wall.fold == 0]


@st.composite
def fields_of_numbers(draw, first: int, last: int, named_to: int | None = None):
    """The text of a field that names numbers up to `named_to`, and the numbers that it stands for."""
    named = st.integers(first, named_to or last)
    low, high = sorted((draw(named), draw(named)))
    step = draw(st.integers(1, 20))
    return draw(
        st.sampled_from(
            [
                ("*", set(range(first, last + 1))),
                (f"{low}", {low}),
                (f"{low},{high}", {low, high}),
                (f"{low}-{high}", set(range(low, high + 1))),
                (f"*/{step}", set(range(first, last + 1, step))),
                (f"{low}/{step}", set(range(low, last + 1, step))),
                (f"{high},{low}-{high}/{step}", {high, *range(low, high + 1, step)}),
            ]
        )
    )


@given(
    around=st.sampled_from(CHANGES),
    minutes=fields_of_numbers(0, 59),
    hours=fields_of_numbers(0, 23, named_to=4),
    offset=st.integers(-6 * 3600, 6 * 3600),
)
def test_the_next_time_is_the_first_minute_whose_wall_clock_fits_around_every_change_of_the_clock(
    around, minutes, hours, offset
):
    zone, change = around
    after = change + timedelta(seconds=offset)
    fitting = (
        moment
        for moment, wall in minutes_around(zone, change)
        if moment > after and wall.minute in minutes[1] and wall.hour in hours[1]
    )
    found = next_time(cron(f"{minutes[0]} {hours[0]} * * ? *", zone), after)
    assert found > after
    assert found == next(fitting, found)


def is_nearest_weekday(day: date, wanted: int) -> bool:
    """By trying: of the month's days from Monday to Friday the nearest to a day that the month has."""
    length = calendar.monthrange(day.year, day.month)[1]
    workdays = [n for n in range(1, length + 1) if day.replace(day=n).weekday() < 5]
    return wanted <= length and day.day == min(workdays, key=lambda n: abs(n - wanted))


@st.composite
def kinds_of_days(draw):
    """The texts of day of month and day of week, and which days they mean."""
    numbers, chosen = draw(fields_of_numbers(1, 31))
    names, week = draw(fields_of_numbers(1, 7).filter(lambda field: "/" not in field[0]))
    day, weekday, which = draw(st.integers(1, 31)), draw(st.integers(0, 6)), draw(st.integers(1, 5))
    number = (weekday + 1) % 7 + 1  # of AWS, from 1 = Sunday; Python has 0 = Monday
    name = draw(st.sampled_from([str(number), DAYS[weekday], DAYS[weekday].lower()]))
    return draw(
        st.sampled_from(
            [
                (numbers, "?", lambda d: d.day in chosen),
                ("L", "?", lambda d: (d + timedelta(days=1)).day == 1),
                (f"{day}W", "?", lambda d: is_nearest_weekday(d, day)),
                ("?", names, lambda d: (d.weekday() + 1) % 7 + 1 in week),
                ("?", name, lambda d: d.weekday() == weekday),
                ("?", "L", lambda d: d.weekday() == 5),
                ("?", f"{name}L", lambda d: d.weekday() == weekday and (d + timedelta(days=7)).month != d.month),
                ("?", f"{name}#{which}", lambda d: d.weekday() == weekday and (d.day + 6) // 7 == which),
            ]
        )
    )


@given(days=kinds_of_days(), months=fields_of_numbers(1, 12), start=st.dates(date(2026, 1, 1), date(2027, 12, 31)))
def test_the_next_day_is_the_first_that_fits_and_none_is_passed_over(days, months, start):
    day, weekday, fits = days
    try:
        found = next_time(cron(f"0 0 {day} {months[0]} {weekday} *"), datetime.combine(start, time(), UTC))
    except ValueError:
        found = None  # the 31st of months that have none
    later = (start + timedelta(days=n) for n in range(1, 800))
    expected = next((d for d in later if d.month in months[1] and fits(d)), None)
    assert expected is None or (found is not None and found.date() == expected)
    assert expected is not None or found is None or found.date() >= start + timedelta(days=800)


def test_a_time_that_the_clock_leaves_out_is_skipped():
    found = walls("30 2 * * ? *", "2027-03-27T00:00", 2, "Europe/Paris")
    assert found == ["2027-03-27T02:30+01:00", "2027-03-29T02:30+02:00"]
    assert walls("15 2 * * ? *", "2026-10-04T00:00", 1, "Australia/Lord_Howe") == ["2026-10-05T02:15+11:00"]


def test_a_time_that_the_clock_shows_twice_comes_once():
    found = walls("30 2 * * ? *", "2026-10-24T12:00", 2, "Europe/Paris")
    assert found == ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    found = walls("0/30 * * * ? *", "2026-10-25T02:10", 3, "Europe/Paris")
    assert found == ["2026-10-25T02:30+02:00", "2026-10-25T03:00+01:00", "2026-10-25T03:30+01:00"]


def test_the_hour_of_a_daily_schedule_is_that_of_the_wall_clock_in_summer_and_in_winter():
    found = walls("0 2 * * ? *", "2026-06-30T00:00", 1, "Europe/Paris") + walls("0 2 1 1 ? *", "2026-06-30T00:00", 1)
    assert found == ["2026-06-30T02:00+02:00", "2027-01-01T02:00+00:00"]


@each(
    ("fields", "expected"),
    [
        ("0 2 * * ? 2027/2", ["2027-01-01T02:00+00:00", "2027-01-02T02:00+00:00"]),
        ("0 0 29 2 ? *", ["2028-02-29T00:00+00:00", "2032-02-29T00:00+00:00"]),
        ("0 0 ? 2 SUN#5 *", ["2032-02-29T00:00+00:00", "2060-02-29T00:00+00:00"]),
        ("0 8 ? FEB,MAR MON-TUE,fri 2027,2030-2031", ["2027-02-01T08:00+00:00", "2027-02-02T08:00+00:00"]),
        ("59 23 5-5 * ? *", ["2026-12-05T23:59+00:00", "2027-01-05T23:59+00:00"]),
        ("  0\t2  L * ?   * ", ["2026-11-30T02:00+00:00", "2026-12-31T02:00+00:00"]),
    ],
)
def test_the_fields_are_those_of_eventbridge(fields, expected):
    assert walls(fields, "2026-11-21T04:05", 2) == expected


def test_an_expression_whose_years_are_over_never_comes():
    assert next_time(cron("0 2 * * ? 2020-2025"), datetime(2026, 11, 21, tzinfo=UTC)) is None
    assert next_time(cron("0 2 31 12 ? 2026"), datetime(2026, 12, 31, 2, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("rate(1 minute)", 60), ("rate( 2  hours)", 7200), ("rate(1 day)", 86400)]
)
def test_a_rate_is_a_number_of_seconds(text, seconds):
    assert read_expression(text, "Europe/Paris") == Rate(seconds)


@each(
    ("text", "says"),
    [
        ("rate(0 minutes)", "neither rate"),
        ("rate(1 week)", "neither rate"),
        ("at(2026-11-21T04:05:06)", "neither rate"),
        ("@daily", "neither rate"),
        ("0 2 * * ? *", "neither rate"),
        ("cron(0 2 * * ? *", "neither rate"),
        ("cron(0 2 * * *)", "has 5 fields"),
        ("cron(0 0 2 * * ? *)", "has 7 fields"),
        ("cron(0 2 * * * *)", "exactly one has to be ?"),
        ("cron(0 2 ? * ? *)", "exactly one has to be ?"),
        ("cron(0 2 1 * MON *)", "exactly one has to be ?"),
        ("cron(60 2 * * ? *)", "out of range"),
        ("cron(0 24 * * ? *)", "out of range"),
        ("cron(-1 2 * * ? *)", "negative"),
        ("cron(5-1 2 * * ? *)", "goes backwards"),
        ("cron(*/0 2 * * ? *)", "step '0'"),
        ("cron(*/ 2 * * ? *)", "[*/ 2"),
        ("cron(*-5 2 * * ? *)", "[*-5 2"),
        ("cron(1,,2 2 * * ? *)", "[1,,2"),
        ("cron(R 2 * * ? *)", "does not take"),
        ("cron(\u0663 2 * * ? *)", "does not take"),
        ("cron(0 2 0 * ? *)", "out of range"),
        ("cron(0 2 32W * ? *)", "out of range"),
        ("cron(0 2 W * ? *)", "not acceptable"),
        ("cron(0 2 1,15W * ? *)", "not acceptable"),
        ("cron(0 2 LW * ? *)", "not acceptable"),
        ("cron(0 2 ? * 0 *)", "no day of the week"),
        ("cron(0 2 ? * 8 *)", "(1-7 or SUN-SAT)"),
        ("cron(0 2 ? * SAT-MON *)", "goes backwards"),
        ("cron(0 2 ? * MON#6 *)", "not acceptable"),
        ("cron(0 2 * 13 ? *)", "out of range"),
        ("cron(0 2 * SUN ? *)", "does not take"),
        ("cron(0 2 * * ? 1969)", "out of range"),
        ("cron(0 2 * * ? 2200)", "out of range"),
        ("cron(0 2 * * ? 2150)", "out of range"),
        ("cron(0 2 31 2,4 ? *)", "can never occur"),
        ("cron(0 2 " + "1," * 200 + "1 * ? *)", "at most 256 characters"),
    ],
)
def test_a_wrong_expression_is_told_in_words(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        read_expression(text)


@each("name", ["Paris", "europe/paris/x", "", "..", "/etc/passwd", "Europe", "../UTC", "a\0b", "x" * 300])
def test_a_zone_that_nobody_knows_is_told_in_words(name):
    with pytest.raises(ValueError, match="no time zone of the IANA database"):
        read_expression("rate(1 day)", name)

"""When digests are due: fixed hours of a zone, also on the days on which its clocks change."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from livemem.rooms import digest_times
from tests.support.cases import each


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


HOURS = (2, 6, 10, 14, 18, 22)
ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "Pacific/Kiritimati"]
MOMENTS = st.integers(0, 60 * 365 * 24 * 60).map(lambda minutes: utc(2000, 1, 1) + timedelta(minutes=minutes))
SETS = st.sets(st.integers(0, 23), min_size=1).map(lambda hours: tuple(sorted(hours)))
zones = st.sampled_from(ZONES).map(ZoneInfo)


@given(zones, st.dates(date(2000, 1, 1), date(2060, 1, 1)), SETS)
def test_the_slots_of_a_day_are_distinct_in_order_and_those_of_its_hours(zone, day, hours):
    found = digest_times.of_day(day, zone, hours)

    assert found == sorted(set(found))
    assert 1 <= len(found) <= len(hours)
    # Only on a day on which clocks change may an hour be missing: then two may be one moment.
    changes = datetime(day.year, day.month, day.day, tzinfo=zone).utcoffset() != (
        datetime(day.year, day.month, day.day, 23, 59, tzinfo=zone).utcoffset()
    )
    if not changes:
        assert [slot.astimezone(zone).hour for slot in found] == list(hours)


@given(zones, MOMENTS, SETS)
def test_the_latest_slot_is_past_and_the_next_one_is_to_come_and_none_is_between(zone, now, hours):
    last, coming = digest_times.latest(now, zone, hours), digest_times.following(now, zone, hours)

    assert last <= now < coming
    assert coming - last <= timedelta(hours=26)
    assert digest_times.latest(coming, zone, hours) == coming
    assert digest_times.following(last, zone, hours) == coming
    assert digest_times.latest(coming - timedelta(microseconds=1), zone, hours) == last


@given(zones, MOMENTS, st.timedeltas(timedelta(), timedelta(days=3)))
def test_the_latest_slot_never_goes_back(zone, now, later):
    assert digest_times.latest(now, zone, HOURS) <= digest_times.latest(now + later, zone, HOURS)


def test_a_missing_two_oclock_in_paris_is_one_oclock_utc():
    paris = ZoneInfo("Europe/Paris")
    found = digest_times.of_day(date(2026, 3, 29), paris, HOURS)

    assert found[:3] == [utc(2026, 3, 29, 1), utc(2026, 3, 29, 4), utc(2026, 3, 29, 8)]
    assert digest_times.latest(utc(2026, 3, 29, 1), paris, HOURS) == utc(2026, 3, 29, 1)
    # From 22:00 of the day before it is four hours, to 06:00 only three.
    assert digest_times.latest(utc(2026, 3, 29, 0, 59), paris, HOURS) == utc(2026, 3, 28, 21)


def test_a_two_oclock_that_comes_twice_in_paris_comes_once():
    paris = ZoneInfo("Europe/Paris")
    found = digest_times.of_day(date(2026, 10, 25), paris, HOURS)

    assert found[:2] == [utc(2026, 10, 25, 0), utc(2026, 10, 25, 5)]
    for minutes in range(0, 300, 10):
        assert digest_times.latest(utc(2026, 10, 25) + timedelta(minutes=minutes), paris, HOURS) == utc(2026, 10, 25)


@each(
    ("zone", "day", "first"),
    [
        ("America/New_York", date(2026, 3, 8), utc(2026, 3, 8, 7)),
        ("America/New_York", date(2026, 11, 1), utc(2026, 11, 1, 7)),
        # Clocks change by half an hour there.
        ("Australia/Lord_Howe", date(2026, 4, 5), utc(2026, 4, 4, 15, 30)),
        ("Australia/Lord_Howe", date(2026, 10, 4), utc(2026, 10, 3, 15, 30)),
        ("Asia/Kolkata", date(2026, 3, 29), utc(2026, 3, 28, 20, 30)),
    ],
)
def test_the_first_slot_of_a_day_elsewhere(zone, day, first):
    found = digest_times.of_day(day, ZoneInfo(zone), HOURS)

    assert found[0] == first
    assert len(found) == len(HOURS)


def test_two_hours_that_are_one_moment_are_one_slot():
    assert digest_times.of_day(date(2026, 3, 29), ZoneInfo("Europe/Paris"), (2, 3)) == [utc(2026, 3, 29, 1)]


def test_a_day_that_a_zone_left_out_has_no_slots_of_its_own():
    apia = ZoneInfo("Pacific/Apia")

    assert digest_times.following(utc(2011, 12, 30, 9, 59), apia, (0,)) == utc(2011, 12, 30, 10)
    assert digest_times.following(utc(2011, 12, 30, 10), apia, (0,)) == utc(2011, 12, 31, 10)

"""Times are UTC in one form, and no text makes the clock fail otherwise than by ValueError."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import example, given
from hypothesis import strategies as st

from livemem import clock
from tests.support.cases import each

OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(timezones=OFFSETS).filter(lambda moment: 1 < moment.year < 9999)


@given(MOMENTS)
def test_a_written_time_is_read_back_to_the_second(moment: datetime):
    text = clock.iso(moment)

    assert len(text) == len("2026-02-20T14:00:00Z")
    assert clock.parse(text) == moment.replace(microsecond=0)


@given(MOMENTS)
def test_a_time_with_milliseconds_is_read_back_and_is_never_later_than_the_moment(moment: datetime):
    text = clock.iso_millis(moment)

    assert len(text) == len("2026-02-20T14:00:00.123Z")
    assert timedelta(0) <= moment - clock.parse(text) < timedelta(milliseconds=1)


@given(MOMENTS, MOMENTS)
def test_written_times_sort_like_the_moments(one: datetime, other: datetime):
    if one < other:
        assert clock.iso_millis(one) <= clock.iso_millis(other)


@given(st.text() | MOMENTS.map(str))
@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
@example("2026-02-20")
@example("2026-W08-5")
def test_a_text_is_a_moment_in_utc_or_a_value_error(text: str):
    try:
        moment = clock.parse(text)
    except ValueError:
        return
    assert moment.utcoffset() == timedelta(0)
    clock.iso(moment)


@each(
    ("text", "moment"),
    [
        ("2026-02-20T14:00:00Z", datetime(2026, 2, 20, 14, tzinfo=UTC)),
        ("2026-02-20T14:00:00+02:00", datetime(2026, 2, 20, 12, tzinfo=UTC)),
        ("2026-02-20T14:00:00", datetime(2026, 2, 20, 14, tzinfo=UTC)),
        ("2026-02-20", datetime(2026, 2, 20, tzinfo=UTC)),
    ],
)
def test_a_time_without_an_offset_is_utc(text: str, moment: datetime):
    assert clock.parse(text) == moment


def test_ids_are_new_each_time_and_tell_when_they_were_made():
    before = clock.now() - timedelta(milliseconds=1)
    ids = {clock.new_id() for _ in range(1_000)}

    assert len(ids) == 1_000
    assert all(before <= clock.id_time(ulid) <= clock.now() for ulid in ids)

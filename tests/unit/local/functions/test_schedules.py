from datetime import UTC, datetime

from local.functions.schedules import build_scheduled_event
from local.functions.template import Schedule


def test_a_scheduled_event_has_the_shape_of_eventbridge():
    now = datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC)
    event = build_scheduled_event(Schedule("Often", 900), now)
    assert (event["source"], event["detail-type"], event["time"]) == (
        "aws.events",
        "Scheduled Event",
        "2026-11-21T04:05:06Z",
    )
    assert event["resources"] == ["arn:aws:events:us-east-1:123456789012:rule/Often"]
    assert build_scheduled_event(Schedule("Often", 900, "aws.scheduler"), now)["source"] == "aws.scheduler"
    assert build_scheduled_event(Schedule("Often", 900, payload='{"a": 1}'), now) == {"a": 1}

import threading
from datetime import UTC, datetime
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.functions.template import PutTrigger
from local.s3 import events
from local.s3.events import Notifier, Subscription, build_put_event
from local.store.client import Put

NOTES = Subscription("CounterFunction", PutTrigger("NoteWritten", suffix=".md"))
LIVE = Subscription("Other", PutTrigger("Live", prefix="space/live/", suffix=".md"))


def put(key: str, sequencer: int = 1) -> Put:
    return Put("bkt", key, 3, "abc", sequencer)


def test_an_event_has_the_shape_of_s3():
    record = build_put_event(put("a b/é+.md", 255), "NoteWritten", datetime(2026, 11, 21, 4, 5, 6, 7000, UTC))[
        "Records"
    ][0]
    assert (record["eventSource"], record["eventName"], record["eventVersion"]) == (
        "aws:s3",
        "ObjectCreated:Put",
        "2.1",
    )
    assert record["eventTime"] == "2026-11-21T04:05:06.007Z"
    assert record["s3"]["bucket"] == {
        "name": "bkt",
        "ownerIdentity": {"principalId": "local"},
        "arn": "arn:aws:s3:::bkt",
    }
    assert record["s3"]["object"] == {
        "key": "a+b/%C3%A9%2B.md",
        "size": 3,
        "eTag": "abc",
        "sequencer": "00000000000000FF",
    }
    assert record["s3"]["configurationId"] == "NoteWritten"


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_key_comes_back_from_an_event_as_handlers_read_it(key):
    record = build_put_event(put(key), "x", datetime.now(UTC))["Records"][0]
    assert unquote_plus(record["s3"]["object"]["key"]) == key


class Inbox:
    """Takes events after refusing the first `refusals`; an OSError or an HTTP status."""

    def __init__(self, *refusals):
        self.refusals, self.taken, self.change = list(refusals), [], threading.Condition()

    def __call__(self, function, body):
        with self.change:
            if self.refusals:
                refusal = self.refusals.pop(0)
                if isinstance(refusal, OSError):
                    raise refusal
                return refusal
            self.taken.append((function, body))
            self.change.notify_all()
        return 202

    def wait(self, count):
        with self.change:
            assert self.change.wait_for(lambda: len(self.taken) >= count, 5)


@pytest.fixture(autouse=True)
def no_delay(monkeypatch):
    monkeypatch.setattr(events, "_FIRST_DELAY", 0.001)


def test_only_subscribed_functions_are_told(tmp_path):
    inbox = Inbox()
    notifier = Notifier([NOTES, LIVE], tmp_path, inbox)
    notifier.start()
    for key in ("space/live/a.md", "space/_meta.json", "space/bank/b.md", "space/live/.keep"):
        notifier.announce(put(key))
    inbox.wait(3)
    assert [function for function, _ in inbox.taken] == ["CounterFunction", "Other", "CounterFunction"]


@pytest.mark.parametrize("refusal", [ConnectionRefusedError(), 503, 429])
def test_an_event_is_sent_until_it_is_taken(tmp_path, refusal):
    inbox = Inbox(refusal, refusal)
    notifier = Notifier([NOTES], tmp_path, inbox)
    notifier.start()
    notifier.announce(put("a.md"))
    inbox.wait(1)


def test_an_event_that_no_one_will_ever_take_does_not_hold_up_the_next(tmp_path):
    inbox = Inbox(404)
    notifier = Notifier([NOTES], tmp_path, inbox)
    notifier.start()
    notifier.announce(put("a.md"))
    notifier.announce(put("b.md"))
    inbox.wait(1)
    assert b"b.md" in inbox.taken[0][1]


def test_an_event_of_a_killed_server_is_sent_by_the_next(tmp_path):
    Notifier([NOTES], tmp_path, Inbox()).announce(put("a.md"))  # never started
    inbox = Inbox()
    Notifier([NOTES], tmp_path, inbox).start()
    inbox.wait(1)
    assert b"a.md" in inbox.taken[0][1]

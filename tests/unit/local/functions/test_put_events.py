import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock
from livemem_http.waiting import waited
from local.functions.put_events import PutEvents, build_record
from local.functions.template import Function, PutTrigger
from local.store.client import FileStore


def function(name: str, *triggers: PutTrigger) -> Function:
    return Function(name, name.lower(), Path(), "app.handler", 3, 128, 2, None, {}, (), triggers, ())


NIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)
LIVE = function("Live", PutTrigger("Live", prefix="space/live/", suffix=".md"))


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_key_comes_back_from_an_event_as_handlers_read_it(key):
    record = build_record("b", key)
    assert unquote_plus(record["s3"]["object"]["key"]) == key


def test_a_function_knows_from_an_event_how_long_the_put_has_waited(monkeypatch):
    moments = iter((NIGHT, NIGHT + timedelta(seconds=9)))
    monkeypatch.setattr(clock, "now", lambda: next(moments))
    record = build_record("b", "a.md")
    assert waited({"Records": [record]}) == timedelta(seconds=9)


def test_functions_are_told_of_the_puts_that_they_subscribed_to_and_of_nothing_else(tmp_path):
    told, due = [], []
    functions = [function("CounterFunction", PutTrigger("NoteWritten", suffix=".md")), function("None"), LIVE]
    events = PutEvents(functions, lambda *event: told.append(event), lambda _, call: due.append(call))
    store = FileStore(tmp_path, on_put=events.add)
    store.create_bucket(Bucket="b")
    for key in ("space/live/a b.md", "space/_meta.json", "space/bank/b.md", "space/live/.keep"):
        store.put_object(Bucket="b", Key=key, Body=b"note")
    store.copy_object(Bucket="b", Key="copy.md", CopySource={"Bucket": "b", "Key": "space/live/a b.md"})
    with pytest.raises(ClientError):
        store.put_object(Bucket="b", Key="copy.md", Body=b"", IfNoneMatch="*")
    store.delete_object(Bucket="b", Key="copy.md")
    (flush,) = due
    flush()
    flush()

    assert [name for name, _ in told] == ["CounterFunction", "Live"]
    both, live = ([record["s3"]["object"] for record in json.loads(event)["Records"]] for _, event in told)
    assert [record["key"] for record in both] == ["space/live/a+b.md", "space/bank/b.md"]
    assert [record["key"] for record in live] == ["space/live/a+b.md"]


def test_no_event_is_larger_than_the_disk_and_a_function_take_and_one_that_is_refused_costs_no_other(caplog):
    told, due = [], []

    def accept(_: str, event: bytes) -> None:
        told.append(len(json.loads(event)["Records"]))
        if len(told) == 1:
            raise OSError("disk full")

    events = PutEvents([LIVE], accept, lambda _, call: due.append(call))
    for number in range(250):
        events.add("b", f"space/live/{number}.md")
    due[0]()
    events.add("b", "space/live/later.md")
    due[1]()

    assert told == [100, 100, 50, 1]
    assert "Live: no event" in caplog.text

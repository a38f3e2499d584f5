import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from local.functions.put_events import announce, build_put_event
from local.functions.template import Function, PutTrigger
from local.store.client import FileStore, Put


def function(name: str, *triggers: PutTrigger) -> Function:
    return Function(name, name.lower(), Path(), "app.handler", 3, 128, 2, None, {}, (), (), triggers, ())


LIVE = function("Live", PutTrigger("Live", prefix="space/live/", suffix=".md"))


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


def test_functions_are_told_of_the_puts_that_they_subscribed_to_and_of_nothing_else(tmp_path):
    told = []
    functions = [function("CounterFunction", PutTrigger("NoteWritten", suffix=".md")), function("None"), LIVE]
    store = FileStore(tmp_path, on_put=lambda put: announce(put, functions, lambda *event: told.append(event)))
    store.create_bucket(Bucket="b")
    for key in ("space/live/a b.md", "space/_meta.json", "space/bank/b.md", "space/live/.keep"):
        store.put_object(Bucket="b", Key=key, Body=b"note")
    store.copy_object(Bucket="b", Key="copy.md", CopySource={"Bucket": "b", "Key": "space/live/a b.md"})
    with pytest.raises(ClientError):
        store.put_object(Bucket="b", Key="copy.md", Body=b"", IfNoneMatch="*")
    store.delete_object(Bucket="b", Key="copy.md")

    assert [name for name, _ in told] == ["CounterFunction", "Live", "CounterFunction"]
    records = [json.loads(event)["Records"][0]["s3"]["object"] for _, event in told]
    assert [record["key"] for record in records] == ["space/live/a+b.md", "space/live/a+b.md", "space/bank/b.md"]
    assert (records[0]["size"], records[0]["eTag"]) == (4, hashlib.md5(b"note").hexdigest())
    assert records[0]["sequencer"] < records[2]["sequencer"]

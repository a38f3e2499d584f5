"""The events that the local runtime builds have the shape of the samples in events/, which every other test reads."""

import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from local.front.httpd import Request
from local.front.payload import build_event
from local.functions.expressions import Rate
from local.functions.put_events import build_record
from local.functions.schedules import build_scheduled_event
from local.functions.template import Route, Schedule, read_template
from local.store.client import Put
from tests.support.cases import each

EVENTS = Path(__file__).resolve().parents[3] / "events"
NOW = datetime(2026, 2, 20, 14, tzinfo=UTC)
HTTP_SAMPLES = sorted(p.name for p in EVENTS.glob("*.json") if "routeKey" in json.loads(p.read_text()))


def sample(name: str) -> dict:
    return json.loads((EVENTS / name).read_text())


def shape(value):
    """Names and types, all the way down; not the names of things that are data themselves."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


@each("name", HTTP_SAMPLES)
def test_an_http_event_is_like_its_sample(name):
    expected = sample(name)
    method, path = expected["routeKey"].split(" ")
    query = urlencode(expected.get("queryStringParameters", {}))
    request = Request(
        method,
        expected["rawPath"] + (f"?{query}" if query else ""),
        tuple({"user-agent": "agent", **expected["headers"]}.items()),
        expected.get("body", "").encode(),
    )
    built = build_event(request, Route(method, path), expected.get("pathParameters", {}), NOW)
    if "user-agent" not in expected["headers"]:
        del built["headers"]["user-agent"]
    assert shape(built) == shape(expected)
    for key in ("routeKey", "rawPath", "pathParameters", "body", "isBase64Encoded", "queryStringParameters"):
        assert built.get(key) == expected.get(key)


def test_a_put_event_is_like_its_sample():
    expected = sample("counter-put.json")
    wanted = expected["Records"][0]["s3"]["object"]
    put = Put("live-memory", wanted["key"], wanted["size"], wanted["eTag"], 7)
    built = build_record(put, "notes")
    assert shape({"Records": [built]}) == shape(expected)
    assert built["s3"]["object"]["key"] == wanted["key"]


def test_a_scheduled_event_is_like_its_sample():
    assert shape(build_scheduled_event(Schedule("Sweep", Rate(900)), NOW)) == shape(sample("sweep-schedule.json"))
    told = {
        schedule.name: build_scheduled_event(schedule, NOW)
        for function in read_template(EVENTS.parent / "template.yaml").functions
        for schedule in function.schedules
        if schedule.payload
    }
    assert told == {"EveryDay": sample("sweep-all.json"), "EveryNight": sample("backup-nightly.json")}

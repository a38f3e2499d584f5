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
from tests.support.cases import each

EVENTS = Path(__file__).resolve().parents[3] / "events"
NOW = datetime(2026, 2, 20, 14, tzinfo=UTC)
HTTP_SAMPLES = sorted(p.name for p in EVENTS.glob("*.json") if "routeKey" in json.loads(p.read_text()))


def sample(name: str) -> dict:
    return json.loads((EVENTS / name).read_text())


def is_part(value, whole):
    """Whether what AWS sends has all names of a value, with its types, all the way down."""
    if isinstance(value, dict):
        return all(name in whole and is_part(inner, whole[name]) for name, inner in value.items())
    if isinstance(value, list):
        return all(is_part(inner, whole[0]) for inner in value)
    return type(value) is type(whole)


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
    built = build_event(request, Route(method, path), expected.get("pathParameters", {}))
    if "user-agent" not in expected["headers"]:
        del built["headers"]["user-agent"]
    assert is_part(built, expected)
    for key in ("routeKey", "rawPath", "pathParameters", "body", "isBase64Encoded", "queryStringParameters"):
        assert built.get(key) == expected.get(key)


def test_a_put_event_is_like_its_sample():
    expected = sample("counter-put.json")
    wanted = expected["Records"][0]["s3"]["object"]
    built = build_record("live-memory", wanted["key"])
    assert is_part({"Records": [built]}, expected)
    assert built["s3"]["object"]["key"] == wanted["key"]


def test_a_scheduled_event_is_like_its_sample():
    assert is_part(build_scheduled_event(Schedule("Sweep", Rate(900)), NOW), sample("sweep-schedule.json"))
    told = {
        schedule.name: build_scheduled_event(schedule, NOW)
        for function in read_template(EVENTS.parent / "template.yaml").functions
        for schedule in function.schedules
        if schedule.payload
    }
    assert told == {"EveryDay": sample("sweep-all.json"), "EveryNight": sample("backup-nightly.json")}

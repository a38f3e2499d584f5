"""Bodies and numbers beyond their bounds, and names that try to get out of their space: refused before anything is
read, on every route there is.
"""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from livemem import limits
from livemem.store.bucket import LAST_USED
from livemem_http import bodies
from scripts.openapi import load
from tests.support import front, hostile
from tests.support.cases import each
from tests.support.part import part
from tests.support.routes import ROUTES, VALUES, good
from tests.support.service import Service
from tests.support.tokens import REGISTRY, TOKEN, entry, write_registry

SPACE = "/v1/spaces/{space_id}"
SPACE_QUERY = "GET /v1/jobs"
NOTES = f"{SPACE}/notes"
NOTE = {"category": "todo", "content": "x"}
UNHEARD = {404, 413, 422}
"""What a name, a number or a size that is wrong may be answered with."""


@pytest.fixture
def guarded(service: Service) -> Service:
    """With a token that may do everything in every space: what it is refused is not refused for want of access."""
    write_registry(service, entry())
    return service


def asked(service: Service, function: str, event: dict[str, Any]) -> tuple[int, str, set[str]]:
    """Status and code of the answer, and the keys and prefixes that the bucket was asked for beside those of access."""
    service.recorder.asked.clear()
    answer = service.invoke(function, event)
    body = json.loads(answer["body"]) if answer["body"] else {}
    return answer["statusCode"], str(body.get("code", "")), beside_access(service)


def beside_access(service: Service) -> set[str]:
    """What the bucket was asked for, but for what says who asks."""
    return {key for key in service.recorder.keys() - {REGISTRY} if not key.startswith(LAST_USED.prefix())}


def places() -> Iterator[tuple[str, str, str]]:
    """Function, route and each name in its path."""
    for function, key in ROUTES:
        yield from ((function, key, name) for name in VALUES if f"{{{name}}}" in key or f"{{{name}+}}" in key)


PLACES = list(places())
HOSTILE = {"path": hostile.PATHS, "number": hostile.NUMBERS}


@pytest.mark.slow
def test_8_no_name_in_a_path_that_breaks_its_rule_makes_the_store_be_asked(guarded: Service):
    wrong = {}
    names = ((place, text) for place in PLACES for text in HOSTILE.get(place[2], hostile.NAMES))
    # No number of texts is a multiple of it: each is at other places.
    for (function, key, name), text in part(names, 10):
        status, code, keys = asked(guarded, function, good(key, TOKEN, **{name: text}))
        if status not in UNHEARD or code not in {"invalid_request", "route_not_found"} or keys:
            wrong[key, name, ascii(text[:30])] = (status, code, keys)

    assert wrong == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PLACES), st.text() | st.text("./\\%2eE fF0aA_-\x00md", min_size=1, max_size=12))
@example(PLACES[0], "..")
def test_8_whatever_stands_in_a_path_no_key_outside_of_the_space_is_asked_for(
    guarded: Service, place: tuple[str, str, str], text: str
):
    function, key, name = place

    status, _, keys = asked(guarded, function, good(key, TOKEN, **{name: text}))

    assert 400 <= status < 500
    space_id = text if name == "space_id" else VALUES["space_id"]
    home = tuple(f"{folder}{space_id}/" for folder in ("", "_backups/", "_exports/"))
    assert {asked for asked in keys if not asked.startswith((*home, "_system/capability-check/"))} == set()
    assert not [asked for asked in keys if ".." in asked.split("/")]


def test_8_names_in_queries_and_bodies_are_held_to_the_same_rules(guarded: Service):
    wrong = {}
    sent: list[tuple[str, str, dict[str, Any]]] = []
    for name in hostile.NAMES:
        cursor = base64.urlsafe_b64encode(name.encode(errors="surrogatepass")).decode().rstrip("=")
        sent += [
            ("backup", SPACE_QUERY, {"queryStringParameters": {"space_id": name}}),
            ("reads", "GET /v1/spaces", {"queryStringParameters": {"cursor": cursor}}),
            ("reads", f"GET {NOTES}", {"queryStringParameters": {"cursor": cursor}}),
            ("backup", "GET /v1/jobs", {"queryStringParameters": {"cursor": cursor}}),
            ("reads", f"GET {NOTES}", {"queryStringParameters": {"agent": name}}),
            ("backup", "POST /v1/spaces", {"body": json.dumps({"space_id": name})}),
        ]
    for function, key, changed in sent:
        status, code, keys = asked(guarded, function, good(key, TOKEN) | changed)
        if (status, code) != (422, "invalid_request") or keys:
            wrong[key, str(changed)[:80]] = (status, code, keys)

    assert wrong == {}


def test_8_what_names_a_moment_or_an_agent_leads_nowhere_else(guarded: Service):
    assert guarded.http("backup", "POST", "/v1/spaces", body={"space_id": "mine"})["statusCode"] == 201
    sent: list[tuple[str, str, dict[str, Any]]]
    sent = [("reads", f"GET {SPACE}/bank", {"queryStringParameters": {"at": name}}) for name in hostile.NUMBERS]
    sent += [
        ("consolidate", f"POST {SPACE}/consolidations", {"body": json.dumps({"agent": name})}) for name in hostile.NAMES
    ]

    for function, key, changed in sent:
        status, _, keys = asked(guarded, function, good(key, TOKEN) | changed)
        assert (status, keys - {"mine/_meta.json"}) == (422, set()), changed
    assert guarded.lambda_api.invoked == []


@pytest.mark.filterwarnings("ignore:No application metrics to publish")
def test_8_of_an_id_in_the_event_of_a_run_none_is_asked_for_that_can_be_no_id(guarded: Service):
    run = {"kind": "consolidation", "space_id": "mine", "job_id": VALUES["memory_id"]}

    for (field, said), name in itertools.product((("space_id", "space_id"), ("job_id", "run_id")), hostile.NAMES):
        guarded.recorder.asked.clear()
        with pytest.raises(ValueError, match=said):
            guarded.invoke("consolidate", run | {field: name})
        assert guarded.recorder.keys() == set(), name


def test_8_encoded_or_not_no_target_of_a_real_request_leads_out_of_its_space(guarded: Service):
    wrong = {}
    with front.opened(guarded) as door:
        for target, method in itertools.product(hostile.TARGETS, ("GET", "PUT", "DELETE")):
            guarded.recorder.asked.clear()
            status, _ = door.send(f"{method} {target}", f"Authorization: Bearer {TOKEN}")
            if status not in UNHEARD or beside_access(guarded):
                wrong[method, target[:60]] = (status, beside_access(guarded))

    assert wrong == {}


def test_7_a_body_of_a_byte_too_many_is_refused_unread_on_every_route_in_whatever_coding(
    guarded: Service, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bodies, "parse", lambda text: pytest.fail("parsed"))
    too_large = "é" * (limits.BODY_BYTES // 2) + "x"
    in_base64 = base64.b64encode(too_large.encode()).decode()

    tokens = itertools.cycle((TOKEN, TOKEN, None, None))
    for (function, key), (body, coded) in itertools.product(ROUTES, ((too_large, False), (in_base64, True))):
        event = good(key, next(tokens)) | {"body": body, "isBase64Encoded": coded}
        assert asked(guarded, function, event) == (413, "too_large", set()), (key, coded)


def test_7_a_body_of_the_most_bytes_is_read(guarded: Service):
    frame = json.dumps({**NOTE, "content": ""})
    event = good(f"POST {NOTES}", TOKEN)
    event["body"] = frame.replace('""', f'"{"x" * (limits.BODY_BYTES - len(frame))}"')

    assert len(event["body"]) == limits.BODY_BYTES
    # The note in it is too large, of which the field is told.
    answer = json.loads(guarded.invoke("ingest", event)["body"])
    assert (answer["status"], answer["errors"][0]["field"]) == (413, "content")


def test_7_limits_are_kept_at_both_ends_of_every_list(guarded: Service):
    lists = [
        (function, key)
        for function, key in ROUTES
        if "limit" in {field.alias for field in load(function).api.declared.registered(key).dependant.query_params}
    ]
    assert len(lists) > 4
    for limit in ("0", "-1", "501", "9" * 400, "1.5", "1e2", "0x10", "١", "", "none", " 1 2"):
        for function, key in lists:
            event = good(key, TOKEN)
            event["queryStringParameters"] = {"limit": limit}
            if key == SPACE_QUERY:
                event["queryStringParameters"]["space_id"] = "mine"
            assert asked(guarded, function, event) == (422, "invalid_request", set()), (key, limit)


@each(
    ("changes", "status"),
    [
        ({"tags": ["x"] * 21}, 422),
        ({"tags": ["x" * 51]}, 422),
        ({"tags": [""]}, 422),
        ({"tags": [" "]}, 422),
        ({"tags": ["a\x00"]}, 422),
        ({"tags": [["x"]]}, 422),
        ({"tags": {"a": "b"}}, 422),
        ({"content": "é" * 50_001}, 413),
        ({"content": " \n"}, 422),
        ({"category": "x" * 10_000}, 422),
        ({"agent": "admin"}, 422),
        ({"note_id": VALUES["note_id"]}, 422),
        ({"space_id": "other"}, 422),
    ],
)
def test_7_a_note_beyond_its_bounds_is_refused_alone_and_in_a_batch(
    guarded: Service, changes: dict[str, Any], status: int
):
    for event in (
        good(f"POST {NOTES}", TOKEN) | {"body": json.dumps(NOTE | changes)},
        good(f"POST {NOTES}", TOKEN) | {"body": json.dumps({"items": [NOTE, NOTE | changes]})},
    ):
        found, _, keys = asked(guarded, "ingest", event)
        assert (found, keys) == (status, set())


@pytest.mark.parametrize("key", ["", "x" * 201, "x" * 10_000, "ü" * 201])
def test_7_an_idempotency_key_is_short(guarded: Service, key: str):
    event = good(f"POST {NOTES}", TOKEN) | {"body": json.dumps(NOTE)}
    event["headers"]["idempotency-key"] = key

    assert asked(guarded, "ingest", event) == (422, "invalid_request", set())


@pytest.mark.parametrize("key", ["../../other/_meta", "a/../b", "\x00", "%2e%2e", "ü", "{}", "*"])
def test_8_an_idempotency_key_of_whatever_characters_is_no_part_of_a_key(guarded: Service, key: str):
    assert guarded.http("backup", "POST", "/v1/spaces", body={"space_id": "mine"})["statusCode"] == 201

    for status in (201, 200):
        event = good(f"POST {NOTES}", TOKEN) | {"body": json.dumps(NOTE)}
        event["headers"]["idempotency-key"] = key
        assert guarded.invoke("ingest", event)["statusCode"] == status

    assert [name.startswith("mine/_idempotency/") for name in guarded.written()].count(True) == 1
    assert not [name for name in guarded.written() if not name.startswith(("mine/", "_system/"))]

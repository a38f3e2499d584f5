"""Requests a second over HTTP and MCP: who asks too fast gets 429, and others get their answers."""

import json

import pytest

from livemem.access import request_rate
from livemem.store.bucket import REQUEST_COUNT
from tests.support.cases import each
from tests.support.service import Service

FLOOD = 100


def test_21_who_asks_too_fast_is_refused_on_every_way_in_and_others_are_answered(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REQUESTS_PER_SPACE_PER_SECOND", "1")
    monkeypatch.setenv("REQUESTS_PER_TOKEN_PER_SECOND", "1")
    for name in ("busy", "calm"):
        service.http("backup", "POST", "/v1/spaces", body={"space_id": name, "rules": "x"})
    busy, another, calm = (
        _token(service, name, space) for name, space in (("a", "busy"), ("b", "busy"), ("c", "calm"))
    )

    answers = [_notes(service, busy, "busy") for _ in range(FLOOD)]

    # Ten seconds may end among them.
    assert {answer["statusCode"] for answer in answers} == {200, 429}
    assert sum(answer["statusCode"] == 200 for answer in answers) <= 2 * request_rate.UNCOUNTED
    refused = answers[-1]
    assert refused["headers"]["Content-Type"] == "application/problem+json"
    assert json.loads(refused["body"])["code"] == "requests_per_token_per_second"
    assert 1 <= int(refused["headers"]["Retry-After"]) <= request_rate.SECONDS
    # The space is as busy for its other readers as for the first one.
    codes = {json.loads(_notes(service, another, "busy")["body"]).get("code") for _ in range(FLOOD)}
    assert "requests_per_space_per_second" in codes
    # Over MCP, and for writing. Each function learns of it by itself.
    assert _last(service, busy, "mcp", "ANY", "/mcp") == 429
    assert _last(service, busy, "ingest", "POST", "/v1/spaces/{space_id}/notes") == 429
    written = [key for key in service.written() if key.startswith("busy/live/") and key.endswith(".md")]
    assert len(written) <= 2 * request_rate.UNCOUNTED
    # An admin of all spaces gets through.
    assert service.http("reads", "GET", "/v1/spaces/{space_id}/notes", space_id="busy")["statusCode"] == 200
    assert {_notes(service, calm, "calm")["statusCode"] for _ in range(request_rate.UNCOUNTED - 1)} == {200}
    assert all(REQUEST_COUNT.parse(key) for key in service.written() if key.startswith(REQUEST_COUNT.prefix()))


TURNS = [{"message_id": f"m-{number}", "user_message": "a", "assistant_message": "b"} for number in range(30)]
BATCHES = {
    "ingest": ("notes", {"items": [{"category": "progress", "content": "x"}] * 30}),
    "memories": ("memories", {"items": [{"content": f"Fact {number}."} for number in range(30)]}),
    "rooms": ("rooms/{room}/messages", {"items": [{"author": "a", "content": "x"}] * 30}),
    "conversations": ("conversations/{conversation_id}/turns", {"items": TURNS}),
}
"""A batch of thirty for each function that takes some."""


@each("function", BATCHES)
def test_each_item_of_a_batch_counts_as_a_request(service: Service, monkeypatch: pytest.MonkeyPatch, function: str):
    route, body = BATCHES[function]
    service.http("backup", "POST", "/v1/spaces", body={"space_id": "busy", "rules": "x"})
    path = {"space_id": "busy"} | ({"room": "r"} if "{room}" in route else {})
    if "{conversation_id}" in route:
        made = service.http("conversations", "POST", "/v1/spaces/{space_id}/conversations", body={}, **path)
        path["conversation_id"] = json.loads(made["body"])["conversation_id"]
    counted: list[int] = []
    monkeypatch.setattr(request_rate, "check", lambda *_, count=1: counted.append(_[3] if len(_) > 3 else count))

    answer = service.http(function, "POST", f"/v1/spaces/{{space_id}}/{route}", body=body, **path)

    assert answer["statusCode"] in (200, 201), answer
    assert counted == [1, 29]


def _token(service: Service, name: str, space_id: str) -> str:
    wanted = {"name": name, "permissions": ["read", "write"], "space_ids": [space_id]}
    return str(json.loads(service.http("admin", "POST", "/v1/tokens", body=wanted)["body"])["token"])


def _notes(service: Service, token: str, space_id: str) -> dict:
    return service.http("reads", "GET", "/v1/spaces/{space_id}/notes", token=token, space_id=space_id)


def _last(service: Service, token: str, function: str, method: str, route: str) -> int:
    """The status of the last of many requests."""
    rest = {"space_id": "busy"} if "{" in route else {}
    for number in range(FLOOD):
        body = {"category": "progress", "content": f"Note {number}."}
        answer = service.http(function, method, route, token=token, body=body, **rest)
    return int(answer["statusCode"])

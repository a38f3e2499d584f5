"""What the client makes of answers: of the service, of somebody before it, and of none."""

import gzip
import json
import logging
import traceback
from pathlib import Path

import httpx
import pytest

from live_memory import FieldProblem, LiveMemoryError, models
from live_memory._over_httpx import broken
from tests.support.cases import each
from tests.support.scripted import NOTE, TOKEN, URL, Scripted, good, problem

DOCUMENT = json.loads((Path(__file__).resolve().parents[3] / "docs" / "openapi.json").read_text())


def error_of(step) -> LiveMemoryError:
    with pytest.raises(LiveMemoryError) as caught:
        Scripted(step).client(retries=0).call("get_space", {"space_id": "demo"})
    return caught.value


def test_a_problem_document_becomes_an_error_with_all_that_it_says():
    body = {
        "title": "Unprocessable Content",
        "status": 422,
        "code": "invalid_request",
        "detail": "category: must be one of",
        "request_id": "JKJ=",
        "errors": [{"field": "category", "message": "must be one of"}, "nonsense"],
    }
    error = error_of(httpx.Response(422, json=body))
    assert (error.status, error.code, error.detail) == (422, "invalid_request", "category: must be one of")
    assert error.fields == [FieldProblem("category", "must be one of")]
    assert (error.request_id, error.retry_after, error.curable) == ("JKJ=", None, False)
    assert str(error) == "422 invalid_request: category: must be one of"


@each(
    ("status", "code", "retry_after", "curable"),
    [
        (409, "busy", 10, True),
        (409, "conflict", None, False),
        (429, "cooldown", 3, True),
        (503, "store_unavailable", None, True),
        (503, "commit_unfinished", 30, False),
        (503, "space_broken", None, False),
        (500, "internal_error", None, False),
        (404, "space_not_found", None, False),
    ],
)
def test_an_error_says_whether_the_same_may_succeed_later(status, code, retry_after, curable):
    assert error_of(problem(status, code, retry_after)).curable is curable


@each(
    ("answer", "code", "says"),
    [
        (httpx.Response(502, html="<html>Bad Gateway</html>"), "not_the_service", "502 Bad Gateway, text/html"),
        (httpx.Response(503), "not_the_service", "503 Service Unavailable, no content type"),
        (httpx.Response(429, json={"message": "Too Many Requests"}), "throttled", "Too Many Requests"),
        (httpx.Response(403, json={"message": "Forbidden"}), "not_the_service", "Forbidden"),
        (httpx.Response(404, json=["x"]), "not_the_service", "404 Not Found"),
        (httpx.Response(404, json={"code": 7, "errors": {"a": 1}}), "not_the_service", "404 Not Found"),
        (httpx.Response(500, content=b"\xff\xfe{"), "not_the_service", "500"),
        (httpx.Response(302, headers={"location": "https://evil.example.org/"}), "redirected", "not followed"),
        (httpx.Response(200, text="<html>Sign in</html>"), "unexpected_answer", "it is not JSON"),
        (httpx.Response(200), "unexpected_answer", "it is empty"),
        (httpx.Response(200, text="[" * 100_000), "unexpected_answer", "it is not JSON"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_the_service_s_is_told_as_one(answer, code, says):
    error = error_of(answer)
    assert (error.status, error.code) == (answer.status_code, code)
    assert says in error.detail
    assert "html>" not in str(error)


def test_a_redirect_is_not_followed():
    service = Scripted(httpx.Response(307, headers={"location": "https://evil.example.org/"}))
    with pytest.raises(LiveMemoryError, match="redirected"):
        service.client().spaces.get("demo")
    assert [request.url.host for request in service.asked] == ["memory.example.org"]


def test_the_gateway_s_id_stands_where_the_body_has_none():
    error = error_of(httpx.Response(503, headers={"apigw-requestid": "G-1"}))
    assert error.request_id == "G-1"


def test_a_body_that_is_not_what_its_header_says_is_no_answer():
    error = error_of(httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"nonsense")))
    assert (error.status, error.code) == (None, "no_answer")


def test_compressed_answers_are_asked_for_and_read():
    service = Scripted()
    service.answer = lambda request: (
        service.asked.append(request)
        or httpx.Response(200, headers={"content-encoding": "gzip"}, content=gzip.compress(b'{"a": 1}'))
    )
    assert service.client().call("get_health", {}) == {"a": 1}
    assert "gzip" in service.asked[0].headers["accept-encoding"]


def test_a_newer_service_may_say_more_than_this_client_knows():
    note = {**NOTE, "status": "archived", "colour": {"r": 1}}
    read = Scripted(good(note)).client().notes.get("demo", "x")
    assert read.status == "archived"
    assert read.model_extra == {"colour": {"r": 1}}


def test_an_answer_that_lacks_what_it_must_have_is_told_by_its_place_not_its_value():
    with pytest.raises(LiveMemoryError, match=r"unexpected_answer.*size") as caught:
        Scripted(good({**NOTE, "size": " ".join(["swordfish"] * 2)})).client().notes.get("demo", "x")
    assert "swordfish swordfish" not in "".join(traceback.format_exception(caught.value))


def test_nothing_is_given_back_where_nothing_is_answered():
    client = Scripted(httpx.Response(204)).client()
    assert client.backups.delete("demo", "x") is None
    assert client.call("delete_backup", {"space_id": "demo", "backup_id": "x"}) is None


@pytest.mark.parametrize(
    "step", [httpx.ConnectError("no route"), httpx.ReadTimeout("slow"), problem(401, "unauthenticated"), good({})]
)
def test_the_token_is_in_no_error_no_log_and_no_form_of_the_client(step, caplog):
    caplog.set_level(logging.DEBUG)
    service = Scripted(step)
    client = service.client(retries=0)
    with pytest.raises(LiveMemoryError) as caught:
        client.spaces.get("demo")
    told = "".join(traceback.format_exception(caught.value))
    for text in (told, repr(caught.value), caplog.text, repr(client), str(vars(client)), repr(service.asked)):
        assert TOKEN not in text
    assert repr(client) == f"Client('{URL}')"


def test_a_token_that_was_made_is_not_shown_by_its_model():
    answers = DOCUMENT["paths"]["/v1/tokens"]["post"]["responses"]
    made = {**answers["201"]["content"]["application/json"]["example"], "token": TOKEN}
    token = Scripted(good(made, 201)).client().tokens.create(name="ann", permissions=["read"])
    assert token.token == TOKEN
    assert TOKEN not in repr(token)


def test_who_reaches_nobody_learns_the_address_and_what_to_start():
    refused = httpx.ConnectError("[Errno 111] Connection refused")
    with pytest.raises(LiveMemoryError) as caught:
        Scripted(refused).client(retries=0).spaces.get("demo")
    assert caught.value.detail == f"No connection to {URL}: [Errno 111] Connection refused"
    local = httpx.ConnectError("refused", request=httpx.Request("GET", "http://127.0.0.1:3000/v1/health"))
    assert "to http://127.0.0.1:3000: refused" in broken(local).detail
    assert "`livemem serve --background`" in broken(local).detail


def test_a_hit_of_a_kind_that_only_a_newer_service_knows_has_what_all_hits_have():
    common = {
        "id": "1",
        "score": 1.0,
        "snippet": "x",
        "highlights": [],
        "time": NOTE["timestamp"],
        "source": {"href": "/v1"},
    }
    view = {"documents": 1, "cold": False, "as_of": NOTE["timestamp"], "unread": 0}
    kinds = [{**common, "kind": "summary"}, {**common, "kind": "drawing", "width": 3}]

    answer = models.SearchAnswer.model_validate(
        {"items": kinds, "ranking": "bm25", "unembedded": 0, "view": view, "total": 2}
    )

    assert [type(hit) for hit in answer.items] == [models.SummaryHit, models.HitView]

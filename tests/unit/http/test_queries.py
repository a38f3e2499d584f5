"""What a request says beyond its path is understood or refused, on every route."""

import json

import pytest

from tests.support.cases import each
from tests.support.functions import Context, loaded
from tests.support.routes import ROUTES, good

HALF = "has half a surrogate pair, which is not valid text"


def answer(function, event):
    found = loaded(function).handler(event, Context())
    return found["statusCode"], json.loads(found["body"])


def ask(function, key, query, raw=""):
    event = good(key)
    event["queryStringParameters"], event["rawQueryString"] = query, raw
    return answer(function, event)


@each(("function", "key"), ROUTES)
def test_an_unknown_query_parameter_is_named(unreachable, function, key):
    status, problem = ask(function, key, {"colour": "red", "": "x"})

    assert (status, problem["code"]) == (422, "invalid_request")
    assert [item["field"] for item in problem["errors"]] == ["colour", ""]
    assert all(item["message"].startswith("unknown query parameter; this route takes") for item in problem["errors"])


def test_a_parameter_of_another_route_is_unknown(unreachable):
    status, problem = ask("reads", "GET /v1/spaces/{space_id}/bank", {"sources": "true"})

    assert status == 422
    assert problem["detail"] == "sources: unknown query parameter; this route takes at, content"


@each(("function", "key"), ROUTES)
def test_every_parameter_that_the_code_declares_is_known(unreachable, function, key):
    names = [field.alias for field in loaded(function).api.declared.registered(key).dependant.query_params]

    _, problem = ask(function, key, dict.fromkeys(names, "1"))

    assert "unknown" not in problem.get("detail", "")


@pytest.mark.parametrize("raw", ["limit=1&limit=2", "limit=1&limit=1", "limit=1&%6Cimit=2", "limit=&limit="])
def test_a_parameter_that_is_given_twice_is_refused(unreachable, raw):
    status, problem = ask("reads", "GET /v1/spaces/{space_id}/notes", {"limit": "1,2"}, raw)

    assert (status, problem["errors"]) == (422, [{"field": "limit", "message": "given more than once"}])


def test_a_comma_in_a_value_is_no_repetition(unreachable):
    status, problem = ask("reads", "GET /v1/spaces/{space_id}/notes", {"tag": "a,b"}, "tag=a,b")

    assert (status, problem["code"]) == (503, "store_unavailable")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (
            {
                "pathParameters": {"space_id": "mine", "path": "\ud800.md"},
                "rawPath": "/v1/spaces/mine/bank/\ud800.md",
                "queryStringParameters": {"path": "x"},
            },
            "path",
        ),
        ({"queryStringParameters": {"reason": "\udc00"}}, "reason"),
        ({"queryStringParameters": {"\ud800": "x"}}, "\ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_refused_in_a_path_and_in_a_query(unreachable, changed, field):
    event = good("DELETE /v1/spaces/{space_id}/bank/{path+}") | changed

    status, problem = answer("admin", event)

    assert (status, problem["errors"]) == (422, [{"field": field, "message": HALF}])


def test_half_a_surrogate_pair_is_refused_in_a_header(unreachable):
    event = good("POST /v1/spaces/{space_id}/notes")
    event["headers"]["Idempotency-Key"] = "\ud83d"

    status, problem = answer("ingest", event)

    assert (status, problem["errors"]) == (422, [{"field": "idempotency-key", "message": HALF}])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"category": "todo", "content": "\\ud800"}', "content"),
        ('{"category": "todo", "content": "x", "tags": ["a", "\\udfff"]}', "tags.1"),
        ('{"category": "todo", "content": "x", "\\ud800": 1}', "\ufffd"),
        ('{"category": "todo", "content": "x", "more": {"deep": [{"er": "\ud83d"}]}}', "more.deep.0.er"),
    ],
)
def test_half_a_surrogate_pair_is_refused_anywhere_in_a_body(unreachable, body, field):
    event = good("POST /v1/spaces/{space_id}/notes") | {"body": body}

    status, problem = answer("ingest", event)

    assert (status, problem["errors"]) == (422, [{"field": field, "message": HALF}])


def test_a_whole_surrogate_pair_is_a_character(unreachable):
    event = good("POST /v1/spaces/{space_id}/notes") | {"body": '{"category": "todo", "content": "\\ud83d\\ude00"}'}

    assert answer("ingest", event)[1]["code"] == "store_unavailable"


def test_without_a_token_no_field_is_judged(unreachable):
    event = good("POST /v1/spaces/{space_id}/notes", token=None, space_id="-not a space-") | {"body": "no json"}
    event["queryStringParameters"] = {"colour": "red"}

    assert answer("ingest", event)[0] == 401

import base64
import json
from urllib.parse import parse_qsl, quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.front.http_api import Router
from local.front.httpd import Request
from local.front.payload import MalformedAnswerError, build_event, read_answer
from local.functions.template import Function, Route
from tests.support.cases import each

SEGMENT = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1)


def function(*routes: Route) -> Function:
    from pathlib import Path

    return Function("F", "f", Path(), "app.handler", 3, 128, 2, None, {}, routes, (), ())


def event_of(target: str, method: str = "GET", route: str = "/a", headers=(), body=b"") -> dict:
    request = Request(method, target, (("Host", "localhost:3000"), *headers), body, "10.0.0.7")
    return build_event(request, Route(method, route), {})


def test_an_event_has_the_shape_of_payload_format_2():
    event = event_of("/a?b=c", headers=(("User-Agent", "curl/8"), ("X-Thing", "1"), ("x-thing", "2")))
    assert event["version"] == "2.0"
    assert event["routeKey"] == event["requestContext"]["routeKey"] == "GET /a"
    assert (event["rawPath"], event["rawQueryString"]) == ("/a", "b=c")
    assert event["headers"] == {"host": "localhost:3000", "user-agent": "curl/8", "x-thing": "1,2"}
    context = event["requestContext"]
    assert context["http"] == {
        "method": "GET",
        "path": "/a",
        "sourceIp": "10.0.0.7",
        "userAgent": "curl/8",
    }
    assert (context["stage"], context["domainName"]) == ("$default", "localhost")
    assert event["isBase64Encoded"] is False
    assert json.loads(json.dumps(event)) == event


def test_what_a_request_lacks_is_absent():
    assert not {"body", "cookies", "pathParameters", "queryStringParameters"} & event_of("/a").keys()


def test_cookies_are_a_list_and_no_header():
    event = event_of("/a", headers=(("Cookie", "a=1; b=2"), ("cookie", "c=3")))
    assert event["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in event["headers"]


def test_repeated_query_parameters_are_joined_by_commas():
    event = event_of("/a?t=x&t=y%20z&empty=&plus=a+b&%C3%A9=1")
    assert event["queryStringParameters"] == {"t": "x,y z", "empty": "", "plus": "a b", "é": "1"}
    assert event["rawQueryString"] == "t=x&t=y%20z&empty=&plus=a+b&%C3%A9=1"


@each(
    ("content_type", "body", "encoded"),
    [
        ("application/json", b'{"a": "\xc3\xa9"}', False),
        ("text/plain; charset=utf-8", b"x", False),
        ("", b"x", False),
        ("application/json", b"\xff\xfe", True),
        ("application/octet-stream", b"x", True),
        ("application/x-www-form-urlencoded", b"a=b", True),
    ],
)
def test_a_body_is_text_or_base64_by_its_type(content_type, body, encoded):
    event = event_of("/a", "POST", headers=(("Content-Type", content_type),), body=body)
    assert event["isBase64Encoded"] is encoded
    assert (base64.b64decode(event["body"]) if encoded else event["body"].encode()) == body


@given(space=SEGMENT, rest=st.lists(SEGMENT, min_size=1, max_size=3))
def test_path_variables_come_back_as_the_client_meant_them(space, rest):
    router = Router((function(Route("GET", "/v1/spaces/{space_id}/bank/{path+}")),))
    target = f"/v1/spaces/{quote(space, safe='')}/bank/{'/'.join(quote(r, safe='') for r in rest)}"
    match = router.find("GET", build_event(Request("GET", target, ()), Route("GET", "/"), {})["rawPath"])
    assert match is not None
    assert match.parameters == {"space_id": space, "path": "/".join(rest)}


@given(st.lists(st.tuples(st.text(min_size=1), st.text()), min_size=1))
def test_query_parameters_come_back_as_the_client_meant_them(pairs):
    query = urlencode(pairs)
    event = event_of(f"/a?{query}")
    assert event["rawQueryString"] == query
    assert parse_qsl(event["rawQueryString"], keep_blank_values=True) == pairs
    for name, value in event["queryStringParameters"].items():
        assert value == ",".join(v for n, v in pairs if n == name)


@given(st.binary())
def test_any_bytes_of_a_path_give_an_event(path):
    event = event_of("/" + quote(path))
    assert json.loads(json.dumps(event))["rawPath"].startswith("/")


def answer(value) -> tuple[int, dict[str, str], bytes]:
    response = read_answer(json.dumps(value).encode())
    return response.status, dict(response.headers), response.body


def test_an_answer_with_a_status_code_is_taken_as_it_is():
    value = {"statusCode": 201, "headers": {"Content-Type": "text/x", "X-N": 3}, "body": "é"}
    assert answer(value) == (201, {"content-type": "text/x", "x-n": "3"}, "é".encode())


def test_an_answer_may_set_several_cookies():
    response = read_answer(json.dumps({"statusCode": 200, "cookies": ["a=1", "b=2"]}).encode())
    assert [v for k, v in response.headers if k == "set-cookie"] == ["a=1", "b=2"]


def test_an_answer_in_base64_is_decoded():
    value = {"statusCode": 200, "isBase64Encoded": True, "body": base64.b64encode(b"\x00\xff").decode()}
    assert answer(value)[2] == b"\x00\xff"


@each(
    ("value", "body"),
    [({"a": 1}, b'{"a": 1}'), ("text", b"text"), ([1], b"[1]"), (None, b"null"), (3, b"3")],
)
def test_an_answer_without_status_code_is_the_body_of_a_200(value, body):
    assert answer(value) == (200, {"content-type": "application/json"}, body)


def test_text_is_the_default_content_type():
    assert answer({"statusCode": 200, "body": "x"})[1] == {"content-type": "text/plain;charset=UTF-8"}


@each(
    "value",
    [
        {"statusCode": "many"},
        {"statusCode": 200, "body": {"a": 1}},
        {"statusCode": 200, "headers": [1]},
        {"statusCode": 200, "isBase64Encoded": True, "body": "%"},
    ],
)
def test_a_malformed_answer_is_refused(value):
    with pytest.raises(MalformedAnswerError):
        answer(value)


def test_the_most_specific_route_wins():
    wanted = [
        Route("ANY", "/$default"),
        Route("GET", "/v1/{rest+}"),
        Route("GET", "/v1/spaces/{x}"),
        Route("ANY", "/v1/spaces/{x}"),
        Route("GET", "/v1/spaces/first"),
        Route("GET", "/"),
    ]
    router = Router((function(*wanted),))

    def found(method: str, path: str) -> str:
        match = router.find(method, path)
        return f"{match.route.method} {match.route.path}" if match else "none"

    assert found("GET", "/v1/spaces/first") == "GET /v1/spaces/first"
    assert found("GET", "/v1/spaces/a") == "GET /v1/spaces/{x}"
    assert found("PUT", "/v1/spaces/a") == "ANY /v1/spaces/{x}"
    assert found("GET", "/v1/spaces/a/b") == "GET /v1/{rest+}"
    assert found("GET", "/") == "GET /"
    assert found("BREW", "/x\ny") == "ANY /$default"


@each("path", ["/v1/spaces", "/v1/spaces/", "/v1/spaces//notes", "/v1/spaces/a/notes/", "/V1/spaces/a/notes"])
def test_a_path_that_only_resembles_a_route_is_not_found(path):
    assert Router((function(Route("GET", "/v1/spaces/{x}/notes")),)).find("GET", path) is None

"""Requests that are made of arguments, whatever these are."""

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory import UNSET, BadArgument, models
from live_memory._building import build
from live_memory.operations import OPERATIONS, Operation
from tests.support.cases import each
from tests.support.scripted import NOTE, Scripted, good

VALUES = {"array": [], "integer": 1, "boolean": True, "number": 1.0, "object": {}}
PLACES = [(one, name) for one in OPERATIONS.values() for name in one.path_parameters]
HOSTILE = [
    "..",
    ".",
    "",
    "a/../../b",
    "%2e%2e%2f",
    "a?b=c#d",
    "a\r\nX-Evil: 1",
    "\\..\\",
    "//evil.example.org",
    "\ud800",
]


def sent(operation: Operation, **changed: Any) -> httpx.Request | None:
    """The request as it goes out, with the least that it needs; None: it is refused."""
    needed = {one.name: VALUES.get(one.type, "x") for one in operation.fields.values() if one.required}
    service = Scripted()
    client = service.client()
    try:
        client._send(build(operation.name, needed | changed))
    except BadArgument:
        return None
    return service.asked[0]


def stays(operation: Operation, name: str, value: str) -> None:
    """The request goes to the operation's own path, with the value at its place, or not at all."""
    request = sent(operation, **{name: value})
    if request is None:
        assert not value or "." in value or "/" in value or not value.isprintable()
        return
    got = request.url.raw_path.decode("ascii").partition("?")[0]
    more = value.count("/") if name == "path" else 0
    template = f"/v1{operation.path}".replace("+}", "}").split("/")
    place = template.index(f"{{{name}}}")
    segments = got.split("/")
    assert unquote("/".join(segments[place : place + more + 1])) == value
    rest = [*segments[:place], f"{{{name}}}", *segments[place + more + 1 :]]
    assert len(rest) == len(template)
    assert all(one == wanted or wanted.startswith("{") for one, wanted in zip(rest, template, strict=True))
    assert request.url.host == "memory.example.org"
    assert "x-evil" not in request.headers


@each("value", HOSTILE)
def test_no_hostile_value_leads_any_operation_out_of_its_path(value):
    for operation, name in PLACES:
        stays(operation, name, value)


@given(st.sampled_from(PLACES), st.text(max_size=12) | st.text("./%\\ ~;", max_size=8))
def test_no_value_leads_a_request_out_of_its_path(place, value):
    stays(place[0], place[1], value)


@given(st.text(max_size=20, alphabet=st.characters(exclude_categories=["Cs"])))
@example("a&spaces=other#x")
def test_a_query_holds_any_text_as_it_is(text):
    request = sent(OPERATIONS["search_spaces"], q=text)
    assert parse_qs(request.url.query.decode("ascii"), keep_blank_values=True) == {"q": [text]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(json_values)
def test_a_body_arrives_as_it_was_given(value):
    body = json.loads(sent(OPERATIONS["patch_bank_file"], edits=[value]).content)
    assert body["edits"] == [value]


@each("value", ["\ud800", float("nan"), float("inf"), object(), b"x", {1, 2}])
def test_what_json_has_no_form_for_is_refused_before_anything_is_sent(value):
    assert sent(OPERATIONS["append_note"], content=value) is None


def test_every_operation_goes_to_its_own_method_and_path():
    for operation in OPERATIONS.values():
        request = sent(operation)
        assert request.method == operation.method
        assert request.headers["authorization"] == "Bearer lm_SecretOfAnn"
        assert request.headers["accept"] == "application/json"
        assert request.headers.get("content-type") == ("application/json" if operation.body else None)
        assert ("idempotency-key" in request.headers) == operation.takes_key


@each(
    ("name", "arguments", "says"),
    [
        ("append_note", {"space_id": "demo", "category": "todo"}, "append_note needs content"),
        ("append_note", {"space_id": None, "category": "todo", "content": "x"}, "append_note needs space_id"),
        ("append_note", {"space_id": "demo", "category": "todo", "content": UNSET}, "append_note needs content"),
        ("get_space", {"space_id": "demo", "colour": "red", "at": 1}, "get_space takes no at, colour"),
        ("get_space", {"space_id": ["a"]}, "must be a single value"),
        ("no_such_thing", {}, "There is no operation 'no_such_thing'"),
        (
            "list_notes",
            {"space_id": "demo", "since": datetime.fromisoformat("2026-02-20T14:00:00")},
            "A time needs its zone",
        ),
    ],
)
def test_arguments_that_make_no_request_are_named(name, arguments, says):
    service = Scripted()
    with pytest.raises(BadArgument, match=says) as caught:
        service.client().call(name, arguments)
    assert isinstance(caught.value, ValueError)
    assert (caught.value.code, caught.value.status, caught.value.curable) == ("bad_argument", None, False)
    assert service.asked == []


@each("key", ["", "x" * 201, "é", "a\r\nb"])
def test_a_key_that_no_header_can_hold_is_refused(key):
    with pytest.raises(BadArgument, match="idempotency_key"):
        Scripted().client().notes.append("demo", category="todo", content="x", idempotency_key=key)


def test_a_key_is_refused_where_none_is_taken():
    with pytest.raises(BadArgument, match="takes no idempotency_key"):
        Scripted().client().call("get_space", {"space_id": "demo"}, idempotency_key="mine")


def test_times_are_sent_with_their_zone_and_truth_as_json_has_it():
    service = Scripted(good({"items": [], "next_cursor": None}))
    client = service.client()
    client.call(
        "list_notes", {"space_id": "demo", "since": datetime(2026, 2, 20, 15, tzinfo=timezone(timedelta(hours=1)))}
    )
    client.call("get_usage", {"until": date(2026, 2, 20)})
    client.call("list_bank", {"space_id": "demo", "content": True, "at": None})
    assert service.paths == [
        "/v1/spaces/demo/notes?since=2026-02-20T15%3A00%3A00%2B01%3A00",
        "/v1/usage?until=2026-02-20",
        "/v1/spaces/demo/bank?content=true",
    ]


def test_null_is_sent_only_where_it_says_something():
    service = Scripted(good(NOTE))
    client = service.client()
    client.call("append_note", {"space_id": "demo", "category": "todo", "content": "x", "tags": None})
    client.call("correct_memory", {"space_id": "demo", "memory_id": "m", "ttl": None, "content": UNSET})
    assert [json.loads(request.content) for request in service.asked] == [
        {"category": "todo", "content": "x"},
        {"ttl": None},
    ]


def test_models_and_mappings_are_both_taken_within_a_body():
    service = Scripted(good({"items": []}))
    note = models.NewNote(category="todo", content="x")
    service.client().call("append_note", {"space_id": "demo", "items": (note, {"category": "issue", "content": "y"})})
    assert json.loads(service.asked[0].content)["items"] == [
        {"category": "todo", "content": "x"},
        {"category": "issue", "content": "y"},
    ]


def test_markdown_is_asked_for_where_there_is_some():
    service = Scripted(httpx.Response(200, text="# Démo\n", headers={"content-type": "text/markdown"}))
    assert service.client().markdown("get_summary", {"space_id": "demo"}) == "# Démo\n"
    assert service.asked[0].headers["accept"] == "text/markdown"
    with pytest.raises(BadArgument, match="no answer in Markdown"):
        service.client().markdown("get_space", {"space_id": "demo"})


def test_what_is_too_long_for_an_address_is_refused_and_not_sent():
    service = Scripted()
    with pytest.raises(BadArgument, match="too long for a URL"):
        service.client().call("search_space", {"space_id": "demo", "q": "x" * 100_000})
    assert service.asked == []

"""What is wrong gets the answer that the specification has for it: never a 5xx, never an error's own text, never a
token.
"""

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from livemem_mcp import http
from livemem_mcp.core import CORE
from tests.support.cases import each
from tests.support.fitting import fitting
from tests.support.log_capture import heard
from tests.support.mcp import MODERN, NEWEST_HANDSHAKE, Agents, asked, event_of, started, token
from tests.support.world import BOOTSTRAP_KEY

ANN = "lm_ann"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
BOTH = pytest.mark.parametrize("protocol", [NEWEST_HANDSHAKE, MODERN])
NOTE = {"category": "todo", "content": "x"}
FUZZED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def agents(monkeypatch) -> Iterator[Agents]:
    found = started(monkeypatch)
    found.world.create_space()
    found.let_in(token(ANN, "read", "write"))
    with heard() as lines:
        yield found.as_one(ANN)
    for line in lines:
        assert ANN not in line
        assert BOOTSTRAP_KEY not in line
        assert "Traceback" not in line


@pytest.fixture
def tools(agents) -> dict[str, Any]:
    found: dict[str, Any] = agents.tools()
    return found


@pytest.fixture
def warm(agents) -> Agents:
    """Agents whose process knows the token and the space."""
    agents.call("start_session")
    agents.world.client.reset()
    return agents


def answered(agents: Agents, body: Any, protocol: str, method: str | None = None, **headers: str | None) -> Any:
    """The answer, which is none of the server's own failures and holds nothing that is nobody's business."""
    sent: dict[str, str | None] = {"mcp-protocol-version": protocol}
    if protocol == MODERN and method:
        sent["mcp-method"] = method
    answer = agents.send(body, headers=sent | headers)
    assert answer["statusCode"] < 500, answer
    assert_tells_nothing(answer["body"])
    return answer


def assert_tells_nothing(text: str) -> None:
    for secret in (ANN, BOOTSTRAP_KEY, "Traceback", "site-packages", "Error(", "_system/", ".py"):
        assert secret not in text


def code_of(answer: Any) -> int | None:
    body = json.loads(answer["body"])
    return body["error"]["code"] if "error" in body else None


NO_JSON = ["", " ", "no json", "{", '{"jsonrpc": "2.0"', "\x00", "\ufeff{}", '{"a":' * 50_000, "'x'"]
NO_REQUEST = [
    "[" * 100_000,
    "[]",
    "[{}]",
    '"text"',
    "1",
    "null",
    "true",
    "{}",
    '{"id": 1}',
    '{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    '{"jsonrpc": 2.0, "id": 1, "method": "ping"}',
    '{"id": 1, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 1}',
    '{"jsonrpc": "2.0", "id": 1, "method": 1}',
    '{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": [1], "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}',
    '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x"}',
    '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]',
]


@BOTH
@each("text", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_json_is_a_parse_error(agents, protocol, text):
    answer = answered(agents, text, protocol)

    assert (answer["statusCode"], code_of(answer)) == (400, PARSE_ERROR)


@BOTH
@each("text", NO_REQUEST, ids=range(len(NO_REQUEST)))
def test_json_that_is_no_request_is_told_so(agents, protocol, text):
    answer = answered(agents, text, protocol, "ping")

    assert answer["statusCode"] == 400
    assert code_of(answer) in (INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR)


@BOTH
@each("params", ["[]", "0", "false", '""', "[1]"])
def test_params_that_are_no_object_are_told_in_our_words(agents, protocol, params):
    text = '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": %s}' % params  # noqa: UP031 - braces

    body = json.loads(answered(agents, text, protocol, "ping")["body"])

    assert (body["id"], body["error"]["message"]) == (1, "`params` must be an object.")


@BOTH
def test_an_answer_that_nobody_asked_for_is_taken_or_refused_and_nothing_comes_of_it(agents, protocol):
    answer = answered(agents, {"jsonrpc": "2.0", "id": 1, "result": {}}, protocol)

    assert answer["statusCode"] in (202, 400)


@BOTH
def test_a_notification_is_taken_and_makes_nothing_happen(agents, protocol):
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "note", "arguments": NOTE}}

    for body in (call, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}):
        assert answered(agents, body, protocol)["statusCode"] in (202, 400)
    assert agents.world.live_ids() == []


@each("version", ["2099-01-01", "1.0", "latest", "x" * 10_000, "\x00", "ü"])
def test_a_version_in_the_header_that_is_none_is_refused_and_told_which_there_are(agents, version):
    body, headers = asked("tools/list", None, MODERN)

    answer = answered(agents, body, version, **{"mcp-method": headers["mcp-method"]})

    assert answer["statusCode"] == 400
    assert code_of(answer) in (UNSUPPORTED_VERSION, HEADER_MISMATCH)


@each("version", ["2099-01-01", "", None, 1, {}, [], "2025-11-25"])
def test_a_version_in_the_request_that_is_not_that_of_the_header_is_refused(agents, version):
    body, _ = asked("tools/list", None, MODERN)
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version

    answer = answered(agents, body, MODERN, "tools/list")

    assert answer["statusCode"] == 400
    assert code_of(answer) in (UNSUPPORTED_VERSION, HEADER_MISMATCH, INVALID_PARAMS)


@each("meta", [None, {}, [], "x", {"io.modelcontextprotocol/protocolVersion": MODERN}])
def test_a_request_of_today_without_its_envelope_is_refused(agents, meta):
    body, _ = asked("tools/list", None, MODERN)
    body["params"]["_meta"] = meta

    answer = answered(agents, body, MODERN, "tools/list")

    assert (answer["statusCode"], code_of(answer) in (INVALID_PARAMS, HEADER_MISMATCH)) == (400, True)


@each(
    "headers",
    [
        {"mcp-method": None},
        {"mcp-method": ""},
        {"mcp-method": "tools/list"},
        {"mcp-method": "tools/call,tools/call"},
        {"mcp-method": "TOOLS/CALL"},
        {"mcp-name": None},
        {"mcp-name": ""},
        {"mcp-name": "notes"},
        {"mcp-name": "note,note"},
        {"mcp-name": "=?base64?!!!?="},
        {"mcp-name": "=?base64?bm90ZXM=?="},
        {"mcp-name": "\x00"},
        {"mcp-name": "ü" * 1_000},
    ],
)
def test_headers_that_say_something_else_than_the_request_are_refused(agents, headers):
    body, sent = asked("tools/call", {"name": "note", "arguments": NOTE}, MODERN)

    answer = answered(agents, body, MODERN, **(sent | headers))

    assert (answer["statusCode"], code_of(answer)) == (400, HEADER_MISMATCH)
    assert agents.world.live_ids() == []


def test_blanks_around_a_header_are_no_part_of_it(agents):
    body, sent = asked("tools/call", {"name": "note", "arguments": NOTE}, MODERN)

    answer = answered(agents, body, MODERN, **(sent | {"mcp-name": " \tnote "}))

    assert answer["statusCode"] == 200
    assert len(agents.world.live_ids()) == 1


@BOTH
@each(
    ("accept", "statuses"),
    [
        ("application/json", {200}),
        ("*/*", {200}),
        ("application/*", {200}),
        ("application/json;q=0.5, text/event-stream", {200}),
        ("text/event-stream", {406}),
        ("text/html", {406}),
        ("x" * 10_000, {406}),
        ("\x00", {406}),
        (None, {200, 406}),
    ],
)
def test_who_takes_no_json_is_told_so(agents, protocol, accept, statuses):
    body, headers = asked("tools/list", None, protocol)

    assert answered(agents, body, **{**_named(headers), "accept": accept})["statusCode"] in statuses


@BOTH
@each("kind", ["text/plain", "application/xml", "", "x" * 10_000, "\x00", None])
def test_a_body_of_another_type_is_refused_or_read_as_json(agents, protocol, kind):
    body, headers = asked("tools/list", None, protocol)

    assert answered(agents, body, **{**_named(headers), "content-type": kind})["statusCode"] in (200, 400, 415)


def _named(headers: dict[str, Any]) -> dict[str, Any]:
    return {"protocol": headers["mcp-protocol-version"], "method": headers.get("mcp-method")}


@BOTH
@pytest.mark.parametrize("size", [1_048_577, 2 * 1_048_576])
def test_a_body_that_is_too_large_is_refused_unread(agents, protocol, size):
    text = json.dumps(asked("tools/call", {"name": "note", "arguments": NOTE}, protocol)[0])

    answer = answered(agents, text + " " * (size - len(text)), protocol)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (413, "too_large")


def test_a_body_that_is_no_text_is_refused(agents):
    sent = event_of("/w==", "POST", ANN, {}, {"mcp-protocol-version": NEWEST_HANDSHAKE}) | {"isBase64Encoded": True}
    answer = http.handle(agents.world.process, sent, agents.invoke)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (400, "malformed_body")


UNKNOWN = ["nothing", "", "Note", "note ", "../note", "\x00", "x" * 100_000, "__init__", "create_token", "ノート"]


@BOTH
@each("name", UNKNOWN, ids=range(len(UNKNOWN)))
def test_an_unknown_tool_is_an_error_of_the_protocol(agents, protocol, name):
    agents.protocol = protocol

    refused = agents.error("tools/call", {"name": name, "arguments": {}}, headers={"mcp-name": _header(name)})

    assert refused["code"] == INVALID_PARAMS
    assert len(refused["message"]) < 200


def _header(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


@BOTH
@each(
    "params",
    [None, {}, {"name": 1}, {"name": None}, {"name": "note", "arguments": []}, {"name": "note", "arguments": "x"}],
)
def test_a_call_that_is_none_is_an_error_of_the_protocol(agents, protocol, params):
    body, headers = asked("tools/call", {"name": "note"}, protocol)
    meta = body["params"].get("_meta")
    body["params"] = params if params is None or meta is None else {**params, "_meta": meta}

    answer = answered(agents, body, **_named(headers), **{"mcp-name": "note"})

    assert code_of(answer) in (INVALID_PARAMS, HEADER_MISMATCH)
    assert agents.world.live_ids() == []


WRONG: list[tuple[str, Any, str]] = [
    ("note", {}, "required"),
    ("note", {"category": "todo"}, "content"),
    ("note", {"category": "todo", "colour": "red"}, "colour"),
    ("note", {**NOTE, "category": "gossip"}, "category"),
    ("note", {**NOTE, "content": 1}, "content"),
    ("note", {**NOTE, "content": None}, "content"),
    ("note", {**NOTE, "content": {"a": 1}}, "content"),
    ("note", {**NOTE, "tags": "x, y"}, "tags"),
    ("note", {**NOTE, "tags": [1]}, "tags.0"),
    ("note", {**NOTE, "tags": ["x"] * 21}, "tags"),
    ("note", {**NOTE, "space_id": 1}, "space_id"),
    ("notes", {"notes": []}, "notes"),
    ("notes", {"notes": [NOTE] * 101}, "notes"),
    ("notes", {"notes": [NOTE, {}]}, "notes.1"),
    ("notes", {"notes": {"0": NOTE}}, "notes"),
    ("search", {"q": ""}, "q"),
    ("search", {"q": "x", "limit": 0}, "limit"),
    ("search", {"q": "x", "limit": 10**99}, "limit"),
    ("search", {"q": "x", "limit": "eight"}, "limit"),
    ("search", {"q": "x", "limit": True}, "limit"),
    ("search", {"q": "x", "limit": 1.5}, "limit"),
    ("start_session", {"lang": "xx"}, "lang"),
    ("remember", {"content": "x", "kind": "rumour"}, "kind"),
    ("remember", {"content": "x", "subjects": [None]}, "subjects.0"),
    ("consolidate", {"wait": "yes"}, "wait"),
    ("start_session", {"max_chars": "8"}, "max_chars"),
    ("start_session", {"max_chars": 1}, "max_chars"),
    ("read", {"id": ["x"]}, "id"),
    ("poll", {"handle": ["x"]}, "handle"),
]


@BOTH
@each(("tool", "arguments", "named"), WRONG, ids=range(len(WRONG)))
def test_arguments_that_do_not_fit_the_schema_are_named_and_nothing_is_done(warm, protocol, tool, arguments, named):
    agents = warm
    agents.protocol = protocol

    told = agents.refused(tool, **arguments)

    assert named in told
    assert told.endswith("[invalid_request]")
    assert len(told) < 2_000
    assert agents.world.client.requests == []


@BOTH
@each(
    "arguments",
    [
        '{"category": "todo", "content": "\\ud800"}',
        '{"category": "todo", "content": "x", "tags": ["\\udfff"]}',
        '{"category": "todo", "content": "x", "\\ud800": 1}',
        '{"category": "todo", "content": "x", "space_id": "\\ud800"}',
    ],
)
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(agents, protocol, arguments):
    body, headers = asked("tools/call", {"name": "note", "arguments": {"x": 0}}, protocol)
    text = json.dumps(body).replace('{"x": 0}', arguments)

    answer = answered(agents, text, **_named(headers), **{"mcp-name": "note"})

    told = json.loads(answer["body"])
    assert "error" in told or told["result"]["isError"]
    assert agents.world.live_ids() == []


@BOTH
@each("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000, "-" + "9" * 10_000, "1e-999"])
def test_a_number_that_is_none_or_has_no_end_is_refused(agents, protocol, number):
    body, headers = asked("tools/call", {"name": "search", "arguments": {"q": "x", "limit": 0}}, protocol)
    text = json.dumps(body).replace('"limit": 0', f'"limit": {number}')

    answer = answered(agents, text, **_named(headers), **{"mcp-name": "search"})

    told = json.loads(answer["body"], parse_constant=_no_constant)
    assert "error" in told or told["result"]["isError"]


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


@BOTH
@each("message_id", [0, -1, 2**53, "x", "", "x" * 10_000, "ü\x00", 1.5, True, None])
def test_the_id_comes_back_as_it_was_sent_or_is_refused(agents, protocol, message_id):
    body, headers = asked("tools/list", None, protocol, message_id=message_id)

    answer = answered(agents, body, **_named(headers))

    told = json.loads(answer["body"]) if answer["body"] else {}
    if "result" in told:
        assert (told["id"], type(told["id"])) == (message_id, type(message_id))
    else:
        assert answer["statusCode"] in (202, 400)


@BOTH
@each("depth", [50, 500, 5_000, 100_000])
def test_arguments_that_are_nested_deeply_are_refused(agents, protocol, depth):
    body, headers = asked("tools/call", {"name": "note", "arguments": {"x": 0}}, protocol)
    text = json.dumps(body).replace('{"x": 0}', '{"x":' * depth + "0" + "}" * depth)

    answer = answered(agents, text, **_named(headers), **{"mcp-name": "note"})

    told = json.loads(answer["body"])
    assert "error" in told or told["result"]["isError"]
    assert len(answer["body"]) < 3_000


@BOTH
@each("place", ["tools/list", "resources/list", "prompts/list", "resources/templates/list"])
@each("cursor", ["x", "../x", "\x00", "Li4vLi4v", "x" * 100_000], ids=range(5))
def test_a_cursor_that_no_page_gave_is_refused_before_the_store_is_asked(warm, protocol, place, cursor):
    agents = warm
    agents.protocol = protocol

    refused = agents.error(place, {"cursor": cursor})

    assert refused["code"] == INVALID_PARAMS
    assert len(refused["message"]) < 1_000
    assert agents.world.client.requests == []


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@FUZZED
@given(st.sampled_from(sorted(CORE)), st.dictionaries(st.sampled_from([*"abc", "content", "space_id", "limit"]), ANY))
@example("note", {"content": "x" * 100_000, "category": {"a": math.pi}})
def test_whatever_the_arguments_are_a_tool_answers_in_words(agents, tool, arguments):
    _words(agents, tool, arguments)


@pytest.mark.slow
@FUZZED
@given(st.data())
@pytest.mark.parametrize("tool", sorted(CORE))
def test_whatever_fits_its_schema_a_tool_answers_in_words(agents, tools, tool, data):
    arguments = data.draw(fitting(tools[tool]["inputSchema"]))

    _words(agents, tool, arguments)


def _words(agents: Agents, tool: str, arguments: Any) -> None:
    agents.world.agent.queue.clear()
    found = agents.result(tool, arguments)

    text = found["content"][0]["text"]
    assert text.strip()
    assert "[internal_error]" not in text
    assert_tells_nothing(text)
    assert found.get("isError") is True or found["structuredContent"]

"""Who may call what: each request's token decides, in the space that is named, or in the only one it has."""

import json
from typing import Any

import pytest

from livemem_mcp import catalog, http
from livemem_mcp.core import CORE
from livemem_mcp.session import TOOLSETS
from tests.support.cases import each
from tests.support.mcp import NEWEST_HANDSHAKE, Agents, event_of, started, token

ANN, BOB, EVE, ROOT = "lm_ann", "lm_bob", "lm_eve", "lm_root"
FULL = {"toolset": "full"}


@pytest.fixture
def service(monkeypatch) -> Agents:
    found = started(monkeypatch)
    for space_id in ("demo", "other"):
        found.world.create_space(space_id)
    found.let_in(
        token(ANN, "read", "write"),
        token(BOB, "read", name="bob"),
        token(EVE, "read", "write", spaces=("other",), name="eve"),
        token(ROOT, "read", "write", "admin", spaces=(), name="root"),
    )
    return found


@each("method", ["POST", "GET", "DELETE", "PUT", "OPTIONS", "PATCH"])
@each("plain", [None, "", "lm_nobody", "x" * 100_000, "lm_ann lm_ann", "\x00"])
def test_without_a_good_token_no_method_is_answered(service, method, plain):
    headers = {"authorization": "Bearer "} if plain == "" else {}

    answer = service.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, method=method, token=plain, headers=headers)

    assert answer["statusCode"] == 401
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"
    assert json.loads(answer["body"])["code"] == "unauthenticated"


@each("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH", "HEAD"])
def test_with_a_good_token_nothing_but_post_is_answered(service, method):
    answer = service.send(None, method=method, token=ANN)

    assert (answer["statusCode"], answer["headers"]["Allow"], answer["body"]) == (405, "POST", "")


def test_a_token_of_one_space_need_not_name_it(service):
    ann = service.as_one(ANN)

    assert ann.call("note", category="todo", content="x")["space_id"] == "demo"
    assert ann.call("note", category="todo", content="x", space_id="demo")["space_id"] == "demo"
    assert "space_id" not in ann.tools()["note"]["inputSchema"]["required"]
    assert "required" not in ann.tools()["start_session"]["inputSchema"]


def test_a_token_of_all_spaces_names_one_in_the_url_or_in_the_call(service):
    root = service.as_one(ROOT)
    query = {"space": "other"}
    note = {"category": "todo", "content": "x"}

    of_url = root.result("note", note, query=query)["structuredContent"]
    of_call = root.result("note", {**note, "space_id": "demo"}, query=query)["structuredContent"]

    assert (of_url["space_id"], of_call["space_id"]) == ("other", "demo")
    assert root.tools()["note"]["inputSchema"]["required"] == ["category", "content", "space_id"]
    assert root.tools(query=query)["note"]["inputSchema"]["required"] == ["category", "content"]
    assert "space_id" in root.refused("note", **note)


@pytest.mark.parametrize("space_id", ["other", "nowhere"])
def test_a_space_of_others_is_refused_in_the_words_of_http_whether_it_exists_or_not(service, space_id):
    ann = service.as_one(ANN)
    event = {"authorization": f"Bearer {ANN}"}
    over_http = _summary_over_http(ann, space_id, event)

    told = ann.refused("start_session", space_id=space_id)
    by_url = ann.result("start_session", query={"space": space_id})

    assert told == f"{over_http['detail']} {catalog.words()['errors']['forbidden']} [{over_http['code']}]"
    assert (by_url["isError"], by_url["content"][0]["text"]) == (True, told)
    assert "structuredContent" not in by_url


def _summary_over_http(agents: Agents, space_id: str, headers: dict[str, str]) -> dict[str, str]:
    route = f"/v1/spaces/{space_id}/summary"
    context = {"http": {"method": "GET", "path": route}, "requestId": "x", "stage": "$default"}
    event = {
        "routeKey": "GET /v1/spaces/{space_id}/summary",
        "rawPath": route,
        "pathParameters": {"space_id": space_id},
        "headers": headers,
        "requestContext": context,
    }
    status, body = agents.http("reads", event)
    assert status == 403
    return dict(body)


@each("tool", sorted(set(CORE) - {"poll"}))
def test_every_core_tool_refuses_a_space_of_others(service, tool):
    valid: dict[str, dict[str, Any]] = {
        "note": {"category": "todo", "content": "x"},
        "notes": {"notes": [{"category": "todo", "content": "x"}]},
        "read": {"id": "rules"},
        "search": {"q": "x"},
        "context": {"q": "x"},
        "remember": {"content": "x"},
        "ask": {"message": "x"},
    }
    before = set(service.world.inner.objects)

    told = service.as_one(ANN).refused(tool, **valid.get(tool, {}), space_id="other")

    assert f"may not use this space. {catalog.words()['errors']['forbidden']} [forbidden]" in told
    assert {key for key in set(service.world.inner.objects) - before if "last_used" not in key} == set()


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_a_token_that_only_reads_sees_and_may_call_only_what_reads(service, toolset):
    bob = service.as_one(BOB)

    listed = bob.tools(query={"toolset": toolset})

    assert {"start_session", "search", "context", "ask", "poll"} <= set(listed)
    assert not {"note", "notes", "remember", "consolidate", "delete_space"} & set(listed)
    writes = {name for name, tool in listed.items() if not tool["annotations"].get("readOnlyHint")}
    # A question leaves its own record, an export an archive for a day; and every token may replace itself.
    assert writes - {"ask"} == ({"rotate_token", "create_export"} if toolset == "full" else set())
    refused = bob.error("tools/call", {"name": "note", "arguments": {"category": "todo", "content": "x"}})
    assert (refused["code"], refused["message"]) == (-32602, "Unknown tool: note")
    assert service.world.live_ids() == []


def test_the_toolset_read_changes_nothing_whatever_the_token_may(service):
    root = service.as_one(ROOT)

    listed = root.tools(query={"toolset": "read"})

    assert all(tool["annotations"].get("readOnlyHint") for name, tool in listed.items() if name != "ask")
    assert set(listed) < set(root.tools(query=FULL))
    assert "list_spaces" in listed


def test_the_toolset_core_is_the_default_and_part_of_full(service):
    root = service.as_one(ROOT)

    core, full = root.tools(), root.tools(query=FULL)

    assert list(core) == list(CORE)
    assert list(full)[: len(core)] == list(core)
    assert {"create_space", "delete_space", "create_token", "list_spaces"} <= set(full)


def test_what_needs_a_permission_is_listed_for_those_alone_who_have_it(service):
    ann, root = (set(service.as_one(one).tools(query=FULL)) for one in (ANN, ROOT))

    assert ann < root
    assert {"delete_space", "create_token", "collect_garbage"} <= root - ann


def test_the_function_that_carries_a_tool_out_asks_for_the_permission_once_more(service):
    # The list is a help, not the lock: what is listed for a token may be refused in a space that it may not use.
    ann = service.as_one(ANN)

    refused = ann.result("get_rules", {"space_id": "other"}, query=FULL)

    assert [function for function, _ in service.invoked] == ["reads"]
    assert (refused["isError"], refused["content"][0]["text"]) == (
        True,
        f"The token 'ann' may not use this space. {catalog.words()['errors']['forbidden']} [forbidden]",
    )


def test_who_calls_what_is_not_listed_for_the_token_makes_nobody_work(service):
    unknown = service.as_one(ANN).error("tools/call", {"name": "create_token", "arguments": {}}, query=FULL)

    assert (unknown["code"], unknown["message"]) == (-32602, "Unknown tool: create_token")
    assert service.invoked == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"toolset": "all"}, "toolset"),
        ({"toolset": ""}, "toolset"),
        ({"tools": "core"}, "tools"),
        ({"space": "no space"}, "space_id"),
        ({"space": "../demo"}, "space_id"),
    ],
)
def test_what_is_wrong_in_the_url_is_named(service, query, field):
    answer = service.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, token=ANN, query=query)

    assert answer["statusCode"] == 422
    assert field in json.dumps(json.loads(answer["body"])["errors"])


def test_a_token_that_is_revoked_is_let_in_no_more(service):
    ann = service.as_one(ANN)
    ann.call("start_session")
    service.let_in()

    assert service.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, token=ANN)["statusCode"] == 401


HOSTILE = [
    "http://localhost:80@evil.example",
    "http://localhost:80:@evil.example",
    "http://127.0.0.1:80@evil.example:443",
    "http://localhost:pw@evil.example",
    "http://@localhost",
    "http://localhost@",
    "http://localhost:",
    "http://localhost:80#@evil.example",
    "http://localhost/",
    "http://localhost\\@evil.example",
    "http://localhost:80 @evil.example",
    "http://localhost%00.evil.example",
    "http://localhost%2eevil.example",
    "http://localhost\n.evil.example",
    "http://localhost.",
    "http://localhost:80, http://evil.example",
    "http://[::1]@evil.example",
    "http://[::1]:80@evil.example",
    "http://[::1].evil.example",
    "http://[::1%25eth0]",
    "http://127.0.0.1.evil.example",
    "http://2130706433",
    "http://loc\u0430lhost",
    "http://localhost\uff0eevil.example",
    "http:localhost",
    "//localhost",
    "localhost",
    "file://localhost",
    "javascript://localhost",
    "http://localhost:99999999999",
]
"""None of them is the origin of a page on this machine."""


@each("origin", HOSTILE)
@each(("host", "source"), [("localhost:3000", "127.0.0.1"), ("api.example.com", "192.0.2.1")])
def test_an_origin_that_only_looks_like_this_machine_is_refused(service, origin, host, source):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    event = event_of(body, "POST", ANN, {}, {"origin": origin, "host": host})
    event["requestContext"]["http"]["sourceIp"] = source

    assert http.handle(service.world.process, event, service.invoke)["statusCode"] == 403


@each(
    ("origin", "host", "source", "status"),
    [
        (None, "api.example.com", "192.0.2.1", 200),
        ("https://api.example.com", "api.example.com", "192.0.2.1", 200),
        ("https://evil.example", "api.example.com", "192.0.2.1", 403),
        ("null", "api.example.com", "192.0.2.1", 403),
        ("", "api.example.com", "192.0.2.1", 403),
        ("null", "", "192.0.2.1", 403),
        ("http://[::1", "", "192.0.2.1", 403),
        ("http://localhost:5173", "api.example.com", "192.0.2.1", 200),
        ("http://localhost:5173", "127.0.0.1:3000", "127.0.0.1", 200),
        ("http://localhost:5173", "[::1]:3000", "::1", 200),
        ("http://evil.example", "127.0.0.1:3000", "127.0.0.1", 403),
        ("http://evil.example:3000", "evil.example:3000", "127.0.0.1", 403),
        ("http://localhost.evil.example", "localhost:3000", "127.0.0.1", 403),
        ("http://localhost@evil.example", "localhost:3000", "127.0.0.1", 403),
        ("http://[::1", "localhost:3000", "127.0.0.1", 403),
        ("http://\x00", "localhost:3000", "127.0.0.1", 403),
    ],
)
def test_a_web_page_is_answered_on_this_machine_or_of_the_services_own_host(service, origin, host, source, status):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"origin": origin, "host": host, "mcp-protocol-version": NEWEST_HANDSHAKE}
    event = event_of(body, "POST", ANN, {}, headers)
    event["requestContext"]["http"]["sourceIp"] = source
    answer = http.handle(service.world.process, event, service.invoke)

    assert answer["statusCode"] == status, answer
    if status == 403:
        assert json.loads(answer["body"])["code"] == "forbidden"

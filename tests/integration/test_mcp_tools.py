"""The tools that are made of routes: each gives what its route gives over HTTP, in a world that is the same."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem_mcp import catalog, elsewhere
from tests.integration.test_content import BODIES, QUERIES
from tests.support import hostile
from tests.support.cases import each
from tests.support.functions import request
from tests.support.mcp import Agents, answered, nobody, routes_of, started, token
from tests.support.part import part
from tests.support.routes import VALUES
from tests.support.world import BOOTSTRAP_KEY, World

FULL = {"toolset": "full"}
ANN = "lm_ann"
CATALOG = {name: catalog.operations()[name] for name in catalog.tools() if name in catalog.operations()}
CHANGING = ("token", "hash", "url", "upload_id", "expires_at", "fields", "token_hash", "checked_at")
"""What is made anew for each who asks."""
DAMAGED = "mine/_runs/01ARZ3NDEKTSV4RRFFQ69G5AAA.json"
"""An object that nobody can read."""
SENT: dict[str, dict[str, Any]] = {
    "put_bank_file": {"content": "# Log\n\nAnew.\n", "reason": "x"},
    "patch_bank_file": {"edits": [{"op": "delete_section", "heading": "## Log"}], "reason": "x"},
    "create_space": {"space_id": "another"},
    "erase_items": {"ids": [], "agent": "ann"},
    "delete_bank_file": {"reason": "x"},
}
REFUSED = {
    "approve_plan": "no plan waits",
    "refuse_plan": "no plan waits",
    "rotate_token": "the bootstrap key is rotated where it was set",
    "split_memory": "nothing was merged into it",
}
"""Tools that cannot do what they are asked in the world of these tests, and why."""


@pytest.fixture(scope="module")
def furnished() -> tuple[World, dict[str, str]]:
    """A world with a space that has something of most kinds, and the values of the names in paths."""
    with pytest.MonkeyPatch.context() as patch:
        agents = started(patch)
        world = agents.world
        world.create_space("mine")
        world.note("The store is the queue.", space_id="mine")
        run = world.consolidate("mine")
        world.note("It is measured.", space_id="mine")
        known = storing.store(world.process, "mine", "ann", MemoryDraft("Ann looks after the store.", "fact"))
        backup = world.back_up("mine")
        world.clock.move(1)
        agents.let_in(token(ANN, "read", spaces=("mine",)))
        conversation = _made(agents, "conversations", "/v1/spaces/{space_id}/conversations", {})["conversation_id"]
        path = {"conversation_id": conversation}
        turns = "/v1/spaces/{space_id}/conversations/{conversation_id}/turns"
        _made(agents, "conversations", turns, {"user_message": "Who looks after the store?"}, **path)
        room = "/v1/spaces/{space_id}/rooms/{room}/messages"
        _made(agents, "rooms", room, {"author": "Ann", "content": "It runs."}, room="general")
        world.settle()
        world.inner.put_object(Bucket="bucket", Key=DAMAGED, Body=b"{")
        world.settle()
        found = {
            **VALUES,
            **path,
            "note_id": world.live_ids("mine")[0],
            "run_id": run.job_id,
            "path": "log.md",
            "memory_id": known.memory.memory_id,
            "backup_id": backup.job_id,
            "job": f"mine.backup.{backup.job_id}",
            "token_hash": token(ANN).hash.removeprefix("sha256:"),
            "turn_index": "1",
        }
    return world, found


def _made(agents: Agents, function: str, route: str, body: Any, **path: Any) -> Any:
    event = request("POST", route, token=BOOTSTRAP_KEY, body=body, space_id="mine", **path)
    status, answer = agents.http(function, event)
    assert status < 300, answer
    return answer


def arguments_of(tool: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Good arguments for a tool."""
    operation = CATALOG[tool]
    key = f"{operation['method']} /v1{operation['path']}"
    fields = operation["fields"]
    found = {name: values[name] for name, field in fields.items() if field["in"] == "path"}
    found |= BODIES.get(key, {}) | QUERIES.get(key, {}) | SENT.get(tool, {})
    return {name: _typed(fields[name]["schema"], value) for name, value in found.items() if name in fields}


def _typed(schema: Mapping[str, Any], value: Any) -> Any:
    return value == "true" if schema.get("type") == "boolean" and isinstance(value, str) else value


def http_event(tool: str, arguments: Mapping[str, Any], accept: str) -> dict[str, Any]:
    """The same as a client of the HTTP API sends it."""
    operation, defaults = CATALOG[tool], catalog.words()["tools"][tool].get("defaults", {})
    sent: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}, "header": {}, "lines": {}}
    for name, value in {**defaults, **arguments}.items():
        sent[operation["fields"][name]["in"]][name.replace("_", "-") if name == "idempotency_key" else name] = value
    query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in sent["query"].items()}
    takes_json = any(field["in"] == "body" for field in operation["fields"].values())
    body: Any = sent["body"] if takes_json else sent["lines"].get("lines")
    headers: dict[str, str] = {"accept": accept, **sent["header"]}
    path: Any = sent["path"]
    method, route = operation["method"], f"/v1{operation['path']}"
    return request(method, route, token=BOOTSTRAP_KEY, body=body, query=query, headers=headers, **path)


def steady(value: Any) -> Any:
    """JSON values without what is made anew for each who asks."""
    if isinstance(value, dict):
        return {name: "..." if name in CHANGING else steady(part) for name, part in value.items()}
    return [steady(part) for part in value] if isinstance(value, list) else value


@pytest.fixture
def agents(monkeypatch, furnished) -> Agents:
    return started(monkeypatch, furnished[0].fork())


@pytest.mark.parametrize("name", CATALOG)
def test_a_tool_gives_what_its_route_gives(agents, furnished, name):
    operation = CATALOG[name]
    arguments = arguments_of(name, furnished[1])
    twin = agents.world
    answers = {}
    for accept in ("application/json", "text/markdown"):
        agents.world = furnished[0].fork()
        answers[accept] = answered(operation["function"], http_event(name, arguments, accept))
    by_http = answers["application/json"]
    agents.world = twin

    by_tool = agents.result(name, arguments, query=FULL)

    body = json.loads(by_http["body"]) if by_http["body"] else {}
    text = by_tool["content"][0]["text"]
    if by_http["statusCode"] >= 400:
        assert name in REFUSED, body
        assert by_tool["isError"] is True
        step = catalog.words()["errors"][body["code"]]
        assert text == " ".join(filter(None, (body["detail"], step, f"[{body['code']}]")))
        return
    assert name not in REFUSED
    assert by_tool["isError"] is False, text
    assert steady(by_tool["structuredContent"]) == steady(body)
    if operation.get("markdown"):
        assert text.strip() == answers["text/markdown"]["body"].strip()
    elif body:
        assert steady(json.loads(text)) == steady(body)
    else:
        assert text == "Done.\n"
    _same_bucket(agents.world, name)


def _same_bucket(world: World, name: str) -> None:
    assert world.keys("mine/") or name == "delete_space"


def test_every_tool_has_words_a_valid_schema_and_annotations_that_agree_with_the_method(agents):
    listed = agents.tools(query=FULL)
    for name, operation in CATALOG.items():
        tool = listed[name]
        schema, hints = tool["inputSchema"], tool["annotations"]
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False), name
        assert set(schema.get("required", ())) <= set(schema["properties"]), name
        assert tool["title"], name
        assert tool["description"], name
        assert hints.get("readOnlyHint", False) == (operation["method"] == "GET"), name
        assert ("destructiveHint" in hints) == (operation["method"] != "GET"), name
        assert hints.get("destructiveHint") is True or operation["method"] != "DELETE", name
        assert hints.get("idempotentHint") is True or operation["method"] not in ("PUT", "DELETE"), name


def test_no_tool_has_the_name_of_another(agents):
    names = [tool["name"] for tool in agents.good("tools/list", query=FULL)["tools"]]

    assert len(names) == len(set(names))
    assert all(name.replace("_", "").isalpha() and len(name) <= 64 for name in names)


def test_a_space_that_is_named_by_the_url_need_not_be_named_again(agents):
    query = {**FULL, "space": "mine"}

    listed = agents.tools(query=query)
    rules = agents.result("get_rules", query=query)
    found = agents.result("list_notes", {"limit": 1}, query=query)

    assert "required" not in listed["get_rules"]["inputSchema"]
    assert rules["structuredContent"] == {"rules": "Keep a log."}
    assert len(found["structuredContent"]["items"]) == 1


def test_who_deletes_the_space_of_the_url_still_confirms_which_one_it_is(agents):
    query = {**FULL, "space": "mine"}

    refused = agents.result("delete_space", {"confirm": "other"}, query=query)

    assert agents.tools(query=query)["delete_space"]["inputSchema"]["required"] == ["confirm"]
    assert refused["isError"] is True
    assert agents.world.keys("mine/")


@pytest.mark.slow
@each("name", part([name for name, one in catalog.tools().items() if one.schema.get("required")], 3))
def test_what_is_missing_or_too_much_is_told_before_any_function_is_asked(agents, name):
    missing = agents.result(name, query=FULL)
    surplus = agents.result(name, {"colour": "red"}, query=FULL)

    assert missing["isError"] is surplus["isError"] is True
    assert "required" in missing["content"][0]["text"]
    assert agents.invoked == []


def test_a_function_that_does_not_answer_is_told_with_what_can_be_done(agents):
    agents.invoke = nobody  # type: ignore[method-assign]

    told = agents.result("get_rules", {"space_id": "mine"}, query=FULL)

    assert told["isError"] is True
    assert told["content"][0]["text"].endswith("[store_unavailable]")


@each(
    "answer",
    [
        {},
        {"errorMessage": "secret", "errorType": "RuntimeError"},
        {"statusCode": 500},
        {"statusCode": 502, "body": "<html>secret</html>"},
        {"statusCode": 404, "body": "null"},
        {"statusCode": 404, "body": '{"detail": "x"}'},
        {
            "statusCode": 429,
            "body": '{"status": 429, "code": "x", "detail": "x"}',
            "headers": {"Retry-After": "secret"},
        },
        {"statusCode": None, "body": "secret"},
        {"statusCode": 200, "body": "secret"},
        {"statusCode": 200, "body": "[]"},
        {"statusCode": 200, "body": "e30=", "isBase64Encoded": True},
    ],
    ids=range(11),
)
def test_what_no_function_of_ours_answers_is_a_failure_and_nothing_of_it_is_told(agents, answer):
    agents.invoke = lambda function, event: answer  # type: ignore[method-assign]

    told = agents.result("get_rules", {"space_id": "mine"}, query=FULL)

    assert told["isError"] is True
    assert told["content"][0]["text"].endswith("[store_unavailable]")
    assert "secret" not in told["content"][0]["text"]


def test_the_callers_token_goes_along_and_no_other_header_of_the_request(agents):
    agents.result("get_rules", {"space_id": "mine"}, query=FULL, headers={"x-forwarded-for": "192.0.2.7"})

    ((function, event),) = agents.invoked
    assert function == "reads"
    assert event["headers"] == {"authorization": f"Bearer {BOOTSTRAP_KEY}"}
    assert event["requestContext"]["requestId"] == "JKJaXmPLvHcESHA="


def test_when_to_try_again_is_told_as_over_http(agents):
    problem = {"status": 429, "code": "too_soon", "detail": "Too soon."}
    agents.invoke = lambda function, event: {  # type: ignore[method-assign]
        "statusCode": 429,
        "headers": {"Retry-After": "7"},
        "body": json.dumps(problem),
    }

    told = agents.result("start_consolidation", {"space_id": "mine"}, query=FULL)

    assert told["content"][0]["text"] == "Too soon. Try again in 7 s. [too_soon]"


def test_every_function_that_a_tool_needs_is_named_in_the_settings(agents):
    for function in {operation["function"] for operation in CATALOG.values()}:
        assert getattr(agents.world.settings, f"{function}_function_name")
        assert routes_of(function).needs


def test_a_route_with_markdown_is_rendered_here_as_it_is_there(agents):
    for operation in CATALOG.values():
        if operation.get("markdown"):
            assert callable(elsewhere.rendering(operation))


AS_JSON = {"1.0": 1, "1e3": 1000}
"""Texts that are whole numbers of JSON. A tool reads a number that comes as text (livemem_mcp/arguments.py)."""


def test_a_number_that_is_sent_as_json_text_is_that_number(agents):
    for text, number in AS_JSON.items():
        as_text, as_number = (
            agents.result("get_consolidation", {"space_id": "mine", "number": value}, query=FULL)
            for value in (text, number)
        )

        assert as_text == as_number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "name", "texts"),
    [
        ("get_rules", "space_id", hostile.NAMES),
        ("get_bank_file", "path", hostile.PATHS),
        ("get_consolidation", "number", [text for text in hostile.NUMBERS if text not in AS_JSON]),
        ("get_conversation", "conversation_id", hostile.NAMES),
    ],
)
def test_no_name_that_breaks_its_rule_leads_out_of_the_space(agents, tool, name, texts):
    agents.let_in(token(ANN, "read", "write", "admin", spaces=()))
    ann = agents.as_one(ANN)
    ann.result("get_rules", {"space_id": "mine"}, query=FULL)
    for text in part((text for text in texts if "\ud800" not in text), 4):
        agents.world.client.reset()

        told = ann.result(tool, {"space_id": "mine", name: text}, query=FULL)

        assert told["isError"] is True, text[:50]
        asked = {key for _, key in agents.world.client.requests if not key.startswith("_system/")}
        assert asked == set(), text[:50]


@each(("tool", "name"), [("get_conversation", "conversation_id"), ("get_space", "space_id")])
@each("value", ["", "a/turns", "a/"])
def test_a_name_with_a_slash_is_told_as_such_and_reaches_no_other_operation(agents, tool, name, value):
    told = agents.result(tool, {"space_id": "mine", name: value}, query=FULL)

    assert told["content"][0]["text"] == f"{name}: must not be empty, nor hold a slash [invalid_request]"
    assert agents.invoked == []

"""Resources, prompts and completion: what people put into a conversation by hand."""

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hostile
from tests.support.cases import each
from tests.support.mcp import MODERN, Agents, started, token

ANN, EVE, ROOT, WRITER = "lm_ann", "lm_eve", "lm_root", "lm_writer"
NOT_THERE = -32602


@pytest.fixture
def service(monkeypatch) -> Agents:
    found = started(monkeypatch)
    for space_id in ("demo", "other"):
        found.world.create_space(space_id, rules=f"Rules of {space_id}.")
    found.world.note("The store is the queue.")
    found.world.consolidate()
    found.let_in(
        token(ANN, "read", "write"),
        token(EVE, "read", spaces=("other",), name="eve"),
        token(ROOT, "read", "write", "admin", spaces=(), name="root"),
        token(WRITER, "write", name="writer"),
    )
    return found


@pytest.fixture
def ann(service) -> Agents:
    return service.as_one(ANN)


def read(agents: Agents, uri: str) -> str:
    (content,) = agents.good("resources/read", {"uri": uri})["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
    return str(content["text"])


def test_every_listed_resource_can_be_read(ann):
    listed = ann.good("resources/list")["resources"]

    texts = {one["uri"]: read(ann, one["uri"]) for one in listed}

    assert list(texts) == [f"livemem://demo/{name}" for name in ("summary", "rules", "synthesis", "bank/log.md")]
    assert texts["livemem://demo/rules"] == "Rules of demo."
    assert texts["livemem://demo/synthesis"] == "1 notes."
    assert "- The store is the queue." in texts["livemem://demo/bank/log.md"]
    assert "The store is the queue." in texts["livemem://demo/summary"]
    assert listed[-1]["size"] == len(texts["livemem://demo/bank/log.md"].encode())


def test_a_space_without_a_synthesis_lists_none(service):
    listed = service.as_one(EVE).good("resources/list")["resources"]

    assert [one["uri"] for one in listed] == ["livemem://other/summary", "livemem://other/rules"]


def test_the_resources_of_many_spaces_come_page_by_page(service):
    for number in range(12):
        service.world.create_space(f"s{number:02}")
    root = service.as_one(ROOT)

    first = root.good("resources/list")
    second = root.good("resources/list", {"cursor": first["nextCursor"]})

    spaces = [{one["uri"].split("/")[2] for one in page["resources"]} for page in (first, second)]
    assert (len(spaces[0]), "nextCursor" in second) == (10, False)
    assert spaces[0] & spaces[1] == set()
    assert spaces[0] | spaces[1] == {"demo", "other", *(f"s{number:02}" for number in range(12))}


def test_a_token_that_may_not_read_is_shown_nothing(service):
    writer = service.as_one(WRITER)

    refused = writer.error("resources/list")

    assert "lacks the permission 'read'" in refused["message"]
    assert "Rules" not in str(writer.error("resources/read", {"uri": "livemem://demo/rules"}))


@each(
    "uri",
    [
        "livemem://other/rules",
        "livemem://nowhere/rules",
        "livemem://demo/nothing",
        "livemem://demo/bank/",
        "livemem://demo/bank/missing.md",
        "livemem://demo/bank/../_rules.md",
        "livemem://demo/bank/%2e%2e/_rules.md",
        "livemem://demo/bank/..%2f..%2fother/_rules.md",
        "livemem://demo/bank/%252e%252e/_rules.md",
        "livemem://demo%2f..%2fother/rules",
        "livemem://../rules",
        "livemem://%2e%2e/rules",
        "livemem:///rules",
        "livemem://demo/rules/",
        "livemem://demo/rules?x=1",
        "livemem://demo/rules#x",
        "livemem://demo:80/rules",
        "livemem://x@demo/rules",
        "LIVEMEM://demo/rules",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "",
        "livemem://demo/bank/" + "a" * 10_000 + ".md",
        "livemem://demo/bank/a\x00.md",
        "livemem://demo/bank/%00.md",
        "livemem://demo/bank/%ff%fe.md",
        "livemem://demo/rules\n",
    ],
)
@each("protocol", ["2025-11-25", MODERN])
def test_an_address_at_which_the_token_finds_nothing_is_an_error_that_names_it(ann, uri, protocol):
    ann.protocol = protocol
    headers = {"mcp-name": uri} if uri.isprintable() and uri.isascii() else {"mcp-name": _encoded(uri)}

    refused = ann.error("resources/read", {"uri": uri}, headers=headers)

    assert (refused["code"], refused["data"]) == (NOT_THERE, {"uri": uri})
    assert len(refused["message"]) < 700
    assert "Rules of other" not in str(refused)


def _encoded(uri: str) -> str:
    return f"=?base64?{base64.b64encode(uri.encode()).decode()}?="


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.sampled_from(hostile.PATHS) | st.text("./%2efF\\", max_size=12))
def test_whatever_stands_in_an_address_nothing_outside_of_the_space_is_read(ann, text):
    ann.call("start_session")
    ann.world.client.reset()
    uri = f"livemem://demo/bank/{text}".encode(errors="replace").decode()

    ann.ask("resources/read", {"uri": uri})

    assert {key for _, key in ann.world.client.requests if not key.startswith(("demo/", "_system/"))} == set()
    assert not [key for _, key in ann.world.client.requests if ".." in key.split("/")]


def test_the_addresses_are_told_by_templates(ann):
    templates = ann.good("resources/templates/list")["resourceTemplates"]

    assert {one["uriTemplate"] for one in templates} == {
        "livemem://{space_id}/summary",
        "livemem://{space_id}/rules",
        "livemem://{space_id}/synthesis",
        "livemem://{space_id}/bank/{+path}",
    }
    assert all(one["name"] and one["description"] for one in templates)


def test_completion_offers_the_spaces_and_the_files_that_the_token_may_see(service, ann):
    template = {"type": "ref/resource", "uri": "livemem://{space_id}/bank/{+path}"}
    root = service.as_one(ROOT)

    def offered(agents: Agents, name: str, begun: str, known: dict[str, str] | None = None) -> list[str]:
        params = {"ref": template, "argument": {"name": name, "value": begun}}
        completion = agents.good("completion/complete", params | ({"context": {"arguments": known}} if known else {}))
        return list(completion["completion"]["values"])

    assert offered(root, "space_id", "") == ["demo", "other"]
    assert offered(root, "space_id", "o") == ["other"]
    assert offered(ann, "space_id", "") == ["demo"]
    assert offered(ann, "path", "l") == ["log.md"]
    assert offered(ann, "path", "x") == []
    assert offered(root, "path", "", {"space_id": "demo"}) == ["log.md"]
    assert offered(root, "path", "") == []
    assert offered(service.as_one(WRITER), "space_id", "") == []
    assert offered(ann, "anything", "") == []


def test_completion_tells_nothing_of_a_space_of_others(ann):
    template = {"type": "ref/resource", "uri": "livemem://{space_id}/bank/{+path}"}
    params = {"ref": template, "argument": {"name": "path", "value": ""}}

    refused = ann.error("completion/complete", params | {"context": {"arguments": {"space_id": "other"}}})

    assert "may not use this space" in refused["message"]


def test_the_prompts_name_their_arguments_and_the_space_only_where_it_must_be_named(service, ann):
    of_ann = {one["name"]: one for one in ann.good("prompts/list")["prompts"]}
    of_root = {one["name"]: one for one in service.as_one(ROOT).good("prompts/list")["prompts"]}

    assert set(of_ann) == {"start_session", "end_session"}
    assert [argument["required"] for argument in of_ann["start_session"]["arguments"]] == [False, False]
    assert [argument["required"] for argument in of_root["start_session"]["arguments"]] == [True, False]


def test_start_session_loads_the_memory_and_the_task(ann):
    (message,) = ann.good("prompts/get", {"name": "start_session", "arguments": {"task": "Fix {it}."}})["messages"]

    assert message["role"] == "user"
    assert "The store is the queue." in message["content"]["text"]
    assert "The task: Fix {it}." in message["content"]["text"]


def test_what_the_memory_holds_is_put_into_the_prompt_as_it_is(ann):
    ann.call("note", category="todo", content="Use {task} and {0} and %s.")

    (message,) = ann.good("prompts/get", {"name": "start_session"})["messages"]

    assert "Use {task} and {0} and %s." in message["content"]["text"]


def test_end_session_tells_what_is_left_to_do_in_the_space(ann):
    (message,) = ann.good("prompts/get", {"name": "end_session", "arguments": {"space_id": "demo"}})["messages"]

    assert "`demo`" in message["content"]["text"]
    assert "`consolidate`" in message["content"]["text"]


def test_fold_is_offered_where_the_tools_are_that_it_needs_and_names_them(ann):
    full = {one["name"]: one for one in ann.good("prompts/list", query={"toolset": "full"})["prompts"]}
    assert [argument["required"] for argument in full["fold"]["arguments"]] == [False]

    (message,) = ann.good("prompts/get", {"name": "fold"}, query={"toolset": "full"})["messages"]

    assert {"`demo`", "`fold_begin`", "`fold_end`"} <= {
        *message["content"]["text"].replace(":", " ").replace(".", " ").split()
    }


@each(
    ("name", "arguments", "told"),
    [
        ("nothing", {}, "There is no prompt 'nothing'."),
        ("x" * 10_000, {}, "There is no prompt"),
        ("start_session", {"x": "y"}, "The prompt takes no argument 'x'."),
        ("start_session", {"space_id": "other"}, "may not use this space"),
        ("start_session", {"space_id": "no space"}, "may not use this space"),
        ("end_session", {"space_id": "other"}, "may not use this space"),
        ("end_session", {"task": "x"}, "The prompt takes no argument 'task'."),
    ],
)
def test_what_no_prompt_can_do_is_told(ann, name, arguments, told):
    refused = ann.error("prompts/get", {"name": name, "arguments": arguments})

    assert refused["code"] == -32602
    assert told in refused["message"]
    assert len(refused["message"]) < 500

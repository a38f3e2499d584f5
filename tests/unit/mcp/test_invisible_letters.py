"""What nobody sees in a text reaches no terminal and no model unseen, by whichever door; what is stored stays."""

import json
import re

import pytest

from live_memory.cli import texts
from live_memory.cli.init.hooks import answers
from livemem.llm.templates import json_line
from livemem.text.invisible import visible
from tests.support.agent import responds
from tests.support.cases import each
from tests.support.functions import request
from tests.support.hidden import HOSTILE, LEGITIMATE
from tests.support.mcp import Agents, started
from tests.support.world import BOOTSTRAP_KEY

SPACE = "/v1/spaces/{space_id}"
SAID = f"The ferry {HOSTILE} {' '.join(LEGITIMATE[2:])}"
SHOWN = re.escape("\\u{1B}]0;owned\\u{7}")


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space(rules=f"Keep a log. {SAID}")
    return found


def call(agents, function, method, route, *, markdown=False, status=range(200, 300), **rest):
    headers = {"accept": "text/markdown"} if markdown else {}
    event = request(method, route, token=BOOTSTRAP_KEY, space_id="demo", headers=headers, **rest)
    answer = agents.as_one(BOOTSTRAP_KEY).invoke(function, event)
    assert answer["statusCode"] in status, answer
    return answer["body"]


def test_every_door_shows_what_nobody_sees_and_keeps_what_people_write(agents):
    # Given the same text wherever somebody can write one
    note = json.loads(call(agents, "ingest", "POST", f"{SPACE}/notes", body={"category": "todo", "content": SAID}))
    file = {"path": "log.md"}
    content = f"# Log\n\n## A\n\n{SAID}\n"
    call(agents, "admin", "PUT", f"{SPACE}/bank/{{path+}}", **file, body={"content": content})
    memory = json.loads(call(agents, "memories", "POST", f"{SPACE}/memories", body={"content": SAID}))
    said = {"author": "Zoé", "content": SAID}
    call(agents, "rooms", "POST", f"{SPACE}/rooms/{{room}}/messages", room="salon", body=said)
    begun = json.loads(call(agents, "conversations", "POST", f"{SPACE}/conversations", body={"title": SAID[:200]}))
    talk = {"conversation_id": begun["conversation_id"]}
    turn = {"user_message": SAID, "assistant_message": SAID, "tool_calls": [{"name": SAID[:150]}]}
    call(agents, "conversations", "POST", f"{SPACE}/conversations/{{conversation_id}}/turns", **talk, body=turn)

    # When it is read by each door
    told = {
        (function, route): call(agents, function, "GET", f"{SPACE}{route}", markdown=True, **rest)
        for function, route, rest in (
            ("reads", "/summary", {}),
            ("reads", "/notes", {}),
            ("reads", "/notes/{note_id}", {"note_id": note["note_id"]}),
            ("reads", "/bank", {"query": {"content": "true"}}),
            ("reads", "/bank/{path+}", file),
            ("conversations", "/conversations", {}),
            ("conversations", "/conversations/{conversation_id}/turns", talk),
            ("memories", "/memories", {}),
            ("memories", "/memories/{memory_id}", {"memory_id": memory["memory_id"]}),
            ("rooms", "/rooms/{room}/messages", {"room": "salon"}),
            ("search", "/context", {"query": {"room": "salon"}}),
        )
    }
    for query in ({"room": "salon"}, talk):
        answer = call(agents, "search", "GET", f"{SPACE}/context", query=query)
        told["JSON", f"context {[*query]}"] = json.loads(answer)["markdown"]
    for tool, arguments in (
        ("start_session", {}),
        ("read", {"id": "bank/log.md"}),
        ("list_notes", {}),
        ("get_bank_file", {"path": "log.md"}),
        ("get_rules", {}),
        ("list_turns", talk),
        ("list_messages", {"room": "salon"}),
    ):
        result = agents.result(tool, {"space_id": "demo", **arguments}, query={"toolset": "full"})
        told["MCP", tool] = result["content"][0]["text"]
        assert visible(json.dumps(result["structuredContent"], ensure_ascii=False)) == json.dumps(
            result["structuredContent"], ensure_ascii=False
        )
    for uri in ("summary", "rules", "bank/log.md"):
        read = agents.good("resources/read", {"uri": f"livemem://demo/{uri}"})
        told["resource", uri] = read["contents"][0]["text"]
    prompt = agents.good("prompts/get", {"name": "start_session", "arguments": {"space_id": "demo"}})
    told["prompt", ""] = prompt["messages"][0]["content"]["text"]
    told["terminal", ""] = texts.clean(SAID)
    told["hook", ""] = answers.memory("demo", SAID)
    agents.world.agent.queue.append(responds("Yes."))
    agents.call("ask", message=SAID, space_id="demo")
    told["model", ""] = agents.world.agent.asked[0][1]["content"]

    # Then it is shown, and only what needs a joiner or a mark has it
    for door, text in told.items():
        assert visible(text) == text, door
        assert "\x1b" not in text, door
        wanted = r"\\u001b\]0;owned\\u0007|\\\\u\{1B\}|" + SHOWN
        assert re.search(wanted, text), (door, text)
    for door in (("reads", "/notes"), ("terminal", ""), ("model", ""), ("MCP", "start_session")):
        assert "\U0001f468\u200d\U0001f469" in told[door], door
        assert "می\u200cخواهم" in told[door], door
    # and what is stored, and the JSON of the API, are what was sent.
    assert SAID in agents.world.text(f"demo/live/{note['note_id']}.md")
    assert (
        json.loads(call(agents, "reads", "GET", f"{SPACE}/notes/{{note_id}}", note_id=note["note_id"]))["content"]
        == SAID
    )
    assert agents.world.text("demo/bank/log.md") == content


@each("text", [SAID, *LEGITIMATE])
def test_a_value_in_a_prompt_is_the_same_and_nothing_in_it_is_unseen(text):
    line = json_line({"content": text})
    assert json.loads(line) == {"content": text}
    assert visible(line) == line

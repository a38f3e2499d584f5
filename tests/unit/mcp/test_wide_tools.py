"""The core tools that take more arguments in the larger toolsets: `note`, `search`, `context` and `ask`."""

import json
from typing import Any

import pytest

from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.recall import short_ids
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem_mcp import catalog
from livemem_mcp.core import CORE
from tests.support.agent import responds
from tests.support.mcp import Agents, started, token

FULL = {"toolset": "full"}
ANN = "lm_ann"
WIDE = catalog.words()["wide"]


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Agents:
    """Two spaces of a caller with something of each kind about ferries, and a third one of somebody else."""
    found = started(monkeypatch)
    world = found.world
    for space_id in ("demo", "port", "other"):
        world.create_space(space_id=space_id)
        world.note(f"The ferry of {space_id} is late.", agent="bob", space_id=space_id)
    world.note("The ferry is decided.", agent="ann", category="decision")
    for room in ("salon", "dock"):
        posting.post(world.process, "demo", room, MessageDraft("Zoe", f"The ferry is seen from the {room}."))
    world.clock.move(1)
    found.let_in(token(ANN, "read", "write", spaces=("demo", "port")))
    ann = found.as_one(ANN)
    for kind, content in (("fact", "The ferry is blue."), ("self", "I steer the ferry.")):
        called(ann, "remember", content=content, kind=kind, subjects=["boats"] if kind == "fact" else [])
    return ann


def begun(agents: Agents, cwd: str, said: str) -> str:
    """A conversation of a folder with one turn."""
    process = agents.world.process
    made = conversations.create(process, "demo", "ann", NewConversation(cwd=cwd))
    log.append(process, "demo", made.conversation_id, "ann", Draft(said, "I see."))
    return made.conversation_id


def called(agents: Agents, tool: str, /, **arguments: Any) -> Any:
    given = arguments if "spaces" in arguments else {"space_id": "demo", **arguments}
    found = agents.result(tool, given, query=FULL)
    assert not found.get("isError"), found
    return found["structuredContent"]


def refused(agents: Agents, tool: str, /, **arguments: Any) -> str:
    found = agents.result(tool, arguments, query=FULL)
    assert found["isError"] is True, found
    return str(found["content"][0]["text"])


def snippets(agents: Agents, **arguments: Any) -> list[str]:
    return sorted(hit["snippet"] for hit in called(agents, "search", q="ferry", **arguments)["items"])


def test_search_looks_in_all_of_a_space_or_in_the_part_that_an_argument_names(agents: Agents):
    one = begun(agents, "/shop", "Is the ferry at the shop?")
    two = begun(agents, "/home", "Is the ferry at home?")
    shop, home = ("Is the ferry at the shop?", "Is the ferry at home?")
    found = {
        "all": snippets(agents, limit=20),
        "author": snippets(agents, author="bob"),
        "category": snippets(agents, category="decision"),
        "kind": snippets(agents, kind="self"),
        "tag": snippets(agents, tag="boats"),
        "room": snippets(agents, room="dock"),
        "conversation": snippets(agents, conversation_id=two),
        "folder": snippets(agents, cwd="/shop"),
        "levels": snippets(agents, levels="0"),
        "summaries": snippets(agents, levels="1,2", conversation_id=one),
        "folder and author": snippets(agents, cwd="/shop", author="bob"),
        "later": snippets(agents, since="2030-01-01T00:00:00Z"),
    }

    assert len(found.pop("all")) == 8
    assert found == {
        "author": ["The ferry of demo is late."],
        "category": ["The ferry is decided."],
        "kind": ["I steer the ferry."],
        "tag": ["The ferry is blue."],
        "room": ["The ferry is seen from the dock."],
        "conversation": [home],
        "folder": [shop],
        "levels": sorted([shop, home]),
        "summaries": [],
        "folder and author": [],
        "later": [],
    }


def test_search_in_several_spaces_gives_ids_that_read_takes_and_no_space_of_others(agents: Agents):
    both = called(agents, "search", q="late", spaces="all", explain=True)["items"]
    one = called(agents, "search", q="late", spaces="port")["items"]

    assert [hit["space_id"] for hit in one] == ["port"]
    assert {hit["space_id"] for hit in both} == {"demo", "port"}
    assert all("explain" in hit for hit in both)
    assert "explain" not in one[0]
    why = called(agents, "search", q="late", space_id="demo", scope="bank", why_not=one[0]["id"])["why_not"]
    assert why == {"id": one[0]["id"], "reason": "unknown"}
    text = agents.result("search", {"q": "late", "spaces": "port"}, query=FULL)["content"][0]["text"]
    assert text.startswith(f"- port [{short_ids.short_id('notes/' + one[0]['id'])} ")
    assert refused(agents, "search", q="late", spaces="port,other").endswith("[forbidden]")


def test_search_says_which_arguments_do_not_go_together(agents: Agents):
    here: dict[str, Any] = {"q": "ferry", "space_id": "demo"}
    lost = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    told = {
        name: refused(agents, "search", **arguments)
        for name, arguments in {
            "scope": here | {"room": "dock", "scope": "bank"},
            "scope ": here | {"room": "dock", "kind": "fact"},
            "spaces": here | {"spaces": "port"},
            "cursor": here | {"cursor": "cG9ydA"},
            "spaces ": {"q": "ferry", "spaces": "port", "cwd": "/shop"},
            "spaces  ": {"q": "ferry", "spaces": "port", "room": "dock"},
            "conversation_id": here | {"conversation_id": lost, "cwd": "/shop"},
            "host": here | {"host": "laptop"},
            "min_score": here | {"min_score": 2},
            "limit": here | {"limit": 101},
            "levels": here | {"levels": "7"},
            "space_id": {"q": "ferry"},
        }.items()
    }

    assert {name: text for name, text in told.items() if not text.startswith(f"{name.strip()}: ")} == {}
    assert refused(agents, "search", **here, conversation_id=lost).endswith("[conversation_not_found]")


def test_context_is_of_a_conversation_of_a_room_or_over_all_kinds(agents: Agents):
    one = begun(agents, "/shop", "Is the ferry at the shop?")
    log.append(agents.world.process, "demo", one, "ann", Draft("And the ferry of Kiel?", "It sank."))

    known = called(agents, "context", q="Where is the ferry?", kinds="memory")
    room = called(agents, "context", room="salon", lang="fr", limit=1)
    last = called(agents, "context", conversation_id=one, max_turns=1)

    assert {item["kind"] for item in known["items"]} == {"memory"}
    assert [item["text"] for item in room["items"]] == ["The ferry is seen from the salon.", "The ferry is blue."]
    assert room["markdown"].startswith("[Contexte live")
    assert [turn["text"] for turn in last["items"]] == ["User: And the ferry of Kiel?\nAssistant: It sank."]


def test_context_says_which_arguments_do_not_go_together(agents: Agents):
    one = begun(agents, "/shop", "Is the ferry at the shop?")
    wrong: dict[str, dict[str, Any]] = {
        "q": {},
        "q ": {"kinds": "memory"},
        "kinds": {"q": "x", "room": "salon", "kinds": "memory"},
        "room": {"q": "x", "room": "salon", "conversation_id": one},
        "limit": {"q": "x", "limit": 3},
        "max_turns": {"q": "x", "max_turns": 3},
        "max_chars": {"q": "x", "room": "salon", "max_chars": 1_000},
    }

    told = {name: refused(agents, "context", space_id="demo", **arguments) for name, arguments in wrong.items()}

    assert {name: text for name, text in told.items() if not text.startswith(f"{name.strip()}: ")} == {}


def test_ask_gives_an_expression_only_where_it_is_asked_for(agents: Agents):
    agents.world.agent.queue.extend([responds("It sank.", "sad"), responds("It sank.", "sad")])

    plain = called(agents, "ask", message="Where?")
    with_face = called(agents, "ask", message="Where?", expression=True)

    assert "expression" not in plain["result"]
    assert with_face["result"]["expression"] == "sad"


def test_a_note_passes_one_of_another_space_on_and_is_written_once_under_its_key(agents: Agents):
    first = called(agents, "note", space_id="port", category="todo", content="Paint the ferry.")
    source = {"space_id": "port", "id": first["note_id"]}
    more = {"author": "zoe", "said_at": "2020-01-02T03:04:05Z", "source": source, "idempotency_key": "k"}
    written = called(agents, "note", category="todo", content="Paint it.", tags=["boats"], **more)

    assert called(agents, "note", category="todo", content="Paint it.", tags=["boats"], **more) == written
    seen = {name: written[name] for name in ("tags", "author", "said_at", "source")}
    assert seen == {"tags": ["boats"], "author": "zoe", "said_at": "2020-01-02T03:04:05Z", "source": source}
    hidden = {"space_id": "other", "id": first["note_id"]}
    assert "forbidden" in refused(agents, "note", space_id="demo", category="todo", content="x", source=hidden)


def test_a_note_or_turn_that_a_route_writes_bears_the_version_of_the_code_too(agents: Agents):
    code = {"repository": "github.com/acme/api", "branch": "feature/x", "commit": "0123456789ab"}
    talk = begun(agents, "/ferry", "Hello")
    for tool, arguments in (
        ("note", {"category": "todo", "content": "Paint it.", "author": "zoe"}),
        ("append_turn", {"conversation_id": talk, "user_message": "And now?"}),
    ):
        headers = {"livemem-code": json.dumps(code)}
        agents.result(tool, {"space_id": "demo", **arguments}, query=FULL, headers=headers)
    note, *_ = called(agents, "list_notes")["items"]
    turn, *_ = called(agents, "list_turns", conversation_id=talk)["items"]

    assert [{name: one.get(name) for name in code} for one in (note, turn)] == [code, code]


def test_core_has_the_short_forms_alone(agents: Agents):
    short, wide = agents.tools(), agents.tools(query=FULL)

    for name in WIDE:
        fields = {*short[name]["inputSchema"]["properties"]}
        assert fields < {*wide[name]["inputSchema"]["properties"]}, name
    assert agents.call("search", q="ferry", space_id="demo", room="dock")["ignored_arguments"] == ["room"]


def test_a_wide_tool_stands_for_all_operations_that_have_no_other_tool():
    stands_for = {name: {*told["of"]} for name, told in WIDE.items()}

    core = catalog.words()["core"]
    assert {name: {one for one, tool in core.items() if tool == name} for name in WIDE} == stands_for
    for name, told in WIDE.items():
        assert {*told["arguments"]} <= CORE[name].schema["properties"].keys() | {
            field for one in told["of"] for field in catalog.operations()[one]["fields"]
        }

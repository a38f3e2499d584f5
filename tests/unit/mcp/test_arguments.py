"""Each habit of `arguments.HABITS` is read as what was meant, and its ambiguous neighbours are refused."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livemem.errors import InvalidRequest
from livemem_mcp import arguments, catalog
from livemem_mcp.core import CORE
from tests.support.cases import each
from tests.support.fitting import fitting
from tests.support.mcp import Agents, started, token

ANN, BOSS = "lm_ann", "lm_boss"
FULL = {"toolset": "full"}
NOTE = {"category": "todo", "content": "x"}
EDIT = {"op": "delete_section", "heading": "# A"}
WIDE = {tool.name: tool for tool in catalog.widened(CORE)}
EVERY = {**catalog.tools(), **WIDE}


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space()
    found.let_in(token(ANN, "read", "write"), token(BOSS, "read", "write", "admin", name="boss"))
    return found.as_one(ANN)


def read(tool: str, sent: Any) -> Any:
    """What a call of a tool of `full` means, once it is checked."""
    one = EVERY[tool]
    schema = {name: value for name, value in one.schema.items() if name != "required"}
    meant = arguments.read(schema, sent)
    arguments.check(schema, meant, exact=one.exact)
    return meant.values


RECORDED: dict[str, list[tuple[str, Any, Any]]] = {
    "added": [
        ("search", {"q": "a", "task_progress": "- [x] look"}, {"q": "a"}),
        ("note", {**NOTE, "explanation": "because", "_meta": {"a": 1}}, NOTE),
        ("notes", {"notes": [{**NOTE, "requires_approval": False}]}, {"notes": [NOTE]}),
        ("start_session", {"random_string": ""}, {}),
    ],
    "null": [
        ("start_session", {"q": None, "max_chars": None, "user": None}, {}),
        ("note", {**NOTE, "tags": None}, NOTE),
        ("notes", {"notes": [{**NOTE, "tags": None}]}, {"notes": [NOTE]}),
        ("list_notes", {"limit": None, "cursor": None}, {}),
        ("consolidate", {"wait": None}, {}),
        # It has a null of its own, which takes away.
        ("patch_space", {"owner": None, "consolidation_threshold": None}, None),
        (
            "patch_bank_file",
            {"edits": [{**EDIT, "content": None}], "consolidation": None},
            {"edits": [EDIT], "consolidation": None},
        ),
        ("store_memory", {"items": [{"content": "x", "subjects": None}]}, {"items": [{"content": "x"}]}),
    ],
    "as_text": [
        ("note", {**NOTE, "tags": '["queue"]'}, {**NOTE, "tags": ["queue"]}),
        ("note", {**NOTE, "tags": " [] "}, {**NOTE, "tags": []}),
        ("notes", {"notes": json.dumps([NOTE])}, {"notes": [NOTE]}),
        ("notes", {"notes": [json.dumps({**NOTE, "tags": '["a"]'})]}, {"notes": [{**NOTE, "tags": ["a"]}]}),
        ("search", {"q": "a", "limit": "8"}, {"q": "a", "limit": 8}),
        ("search", {"q": "a", "limit": " 8\n"}, {"q": "a", "limit": 8}),
        ("search", {"q": "a", "min_score": "0.5"}, {"q": "a", "min_score": 0.5}),
        ("search", {"q": "a", "recency": "1"}, {"q": "a", "recency": 1}),
        ("consolidate", {"wait": "false"}, {"wait": False}),
        ("create_conversation", {"parameters": '{"ratio": "0.5"}'}, {"parameters": {"ratio": 0.5}}),
        ("patch_space", {"consolidation_threshold": "5"}, {"consolidation_threshold": 5}),
        ("undo_consolidation", {"number": "3"}, {"number": 3}),
        ("update_summaries", {"level": "1", "number": 2}, {"level": 1, "number": 2}),
        # A text is a text.
        ("search", {"q": '["queue"]'}, None),
        ("search", {"q": "null", "space_id": "8"}, None),
        ("append_turn", {"tool_calls": [{"name": "a", "arguments": "[1]", "result": None}]}, None),
        ("note", {**NOTE, "content": '{"a": 1}', "tags": ["[1]", "true"]}, None),
    ],
    "capital_words": [
        ("consolidate", {"wait": "True"}, {"wait": True}),
        ("consolidate", {"wait": " FALSE "}, {"wait": False}),
        ("collect_garbage", {"dry_run": "True", "delete_only": "False"}, {"dry_run": True, "delete_only": False}),
        ("patch_space", {"auto_paused": "True"}, {"auto_paused": True}),
    ],
    "spelling": [
        ("note", {**NOTE, "category": "Todo"}, NOTE),
        ("note", {**NOTE, "category": " TODO\n"}, NOTE),
        ("notes", {"notes": [{**NOTE, "category": "ToDo"}]}, {"notes": [NOTE]}),
        ("start_session", {"lang": "FR"}, {"lang": "fr"}),
        ("remember", {"content": "x", "kind": "Goal"}, {"content": "x", "kind": "goal"}),
        ("patch_space", {"consolidation_mode": "Review"}, {"consolidation_mode": "review"}),
        ("patch_bank_file", {"edits": [{**EDIT, "op": "Delete-Section"}]}, {"edits": [EDIT]}),
    ],
    "one_for_list": [
        ("note", {**NOTE, "tags": "queue"}, {**NOTE, "tags": ["queue"]}),
        ("remember", {"content": "x", "subjects": "Ann Doe"}, {"content": "x", "subjects": ["Ann Doe"]}),
        ("notes", {"notes": NOTE}, {"notes": [NOTE]}),
        ("notes", {"notes": json.dumps(NOTE)}, {"notes": [NOTE]}),
        ("patch_token", {"permissions": "read"}, {"permissions": ["read"]}),
    ],
    "whole_number": [
        ("search", {"q": "a", "limit": 8.0}, {"q": "a", "limit": 8}),
        ("search", {"q": "a", "limit": "8.0"}, {"q": "a", "limit": 8}),
        ("list_notes", {"limit": "1e1"}, {"limit": 10}),
        ("get_consolidation", {"number": 3.0}, {"number": 3}),
        ("get_turn", {"conversation_id": "x", "turn_index": 2.0}, {"conversation_id": "x", "turn_index": 2}),
    ],
}


def test_each_habit_is_recorded():
    assert set(RECORDED) == set(arguments.HABITS)


@each(("tool", "sent", "meant"), [case for some in RECORDED.values() for case in some])
def test_a_habit_is_read_as_what_was_meant(tool: str, sent: Any, meant: Any):
    values = read(tool, sent)

    wanted = sent if meant is None else meant
    assert values == wanted
    # True is 1, and 8.0 is 8, for Python alone.
    assert json.dumps(values) == json.dumps(wanted)


NO_READING: list[tuple[str, Any, str]] = [
    ("note", {**NOTE, "tags": "a, b"}, 'tags: must be a list, such as ["a", "b"]'),
    ("note", {**NOTE, "tags": "['a']"}, "tags: must be a list"),
    ("note", {**NOTE, "tags": "[a]"}, "tags: must be a list"),
    ("note", {**NOTE, "tags": '["a"'}, "tags: must be a list"),
    ("note", {**NOTE, "tags": ""}, "tags: must be a list"),
    ("note", {**NOTE, "tags": "None "}, "tags: must be a list"),
    ("note", {**NOTE, "tags": 1}, "tags: must be a list"),
    ("note", {**NOTE, "tags": {"a": 1}}, "tags: must be a list"),
    ("note", {**NOTE, "tags": [None]}, "tags.0: must be a text"),
    ("note", {**NOTE, "tags": "[" * 30 + "]" * 30}, "tags: must be a list"),
    ("note", {**NOTE, "content": 1}, "content: must be a text"),
    ("note", {**NOTE, "category": "decisions"}, "category: must be one of"),
    ("note", {**NOTE, "category": ""}, "category: must be one of"),
    ("note", {**NOTE, "category": ["todo"]}, "category: must be one of"),
    ("notes", {"notes": {"0": NOTE}}, "notes: must be a list, each an object with `category` and `content`"),
    (
        "notes",
        {"notes": ['{"category": "todo", "category": "decision", "content": "x"}']},
        "notes.0: must be an object",
    ),
    ("search", {"q": "a", "limit": "eight"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "8.5"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "+8"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "1e999"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "NaN"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "9" * 9_000}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "true"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": "null"}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": ""}, "limit: must be a whole number"),
    ("search", {"q": "a", "limit": [8]}, "limit: must be a whole number"),
    ("search", {"q": "a", "min_score": "half"}, "min_score: must be a number"),
    ("search", {"q": ["a"]}, "q: must be a text"),
    ("consolidate", {"wait": "yes"}, "wait: must be true or false"),
    ("consolidate", {"wait": 1}, "wait: must be true or false"),
    ("consolidate", {"wait": "1"}, "wait: must be true or false"),
    ("consolidate", {"wait": "None"}, "wait: must be true or false"),
    ("create_conversation", {"parameters": "[]"}, "parameters: must be an object or null"),
    ("patch_token", {"space_ids": ""}, "space_ids: must be a list"),
    ("patch_token", {"space_ids": "null"}, "space_ids: must be a list"),
]


@each(("tool", "sent", "told"), NO_READING)
def test_what_has_no_single_reading_is_refused_with_the_form_that_is_wanted(tool: str, sent: Any, told: str):
    with pytest.raises(InvalidRequest) as refused:
        read(tool, sent)

    assert refused.value.detail.startswith(told)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(sorted(EVERY)))
def test_what_fits_its_schema_is_not_changed(data: st.DataObject, tool: str):
    schema = EVERY[tool].schema
    sent = data.draw(fitting(schema))

    meant = arguments.read(schema, sent)

    assert (meant.values, meant.unknown) == (sent, ())


@pytest.mark.slow
@given(st.sampled_from(sorted(EVERY)), st.data())
def test_what_was_read_is_read_as_the_same_again(tool: str, data: st.DataObject):
    schema = EVERY[tool].schema
    odd = st.recursive(
        st.none() | st.booleans() | st.floats() | st.sampled_from(["8", "True", "[]", '["a"]', "x", "{}", "Todo"]),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "content"]), inner, max_size=2)
        ),
        max_leaves=4,
    )
    sent = data.draw(st.dictionaries(st.sampled_from([*schema["properties"], "task_progress"]), odd, max_size=4))

    meant = arguments.read(schema, sent)

    again = arguments.read(schema, meant.values)
    assert json.dumps(again.values) == json.dumps(meant.values)
    assert again.unknown == ()


def test_an_argument_that_the_tool_does_not_have_is_named_at_the_end_of_the_answer_and_the_call_is_done(agents):
    found = agents.result("note", {**NOTE, "task_progress": "- [x] look", "why": None})

    (note_id,) = agents.world.live_ids()
    text = found["content"][0]["text"]
    assert text == f"Noted: {note_id}\n\nIgnored, because the tool has no such argument: task_progress, why.\n"
    assert not found.get("isError")
    assert found["structuredContent"]["ignored_arguments"] == ["task_progress", "why"]
    assert "ignored_arguments" not in agents.call("note", **NOTE)


def test_a_call_for_the_user_s_own_space_is_refused_as_the_service_knows_none(agents):
    for yes in (True, "true", 1, "perhaps", []):
        assert agents.refused("note", **NOTE, personal=yes).startswith("Nothing was done: ")
    assert agents.world.live_ids() == []
    agents.call("note", **NOTE, personal=False)
    assert len(agents.world.live_ids()) == 1


def test_so_it_is_where_the_answer_is_markdown_alone_or_an_error(agents):
    plain = agents.result("list_notes", {"tsk": 1}, query={**FULL, "structured": "false"})
    missing = agents.refused("read", id="memories/01KHXA0B7C9D2E4F6G8H0J2K4M", task_progress="x")
    unnamed = agents.refused("search", query="queue")

    assert plain["content"][0]["text"].endswith("Ignored, because the tool has no such argument: tsk.\n")
    assert "no such argument: task_progress. [" in missing
    assert unnamed.startswith("q: is required, a text; query: there is no such argument, but `q`, `scope`")


def test_what_is_named_of_them_is_short_and_holds_no_secret(agents):
    secret = "ghp_" + "a1" * 18
    many = {f"argument{place}": 1 for place in range(40)}

    text = agents.text("note", **NOTE, **{secret: 1, "x" * 5_000: 2}, **many)

    assert secret not in text
    assert "32 more." in text
    assert len(text) < 600


@each(
    ("tool", "sent"),
    [
        ("erase_items", {"ids": ["x"], "previw": True}),
        ("delete_memory", {"memory_id": "x", "task_progress": "x"}),
        ("undo_consolidation", {"number": 1, "dry_run": True}),
        ("create_space", {"space_id": "x", "preview": True}),
        ("split_memory", {"memory_id": "x", "Preview": True}),
        ("start_consolidation", {"dry_runn": True}),
        ("collect_garbage", {"dry_run": False, "dryRun": True}),
        ("patch_bank_file", {"path": "a.md", "edits": [{**EDIT, "if_revision": 1}]}),
        ("approve_plan", {"run_id": "x", "planRevision": 1}),
        ("correct_memory", {"memory_id": "x", "content": "y", "revison": 1}),
        ("create_token", {"name": "x", "permissions": ["read"], "expires_in": 1}),
    ],
)
def test_what_takes_away_or_brings_back_refuses_an_argument_that_it_does_not_have(agents, tool: str, sent: Any):
    agents = agents.as_one(BOSS)
    found = agents.result(tool, sent, query=FULL)

    told = found["content"][0]["text"]
    assert found["isError"] is True
    assert "there is no such argument, but `" in told
    assert told.endswith(". [invalid_request]")
    assert agents.invoked == []


HOLDING_BACK = {"dry_run", "plan_revision", "revision", "expires_in_days"}
"""Arguments without which more happens: misspelt, they must not be ignored."""


def test_every_tool_that_removes_undoes_restores_or_erases_is_exact():
    taking = ("delete_", "erase_", "purge_", "revoke_", "undo_", "restore_", "take_back_")
    exact = {name for name, tool in EVERY.items() if tool.exact}

    assert {name for name in EVERY if name.startswith(taking)} <= exact
    assert {name for name, tool in EVERY.items() if tool.destroys} <= exact
    assert {name for name, tool in EVERY.items() if HOLDING_BACK & tool.schema["properties"].keys()} <= exact
    assert not exact & CORE.keys()


def test_a_text_that_spells_half_a_surrogate_pair_as_json_is_refused(agents):
    told = agents.refused("note", **NOTE, tags='["\\ud800"]')

    assert told.startswith("tags.0: has half a surrogate pair")
    assert agents.world.live_ids() == []

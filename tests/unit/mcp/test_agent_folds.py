"""An agent that folds over MCP: `fold_begin` gives it the prompt, `fold_end` takes its JSON."""

import json
from typing import Any

import pytest

from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from tests.support.mcp import Agents, started, token
from tests.support.world import EVERYONE, append_everything, read_prompt

FULL = {"toolset": "full"}
ANN = "lm_ann"


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch) -> Agents:
    """An agent of a space in which a note waits and agents may fold."""
    agents = started(monkeypatch)
    world = agents.world
    world.create_space()
    space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(agent_folds=True))
    world.note("The ferry is late.")
    agents.let_in(token(ANN, "read", "write", spaces=("demo",)))
    return agents.as_one(ANN)


def _call(ann: Agents, tool: str, **arguments: Any) -> dict[str, Any]:
    return ann.result(tool, arguments, query=FULL)


def test_an_agent_folds_with_two_tools_and_corrects_what_was_no_json(ann: Agents):
    begun = _call(ann, "fold_begin")
    told, text = begun["structuredContent"], begun["content"][0]["text"]
    assert told["prompt"].splitlines()[0] in text
    assert "$defs" not in text

    flawed = _call(ann, "fold_end", job=told["job"], text="I can't.")["structuredContent"]
    assert (flawed["status"], "Answer again" in flawed["prompt"]) == ("running", True)
    good = append_everything(read_prompt([{}, {"content": told["prompt"]}]))
    ends = [_call(ann, "fold_end", job=told["job"], text=good) for _ in range(2)]

    assert [end["content"][0]["text"].splitlines()[1:] for end in ends] == [
        ["- status: done", "- Folded notes: 1."]
    ] * 2


def test_json_that_a_client_sends_as_an_object_is_the_same_answer(ann: Agents):
    told = _call(ann, "fold_begin")["structuredContent"]
    good = append_everything(read_prompt([{}, {"content": told["prompt"]}]))

    ended = _call(ann, "fold_end", job=told["job"], text=json.loads(good))

    assert ended["structuredContent"]["status"] == "done"


def test_the_tools_are_none_of_the_core_and_need_write(ann: Agents):
    assert {"fold_begin", "fold_end"} <= ann.tools(query=FULL).keys()
    assert not {"fold_begin", "fold_end"} & ann.tools().keys()
    ann.let_in(token(ANN, "read", spaces=("demo",)))
    assert not {"fold_begin", "fold_end"} & ann.tools(query=FULL).keys()


def test_a_second_agent_is_told_that_one_folds_and_until_when(ann: Agents):
    told = _call(ann, "fold_begin")["structuredContent"]

    assert _call(ann, "fold_begin")["structuredContent"] == told
    ann.let_in(token("lm_bob", "read", "write", spaces=("demo",)))
    refused = _call(ann.as_one("lm_bob"), "fold_begin")

    assert refused["isError"] is True
    assert f"An agent folds the notes until {told['until'][:16]}" in refused["content"][0]["text"]


def test_a_token_that_may_not_read_is_shown_nothing(ann: Agents):
    ann.let_in(token(ANN, "write", spaces=("demo",)))

    begun = _call(ann, "fold_begin")

    assert begun["isError"]
    assert "lacks the permission 'read'" in begun["content"][0]["text"]

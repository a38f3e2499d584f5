"""Each error that an agent reads says what to do next."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from livemem import errors
from livemem.errors import CapName, CommitUnfinished, LiveMemoryError, NotFound
from livemem_mcp import catalog, server
from livemem_mcp.core import CORE
from tests.support.cases import each
from tests.support.mcp import Agents, started, token

ANN = "lm_ann"
STEPS = catalog.words()["errors"]
LAYERS = Path(errors.__file__).parent.parent
SAY_IT_THEMSELVES = {"user_not_allowed", "answer_too_large", "invalid_request", "room_full"}


def codes() -> Iterator[str]:
    """The codes of all errors that a route may answer, as the code has them."""
    yield from get_args(CapName)
    texts = (path.read_text("utf-8") for path in LAYERS.rglob("*.py"))
    for text in (text for text in texts if "NotFound(" in text or "code = " in text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotFound" and len(node.args) == 2:
                what = node.args[0]
                if isinstance(what, ast.Constant) and isinstance(what.value, str):
                    yield f"{what.value.replace(' ', '_')}_not_found"
            if isinstance(node, ast.ClassDef):
                for line in node.body:
                    if isinstance(line, ast.Assign) and [getattr(one, "id", "") for one in line.targets] == ["code"]:
                        yield ast.literal_eval(line.value)


def test_every_error_has_a_next_step_and_no_step_is_of_no_error():
    wanted = {*codes()} - {"note_of_agent_not_found"}

    assert len(wanted) > 60
    assert {*STEPS} == wanted
    assert {code for code, step in STEPS.items() if not step} == SAY_IT_THEMSELVES


@each("code", [code for code, step in STEPS.items() if step])
def test_a_step_is_a_short_sentence_that_names_tools_which_exist(code: str):
    tools = {*CORE, *catalog.tools(), "space_id"}

    assert STEPS[code].endswith(".")
    assert len(STEPS[code]) < 120
    assert not re.search(r"\b(HTTP|POST|GET|routes?|headers?)\b", STEPS[code])
    assert set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", STEPS[code])) <= tools


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space()
    found.let_in(token(ANN, "read", "write", spaces=("demo", "other")))
    return found.as_one(ANN)


def test_the_step_stands_behind_the_errors_own_words(agents):
    missing = agents.refused("read", id="bank/no.md", space_id="demo")
    handle = agents.refused("poll", handle="demo.consolidation.01KHXNKAR00000000000000004")

    assert missing == f"There is no bank file 'no.md'. {STEPS['bank_file_not_found']} [bank_file_not_found]"
    assert handle.endswith(f"{STEPS['run_not_found']} [run_not_found]")


def test_who_names_no_space_gets_those_of_the_token(agents):
    assert agents.refused("search", q="x").startswith("space_id: is required")
    assert agents.refused("search", q="x", space_id="").startswith("space_id: name the space: one of demo, other")


def test_of_a_change_that_is_made_nobody_is_told_to_call_again():
    told = server._failed(CommitUnfinished("The change is committed."), "r1", []).content[0].text

    assert told == f"The change is committed. {STEPS['commit_unfinished']} Request r1. [commit_unfinished]"


@each("error", [NotFound("space", "x"), LiveMemoryError("No end"), errors.Busy("At work.")])
def test_an_error_is_made_of_whole_sentences(error: LiveMemoryError):
    told = server._failed(error, "r1", ["task_progress"]).content[0].text

    assert re.fullmatch(
        r"(?:[^.]+\. )+[^.]+\.\nIgnored, because the tool has no such argument: task_progress\. \[\w+\]", told
    )

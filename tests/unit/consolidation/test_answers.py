"""Recorded answers of models, each through a whole consolidation: taken as a whole, or nothing is changed.

`answers/cases.json` says for each what is expected and why: `detail` is a part of the error of a refused answer, `bank`
the files that an accepted one changes. The text is in `answers/<name>.txt`, or made here where it would be too big.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from livemem.spaces import head as heads
from livemem.store.bucket import HEAD, LEASE, RUN, TOTALS
from tests.support.cases import each
from tests.support.world import World, forked

FOLDER = Path(__file__).parent / "answers"
CASES = json.loads((FOLDER / "cases.json").read_text())
REFUSED = [case for case in CASES if "detail" in case]
ACCEPTED = [case for case in CASES if "bank" in case]
SYNTHESIS = '"synthesis": "Login works."'


def _answer(*files: dict[str, Any], synthesis: str = "Login works.") -> str:
    return json.dumps({"bank_files": files, "synthesis": synthesis})


def _file(name: str, content: str = "# New\n") -> dict[str, Any]:
    return {"filename": name, "action": "created", "content": content}


def _edit(**rest: Any) -> dict[str, Any]:
    edit = {"op": "append_to_section", "content": "- x", **rest}
    return {"filename": "log.md", "action": "edited", "edits": [edit]}


def _edits(count: int) -> dict[str, Any]:
    edit = {"op": "append_to_section", "heading": "## Done", "content": "- x"}
    return {"filename": "log.md", "action": "edited", "edits": [edit] * count}


MADE: dict[str, Callable[[], str]] = {
    "bomb_of_arrays": lambda: f'{{"bank_files": {"[" * 20_000}{"]" * 20_000}, {SYNTHESIS}}}',
    "bomb_of_objects": lambda: '{"bank_files":' * 20_000 + "1" + "}" * 20_000,
    "bomb_in_an_unknown_key": lambda: f'{{"bank_files": [], {SYNTHESIS}, "x": {"[" * 20_000}{"]" * 20_000}}}',
    "more_than_a_hundred_files": lambda: _answer(*(_file(f"{number}.md") for number in range(101))),
    "too_many_edits": lambda: _answer(_edits(1_001)),
    "huge_integer": lambda: f'{{"bank_files": [{"9" * 5_000}], {SYNTHESIS}}}',
    "five_megabytes": lambda: "I am thinking. " * 350_000,
    "file_too_large": lambda: _answer(_file("new.md", "x" * 500_001)),
    "synthesis_too_large": lambda: _answer(_file("new.md"), synthesis="x" * 50_001),
    "heading_too_long": lambda: _answer(_edit(heading="## " + "x" * 1_000)),
    "reason_too_long": lambda: _answer(_edit(heading="## Done", reason="x" * 1_001)),
    "filename_too_long": lambda: _answer(_file("x" * 1_001)),
    "surrogate_in_a_reason": lambda: _answer(_edit(heading="## Done", reason="\ud83d")),
    "raw_surrogate": lambda: "\ud83d is half a fox",
}


def _text(case: dict[str, Any]) -> str:
    return MADE[case["name"]]() if case["name"] in MADE else (FOLDER / f"{case['name']}.txt").read_bytes().decode()


@forked
def _consolidated_once() -> World:
    """A space with the bank of `first.json` and three live notes."""
    world = World(llmaas_context_tokens=10_000_000)
    world.create_space()
    world.note("the first note")
    world.llm.queue.append((FOLDER / "first.json").read_text())
    assert world.consolidate().state == "done"
    for text in ("login works", "tokens are hashed", "who writes the docs?"):
        world.clock.move(1)
        world.note(text)
    return world


def _contents(world: World) -> dict[str, bytes]:
    """All objects but the documents of runs, their index, leases and the head of the space."""
    own = (RUN.prefix("demo"), TOTALS.prefix(), LEASE.key("demo"), HEAD.key("demo"))
    return {key: stored.body for key, stored in world.inner.objects.items() if not key.startswith(own)}


def test_every_recorded_answer_is_in_the_table_and_there_are_enough_of_them():
    recorded = {path.stem for path in FOLDER.glob("*.txt")}

    assert recorded | set(MADE) == {case["name"] for case in CASES}
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert all(case["why"] for case in CASES)
    assert len(REFUSED) >= 40


@each("case", REFUSED, ids=lambda case: case["name"])
def test_a_broken_answer_ends_in_an_error_and_leaves_notes_and_bank_as_they_were(case: dict[str, Any]):
    world = _consolidated_once()
    before, head = _contents(world), heads.load(world.process, "demo").meta
    text = _text(case)
    world.llm.queue.extend([text, text])

    run = world.consolidate()

    assert run.state == "failed"
    assert run.error is not None
    assert run.error.code == "llm_contract"
    assert case["detail"] in run.error.detail
    assert len(run.error.detail) < 2_000
    assert world.view(run.job_id) == run
    assert len(world.llm.prompts) == 2
    assert case["detail"] in world.llm.prompts[1][-1]["content"]
    assert run.metrics["llm_calls"] == 2
    assert _contents(world) == before
    assert not [key for key in world.keys("") if key.endswith(".plan.json")]
    assert len(world.live_ids()) == 3
    now = heads.load(world.process, "demo").meta
    assert (now.consolidation_count, now.committed_run) == (head.consolidation_count, None)


def test_a_run_after_one_that_failed_and_a_call_after_a_broken_answer_can_succeed():
    world, good = _consolidated_once(), (FOLDER / "good.json").read_text()
    world.llm.queue.extend([_text(REFUSED[0])] * 2)
    assert world.consolidate().state == "failed"
    world.llm.prompts.clear()
    world.llm.queue.extend([_text(REFUSED[1]), good])

    run = world.consolidate()

    assert (run.state, run.metrics["llm_calls"]) == ("done", 2)
    assert world.live_ids() == []
    assert "- Login works." in world.bank()["log.md"]
    assert world.llm.prompts[1][-2] == {"role": "assistant", "content": _text(REFUSED[1])}
    assert REFUSED[1]["detail"] in world.llm.prompts[1][-1]["content"]


@each("case", ACCEPTED, ids=lambda case: case["name"])
def test_an_odd_answer_is_accepted_for_the_reason_in_the_table(case: dict[str, Any]):
    world = _consolidated_once()
    before = world.bank()
    noted = world.live_ids()
    asks, left = case.get("asks", 1), case.get("left", 0)
    world.llm.queue.extend([_text(case)] * asks)

    run = world.consolidate()

    assert (run.state, run.error) == ("done", None)
    assert len(world.llm.prompts) == asks
    assert world.bank() == before | case["bank"]
    assert world.live_ids() == noted[3 - left :]
    assert run.metrics["notes_processed"] == 3 - left
    record = world.text(next(key for key in world.keys("demo/_consolidations/") if "/000002_" in key))
    assert [source["note_id"] for source in json.loads(record)["notes"]] == noted[: 3 - left]

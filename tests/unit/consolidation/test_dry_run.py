"""A dry run asks the LLM and shows what it would do; nothing is written but its own document."""

import json
from typing import Any

import pytest

from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.store.bucket import HEAD, RUN, TOTALS
from tests.support.counting import Killed
from tests.support.world import World, append_everything


def space_with_a_bank() -> World:
    world = World()
    world.create_space(threshold=2)
    world.note("one")
    world.consolidate()
    world.note("two")
    world.note("three")
    return world


def others(world: World) -> dict[str, Any]:
    return {
        key: stored
        for key, stored in world.inner.objects.items()
        if not key.startswith(("demo/_runs/", TOTALS.prefix()))
    }


def test_a_dry_run_shows_the_plan_and_writes_nothing_but_its_own_document():
    world = space_with_a_bank()
    before, runs_before = others(world), world.keys("demo/_runs/")
    noted = world.live_ids()

    run = world.consolidate(dry_run=True)

    assert run.state == "done"
    assert run.plan is not None
    assert run.plan["sources"] == noted
    assert run.plan["synthesis"] == "2 notes."
    assert [change["path"] for change in run.plan["changes"]] == ["log.md"]
    assert "+- two\n+- three\n" in run.plan["changes"][0]["diff"]
    assert (run.metrics["notes_processed"], run.metrics["edits_applied"], run.consolidation) == (2, 1, None)
    assert others(world) == before
    assert world.keys("demo/_runs/") == sorted([*runs_before, RUN.key("demo", run.job_id)])
    assert world.view(run.job_id) == run
    assert not world.queued


def test_a_dry_run_needs_no_lease_and_leaves_a_running_one_alone():
    world = space_with_a_bank()
    seen: list[Any] = []

    def rehearse_meanwhile(prompt: dict[str, Any]) -> str:
        seen.append(world.consolidate(dry_run=True))
        return append_everything(prompt)

    world.llm.queue.append(rehearse_meanwhile)

    assert world.consolidate().state == "done"
    assert seen[0].state == "done"
    assert world.bank()["log.md"].count("- two") == 1


def test_a_dry_run_without_notes_has_nothing_to_do():
    world = World()
    world.create_space()

    run = world.consolidate(dry_run=True)

    assert (run.state, run.message, run.metrics) == (
        "nothing_to_do", "No new notes to consolidate", {"notes_processed": 0},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "code"), [(["prose", "prose"], "llm_contract"), ([LlmError("llm_timeout", "Slow.")], "llm_timeout")]
)
def test_a_dry_run_that_fails_says_so_and_keeps_no_event_away(answers: list[Any], code: str):
    world = space_with_a_bank()
    before = others(world)
    world.llm.queue.extend(answers)

    run = world.consolidate(dry_run=True)

    assert run.state == "failed"
    assert run.error.code == code
    assert run.metrics["llm_calls"] == len(answers)
    assert others(world) == before
    assert world.count().result == "started"


def test_a_dry_run_takes_the_order_of_its_agent_and_number_of_notes():
    world = space_with_a_bank()
    world.note("bob 1", agent="bob")
    world.note("bob 2", agent="bob")

    run = world.consolidate(dry_run=True, agent="bob", max_notes=1)

    assert run.plan is not None
    assert [note_id.split("_")[1] for note_id in run.plan["sources"]] == ["bob"]
    assert heads.load(world.process, "demo").meta.consolidation_count == 1


def test_the_plan_of_a_dry_run_shows_discarded_notes_with_their_reason():
    world = space_with_a_bank()
    noted = world.live_ids()
    discarded = [{"note": number, "reason": "chatter"} for number in (1, 2)]
    world.llm.queue.extend([json.dumps({"bank_files": [], "synthesis": "x", "discarded": discarded})] * 2)

    run = world.consolidate(dry_run=True)

    assert run.plan is not None
    assert run.plan["discarded"] == [{"note_id": note_id, "reason": "chatter"} for note_id in noted]
    assert world.live_ids() == noted


def test_a_dry_run_delivered_twice_asks_once():
    world = space_with_a_bank()
    world.order(dry_run=True)
    todo = dict(world.queued[-1])
    asked = len(world.llm.prompts)

    world.work(todo)

    assert world.work(todo) is None
    assert len(world.llm.prompts) == asked + 1


def test_a_dry_run_beside_a_commit_that_is_not_written_out_asks_nobody():
    world = space_with_a_bank()
    world.order()
    commits = iter(range(2))

    def die_once_committed(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", HEAD.key("demo")) and next(commits) == 0:
            raise Killed

    world.client.after = die_once_committed
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    asked = len(world.llm.prompts)

    run = world.consolidate(dry_run=True)

    assert (run.state, len(world.llm.prompts)) == ("busy", asked)

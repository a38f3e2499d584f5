"""Each way in which a run can fail: it ends in `error` with a code, every note stays live, the next run can succeed."""

from datetime import timedelta
from typing import Any

import pytest

from livemem.consolidation.pipeline import consolidate
from livemem.jobs import run as runs
from livemem.llm import window
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import due_keys
from livemem.store.bucket import BANK_FILE, LEASE, RULES, TOTALS
from tests.support.cases import each
from tests.support.world import World, append_everything


def snapshot(world: World) -> dict[str, bytes]:
    """What a failed run must not change: all but the run's own documents, their index, the lease and the due index."""
    own = ("demo/_runs/", TOTALS.prefix(), LEASE.key("demo"), due_keys.DUE)
    return {key: stored.body for key, stored in world.inner.objects.items() if not key.startswith(own)}


def failed(world: World, run: runs.Run, code: str) -> str:
    """Assert what holds for every failed run, and return its detail."""
    assert (run.state, run.step) == ("failed", None)
    assert run.error is not None
    assert run.error.code == code
    assert run.ended_at is not None
    assert world.view(run.job_id) == run
    assert not [key for key in world.keys("demo/_runs/") if key.endswith(".plan.json")]
    return run.error.detail


def space_with_notes(count: int = 2, **settings: Any) -> World:
    world = World(**settings)
    world.create_space()
    for number in range(count):
        world.note(f"note {number}")
        world.clock.move(1)
    return world


CODES = [
    "llm_timeout", "llm_unreachable", "llm_throttled", "llm_unavailable", "llm_refused_request", "llm_refused",
    "llm_cut_off", "llm_empty", "llm_malformed", "llm_not_configured", "llm_key_unreadable",
]  # fmt: skip


@each("code", CODES)
def test_a_failure_of_the_llm_leaves_every_note_live_and_is_not_asked_again(code: str):
    world = space_with_notes()
    before = snapshot(world)
    world.llm.queue.append(LlmError(code, "What happened, in a sentence."))

    run = world.consolidate()

    assert failed(world, run, code) == "What happened, in a sentence."
    assert len(world.llm.prompts) == 1
    assert run.metrics["llm_calls"] == 1
    assert snapshot(world) == before
    assert world.consolidate().state == "done"


def test_a_failure_of_the_llm_after_a_broken_answer_is_what_the_run_reports():
    world = space_with_notes()
    before = snapshot(world)
    world.llm.queue.extend(["prose", LlmError("llm_timeout", "Too slow.")])

    run = world.consolidate()

    assert failed(world, run, "llm_timeout") == "Too slow."
    assert (run.metrics["llm_calls"], run.metrics["llm_prompt_tokens"]) == (2, 100)
    assert snapshot(world) == before


def test_a_broken_answer_that_the_retry_corrects_costs_two_calls_and_loses_nothing():
    world = space_with_notes()
    world.llm.queue.append("I updated the log.")

    run = world.consolidate()

    assert run.state == "done"
    assert (run.metrics["llm_calls"], run.metrics["llm_tokens_used"]) == (2, 240)
    first, second = world.llm.prompts
    assert second[:2] == first
    assert second[2] == {"role": "assistant", "content": "I updated the log."}
    assert "not valid JSON" in second[3]["content"]
    assert world.live_ids() == []


def test_a_retry_shows_as_much_of_a_long_answer_as_fits_the_window():
    world = space_with_notes(llmaas_context_tokens=7_000)
    world.llm.queue.append("prose " * 4_000)

    assert world.consolidate().state == "done"

    shown = world.llm.prompts[1][2]["content"]
    assert 0 < len(shown) < 24_000
    assert ("prose " * 4_000).startswith(shown)
    assert window.size(world.llm.prompts[1]) + window.ANSWER_TOKENS <= 7_000


def test_a_retry_that_does_not_fit_the_window_is_not_sent():
    world = World()
    world.create_space(rules="r" * 8_000)
    world.note("one")
    world.consolidate(dry_run=True)
    size = window.size(world.llm.prompts[0])
    tight = World(world.inner, llmaas_context_tokens=size + 300, llmaas_max_tokens=256)
    tight.clock.moment = world.clock()
    tight.llm.queue.append("prose " * 4_000)

    run = tight.consolidate()

    assert "not valid JSON" in failed(tight, run, "llm_contract")
    assert len(tight.llm.prompts) == 1


def test_the_length_of_the_answer_is_left_to_the_provider_unless_it_is_set():
    world = space_with_notes()

    world.consolidate()

    assert world.llm.limits == [(None, 600.0)]


def test_the_llm_gets_the_tokens_that_the_window_leaves():
    world = space_with_notes(llmaas_max_tokens=100_000)

    world.consolidate()

    assert world.llm.limits == [(100_000 - window.size(world.llm.prompts[0]), 600.0)]


@pytest.mark.parametrize(("left", "timeout"), [(700.0, 600.0), (100.0, 55.0), (50.0, 5.0)])
def test_the_timeout_of_a_call_is_bounded_by_the_setting_and_by_the_invocation(left: float, timeout: float):
    world = space_with_notes()
    world.order()

    run = work_with(world, left)

    assert run is not None
    assert run.state == "done"
    assert [limit for _, limit in world.llm.limits] == [timeout]


def test_a_run_without_time_for_the_llm_does_not_ask_it():
    world = space_with_notes()
    before = snapshot(world)
    world.order()

    run = work_with(world, 49.9)

    assert run is not None
    failed(world, run, "out_of_time")
    assert world.llm.prompts == []
    assert snapshot(world) == before


def test_a_retry_without_time_is_not_sent():
    world = space_with_notes()
    world.order()

    def slow_and_wrong(shown: dict[str, Any]) -> str:
        world.clock.move(60)
        return "prose"

    world.llm.queue.append(slow_and_wrong)
    run = work_with(world, 105)

    assert run is not None
    failed(world, run, "out_of_time")
    assert run.metrics["llm_calls"] == 1


def work_with(world: World, seconds: float) -> runs.Run | None:
    todo = world.queued.popleft()
    deadline = world.clock() + timedelta(seconds=seconds)
    return consolidate(world.process, todo["space_id"], todo["job_id"], deadline=deadline)


def test_a_bank_that_can_not_fit_names_its_largest_file():
    world = space_with_notes(1)
    world.consolidate()
    world.inner.put_object(Bucket="b", Key=BANK_FILE.key("demo", "huge.md"), Body=b"x" * 40_000)
    world.note("one more")
    before = snapshot(world)

    small = World(world.inner, llmaas_context_tokens=8_000)
    small.clock.moment = world.clock()
    run = small.consolidate()

    assert "huge.md" in failed(small, run, "bank_too_large")
    assert snapshot(world) == before


def test_rules_that_can_not_fit_are_an_error_without_a_file_to_name():
    world = World(llmaas_context_tokens=2_000)
    world.create_space(rules="r" * 40_000)
    world.note("one")

    run = world.consolidate()

    assert "largest file" not in failed(world, run, "bank_too_large")
    assert len(world.live_ids()) == 1


def test_a_space_without_its_rules_is_an_error_and_keeps_its_notes():
    world = space_with_notes()
    world.inner.delete_object(Bucket="b", Key=RULES.key("demo"))
    before = snapshot(world)

    run = world.consolidate()

    failed(world, run, "rules_missing")
    assert world.llm.prompts == []
    assert snapshot(world) == before


def test_a_space_without_notes_has_nothing_to_do_and_asks_nobody():
    world = space_with_notes(0)

    run = world.consolidate()

    assert (run.state, run.message) == ("nothing_to_do", "No new notes to consolidate")
    assert run.metrics == {"notes_processed": 0}
    assert run.error is None
    assert world.llm.prompts == []
    assert world.inner.objects.get(LEASE.key("demo")) is None


def test_a_deletion_while_the_llm_thinks_leaves_nothing_of_the_space():
    world = space_with_notes()

    def delete_meanwhile(shown: dict[str, Any]) -> str:
        lifecycle.delete(world.process, "demo", "demo")
        return append_everything(shown)

    world.llm.queue.append(delete_meanwhile)
    world.order()

    assert world.work() is None
    assert world.keys("demo/") == ["demo/_meta.json"]


def test_a_space_deleted_and_created_again_while_the_llm_thinks_is_left_alone():
    world = space_with_notes()

    def replace_meanwhile(shown: dict[str, Any]) -> str:
        lifecycle.delete(world.process, "demo", "demo")
        # No worker lives that long, but a clock that is ahead makes it look so.
        world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())
        world.create_space(rules="Other rules.")
        world.note("a note of the new space")
        return append_everything(shown)

    world.llm.queue.append(replace_meanwhile)
    world.order()

    assert world.work() is None

    assert heads.load(world.process, "demo").meta.consolidation_count == 0
    assert len(world.live_ids()) == 1
    assert world.bank() == {}
    assert world.keys("demo/_runs/") == []


def test_a_bank_changed_by_somebody_else_while_the_llm_thinks_is_not_overwritten():
    world = space_with_notes()

    def edit_meanwhile(shown: dict[str, Any]) -> str:
        heads.update(world.process, "demo", lambda meta: {"changes": meta.changes + 1})
        return append_everything(shown)

    world.llm.queue.append(edit_meanwhile)
    run = world.consolidate()

    failed(world, run, "space_changed")
    assert len(world.live_ids()) == 2
    assert world.bank() == {}


def test_a_change_of_the_description_while_the_llm_thinks_does_not_cost_the_answer():
    world = space_with_notes()

    def describe_meanwhile(shown: dict[str, Any]) -> str:
        heads.patch(world.process, "demo", description="new")
        return append_everything(shown)

    world.llm.queue.append(describe_meanwhile)

    assert world.consolidate().state == "done"
    assert heads.load(world.process, "demo").meta.description == "new"
    assert world.live_ids() == []

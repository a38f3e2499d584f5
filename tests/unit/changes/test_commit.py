"""Commit and application against workers that come late, twice or at once."""

import json

import pytest

from livemem.changes import commit
from livemem.changes.commit import CommitLost
from livemem.errors import Busy, StillAtWork
from livemem.jobs import lease, places
from livemem.jobs import run as runs
from livemem.notes import appending
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import DISPLACED, NOTE
from tests.support.audit import audit
from tests.support.counting import Killed
from tests.support.world import World, append_everything


@pytest.fixture
def world() -> World:
    made = World()
    made.create_space(threshold=2)
    return made


def fill(world: World, count: int = 2) -> list[str]:
    written = []
    for _ in range(count):
        written.append(world.note(f"note {world.ids.count}").note_id)
        world.clock.move(1)
    return written


def committed_plan(world: World):
    """A run that is committed and then dies; its plan."""
    world.count()
    payload = world.queued.popleft()
    point = next(
        index
        for index, (verb, key) in enumerate(_requests_of_a_run(world, payload))
        if verb == "PUT" and key.startswith("demo/_consolidations/")
    )
    world.new_process()
    world.client.kill_at(point, done=False)
    with pytest.raises(Killed):
        world.work(payload)
    world.new_process()
    head = heads.load(world.process, "demo")
    plan = commit.planned(world.process, "demo", head.meta.committed_run or "")
    assert plan is not None
    return head, plan, payload


def _requests_of_a_run(world: World, payload):
    twin = World()
    twin.inner.objects.update(world.inner.objects)
    twin.clock.moment = world.clock()
    twin.ids.count = world.ids.count
    twin.new_process()
    twin.work(payload)
    return list(twin.client.requests)


def test_the_late_duplicate_of_a_write_is_removed_and_not_folded_a_second_time(world):
    (first, *_) = fill(world)
    late = world.text(NOTE.key("demo", first))
    world.consolidate()
    world.store.put(NOTE.key("demo", first), late.encode())
    third = fill(world, 1)
    run = world.consolidate()
    assert run.metrics["notes_processed"] == 1
    assert world.live_ids() == []
    assert audit(world.inner.objects, "demo", [first, *third]).clean()
    assert world.bank()["log.md"].count("\n- ") == 3


def test_a_worker_that_applies_an_old_plan_late_changes_nothing(world):
    fill(world)
    head, plan, _ = committed_plan(world)
    # Somebody else recovers it and consolidates further while the first worker stands still.
    world.clock.move(1_200)
    world.sweep()
    world.settle()
    fill(world)
    world.consolidate()
    before = dict(world.inner.objects)
    commit.apply(world.process, head, plan)
    after = dict(world.inner.objects)
    assert {key: stored.body for key, stored in before.items()} == {key: stored.body for key, stored in after.items()}


def test_a_space_is_not_deleted_while_a_commit_is_being_written(world):
    fill(world)
    committed_plan(world)
    with pytest.raises(Busy):
        lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(1_200)
    world.sweep()
    lifecycle.delete(world.process, "demo", "demo")
    assert world.keys("demo/") == ["demo/_meta.json"]


def test_of_two_plans_of_one_run_the_first_counts(world):
    ids = fill(world)
    run = world.order()
    payload = world.queued.pop()
    head = heads.load(world.process, "demo")
    world.llm.queue.append(lambda prompt: append_everything(prompt).replace("note", "first answer of note"))
    point = _index_of_commit(world, payload)
    world.new_process()
    world.client.kill_at(point, done=False)
    with pytest.raises(Killed):
        world.work(payload)
    world.new_process()
    plan = commit.planned(world.process, "demo", run.job_id)
    assert plan is not None
    other = plan.model_copy(update={"files": []})
    assert commit.prepare(world.process, "demo", other) == plan
    asked = len(world.llm.prompts)
    world.clock.move(lease.LIFE.total_seconds())
    ended = world.work(payload)
    assert ended is not None
    assert ended.state == "done"
    # The retry commits what the first try had planned: no second call.
    assert len(world.llm.prompts) == asked
    assert "first answer" in world.bank()["log.md"]
    assert audit(world.inner.objects, "demo", ids).clean()
    assert head.meta.uid == plan.uid


def _index_of_commit(world: World, payload) -> int:
    requests = _requests_of_a_run(world, payload)
    plan = next(index for index, (verb, key) in enumerate(requests) if verb == "PUT" and key.endswith(".plan.json"))
    assert requests[plan + 1] == ("PUT", "demo/_meta.json")
    return plan + 1


def test_a_change_of_the_description_during_the_run_does_not_cost_the_answer(world):
    fill(world)

    def answer(prompt):
        heads.patch(world.process, "demo", description="changed meanwhile")
        return append_everything(prompt)

    world.llm.queue.append(answer)
    assert world.consolidate().state == "done"
    meta = json.loads(world.text("demo/_meta.json"))
    assert (meta["description"], meta["consolidation_count"]) == ("changed meanwhile", 1)


def test_a_worker_whose_lease_was_taken_over_commits_nothing_over_a_changed_space(world):
    fill(world)

    def answer(prompt):
        # Time runs out, somebody else takes over, and the space changes as well.
        world.clock.move(2_000)
        lease.acquire(world.process, places.of_space("demo"), "other", "manual")
        heads.patch(world.process, "demo", description="changed")
        return append_everything(prompt)

    world.llm.queue.append(answer)
    run = world.order()
    with pytest.raises(StillAtWork):
        world.work(world.queued[0])
    assert len(world.live_ids()) == 2
    assert world.bank() == {}
    world.clock.move(2_000)
    world.sweep()
    assert world.view(run.job_id).error.code == "interrupted"
    assert not [key for key in world.keys("demo/") if key.endswith(".plan.json")]


def test_a_plan_based_on_an_older_bank_is_lost(world):
    fill(world)
    head = heads.load(world.process, "demo")
    _, plan, _ = committed_plan(world)
    world.clock.move(1_200)
    world.sweep()
    held = lease.acquire(world.process, places.of_space("demo"), "late", "consolidation")
    stale = plan.model_copy(update={"run_id": "late"})
    with pytest.raises(CommitLost):
        commit.commit(world.process, head, held, stale)


def test_a_bank_file_changed_behind_the_services_back_is_kept_aside(world):
    fill(world)
    world.consolidate()
    fill(world)

    def answer(prompt):
        world.store.put("demo/bank/log.md", b"# Log\n\n## Log\n\nEdited in the bucket.\n")
        return append_everything(prompt)

    world.llm.queue.append(answer)
    run = world.consolidate()
    assert run.state == "done"
    assert world.bank()["log.md"].count("\n- ") == 4
    assert "Edited in the bucket." in world.text(DISPLACED.key("demo", run.job_id, "log.md"))


def test_a_note_that_comes_twice_under_one_name_is_written_once(world):
    draft = appending.NoteDraft("todo", "x")
    suffix = iter(["00000001", "00000001", "00000002"])
    process = world.with_parts(new_suffix=lambda: next(suffix))
    first = appending.append(process, "demo", "ann", draft)
    other = appending.NoteDraft("todo", "y")
    second = appending.append(process, "demo", "ann", other)
    assert first.note_id != second.note_id
    assert sorted(world.live_ids()) == sorted([first.note_id, second.note_id])


def test_a_run_that_died_is_shown_as_an_error_after_its_time_and_not_as_running_for_ever(world):
    fill(world)
    run = world.order()
    payload = world.queued.pop()
    point = _index_of_commit(world, payload)
    world.new_process()
    world.client.kill_at(point, done=False)
    with pytest.raises(Killed):
        world.work(payload)
    world.new_process()
    assert (world.view(run.job_id).state, world.view(run.job_id).step) == ("running", "asking")
    world.clock.move(1_000)
    assert world.view(run.job_id).state == "failed"
    assert world.view(run.job_id).error.code == "interrupted"
    world.sweep()
    stored = runs.find(world.process, "demo", run.job_id)
    assert stored is not None
    assert stored.value.state == "failed"

"""What a run shows is true at the moment of looking, also when its worker died and can't say so."""

import json
from typing import Any

import pytest

from livemem.errors import InvalidName, NotFound, ObjectUnreadable, StoreUnavailable
from livemem.jobs import run as runs
from livemem.jobs.job import Failure, Status
from livemem.jobs.run import Run
from livemem.llm.usage import Usage
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.usage_counts import RunTold
from livemem.store import timing
from livemem.store.bucket import HEAD, RUN
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World, append_everything

HOUR = 3_600
INVOCATION = timing.DEAD_AFTER.total_seconds()


def ordered() -> tuple[World, str]:
    world = World()
    world.create_space()
    world.note("one")
    return world, world.order().job_id


def die(prompt: dict[str, Any]) -> str:
    raise Killed


def killed_while_asking() -> tuple[World, str]:
    world, run_id = ordered()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work(world.queued[0])
    world.new_process()
    return world, run_id


def killed_after_the_commit() -> tuple[World, str]:
    """The first request behind the swap of the head never reaches the store."""
    world, run_id = ordered()

    def stop_behind_the_commit(index: int, verb: str) -> None:
        heads = [request for request in world.client.requests if request == ("PUT", HEAD.key("demo"))]
        if heads and world.client.requests[-1] != heads[-1]:
            raise Killed

    world.client.before = stop_behind_the_commit
    world.client.requests.clear()
    with pytest.raises(Killed):
        world.work(world.queued[0])
    world.new_process()
    assert heads.load(world.process, "demo").meta.committed_run == run_id
    return world, run_id


def shown(world: World, run_id: str) -> tuple[str, str | None, str | None]:
    run = world.view(run_id)
    return run.state, run.step, run.error.code if run.error else None


def test_a_queued_run_is_queued_for_as_long_as_its_invocation_can_come():
    world, run_id = ordered()

    assert shown(world, run_id) == ("queued", None, None)
    world.clock.move(HOUR - 1)
    assert shown(world, run_id) == ("queued", None, None)
    world.clock.move(1)
    assert shown(world, run_id) == ("failed", None, "not_started")


def test_a_run_says_what_it_is_at_and_how_much_it_has_to_do():
    world, run_id = ordered()
    seen: list[runs.Run] = []

    def looking(prompt: dict[str, Any]) -> str:
        seen.append(world.view(run_id))
        return append_everything(prompt)

    world.llm.queue.append(looking)
    world.work()

    assert (seen[0].state, seen[0].step) == ("running", "asking")
    assert seen[0].metrics == {"notes_processed": 1, "notes_remaining": 0}
    assert seen[0].started_at == "2026-02-20T14:00:00.000Z"
    assert shown(world, run_id) == ("done", None, None)


def test_a_run_whose_worker_died_is_running_until_its_lease_ran_out_and_then_an_error():
    world, run_id = killed_while_asking()

    assert shown(world, run_id) == ("running", "asking", None)
    world.clock.move(INVOCATION - 1)
    assert shown(world, run_id) == ("running", "asking", None)
    world.clock.move(1)
    assert shown(world, run_id) == ("failed", None, "interrupted")
    assert "All notes are still live" in world.view(run_id).error.detail
    assert len(world.live_ids()) == 1


def test_a_run_that_died_after_its_commit_is_applying_however_long_that_takes():
    world, run_id = killed_after_the_commit()

    assert shown(world, run_id) == ("running", "applying", None)
    world.clock.move(INVOCATION)
    assert shown(world, run_id) == ("running", "applying", None)


def test_a_run_that_died_after_its_commit_is_ok_once_somebody_has_finished_it():
    world, run_id = killed_after_the_commit()
    world.clock.move(INVOCATION)

    world.sweep()

    run = world.view(run_id)
    assert (run.state, run.consolidation, run.error) == ("done", 1, None)
    assert run.metrics["notes_processed"] == 1
    assert world.live_ids() == []
    assert len(world.llm.prompts) == 1


def test_looking_at_a_dead_run_writes_nothing():
    world, run_id = killed_while_asking()
    world.clock.move(INVOCATION)
    before = dict(world.inner.objects)

    world.view(run_id)

    assert world.inner.objects == before


@each(
    "end", [("done", None), ("done", "nothing_to_do"), ("failed", None), ("failed", "busy"), ("cancelled", "refused")]
)
def test_a_run_that_ended_stays_as_it_ended(end: tuple[Status, runs.RunCode | None]):
    world, run_id = ordered()
    saved = runs.find(world.process, "demo", run_id)
    assert saved
    runs.finish(world.process, saved, *end)
    world.clock.move(30 * 24 * HOUR)

    run = world.view(run_id)
    assert (run.status, run.code) == end


def test_a_run_that_another_worker_has_ended_is_not_ended_again():
    world, run_id = ordered()
    mine = runs.find(world.process, "demo", run_id)
    assert mine
    runs.finish(world.process, mine, "done", consolidation=1)

    said = runs.finish(world.process, mine, "failed", error=Failure(code="x", detail="y"))

    assert said.state == "done"
    assert (world.view(run_id).state, world.view(run_id).consolidation) == ("done", 1)


def test_a_run_is_not_found_in_a_namesake_of_its_space():
    world, run_id = ordered()
    body = world.text(RUN.key("demo", run_id)).encode()
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())
    world.create_space()
    world.inner.put_object(Bucket="b", Key=RUN.key("demo", run_id), Body=body)

    with pytest.raises(NotFound) as missing:
        world.view(run_id)
    assert missing.value.code == "run_not_found"


@each("body", [b"", b"{", b"[]", b'{"run_id": 1}'])
def test_a_run_that_can_not_be_read_is_named_and_nobody_works_on_it(body: bytes):
    world, run_id = ordered()
    world.inner.put_object(Bucket="b", Key=RUN.key("demo", run_id), Body=body)

    with pytest.raises(ObjectUnreadable) as broken:
        world.view(run_id)
    assert broken.value.key == RUN.key("demo", run_id)
    assert world.work() is None


FORMER = {
    "ok": ("done", "done", None),
    "nothing_to_do": ("done", "done", "nothing_to_do"),
    "awaiting_approval": ("done", "waiting", "awaiting_approval"),
    "busy": ("failed", "failed", "busy"),
    "error": ("failed", "failed", None),
    "refused": ("cancelled", "cancelled", "refused"),
    "superseded": ("cancelled", "cancelled", "superseded"),
}
"""By the result of a run as it was written before it had a code: its status then, its status now, and its code."""


@each("result", FORMER)
def test_a_run_that_was_written_with_a_result_is_read_with_its_code(result: str):
    world, run_id = ordered()
    former, status, code = FORMER[result]
    body = json.loads(world.text(RUN.key("demo", run_id))) | {"status": former, "result": result}
    del body["code"]

    run = Run.from_bytes(json.dumps(body).encode())

    assert (run.status, run.code, "result" in json.loads(run.to_bytes())) == (status, code, False)
    assert RunTold.from_bytes(json.dumps(body).encode()).parts(None) == RunTold.from_bytes(run.to_bytes()).parts(None)


@pytest.mark.parametrize("said", [{"status": "waiting"}, {"code": "awaiting_approval"}, {"status": "ok"}])
def test_a_run_whose_status_and_code_contradict_each_other_can_not_be_read(said: dict[str, str]):
    world, run_id = ordered()
    body = json.loads(world.text(RUN.key("demo", run_id))) | said
    world.inner.put_object(Bucket="b", Key=RUN.key("demo", run_id), Body=json.dumps(body).encode())

    with pytest.raises(ObjectUnreadable):
        world.view(run_id)


def test_a_run_at_rest_says_what_all_of_its_workers_have_asked_of_the_llm():
    world, run_id = killed_while_asking()
    at_work = runs.find(world.process, "demo", run_id)
    world.clock.move(INVOCATION)
    world.work(world.queued[0])

    ended = runs.find(world.process, "demo", run_id)
    assert at_work
    assert ended
    assert (at_work.value.usage, at_work.value.asking.calls) == (Usage(), 1)
    assert ended.value.state == "done"
    assert ended.value.usage == at_work.value.asking + Usage.of(ended.value.metrics)
    assert (ended.value.usage.calls, ended.value.asking, ended.value.attempt) == (2, Usage(), 2)


def test_an_unknown_run_and_a_run_of_an_unknown_space_are_not_found():
    world, run_id = ordered()

    with pytest.raises(NotFound) as missing:
        world.view("01HZZZZZZZ9999999999999999")
    assert missing.value.code == "run_not_found"
    with pytest.raises(NotFound) as missing:
        world.view(run_id, "nowhere")
    assert missing.value.code == "space_not_found"


@each("run_id", ["", "x", "../_meta", "01hzzzzzzz0000000000000001", "01HZZZZZZZ0000000000000001.plan"])
def test_what_is_no_run_id_is_refused_before_the_store_is_asked(run_id: str):
    world, _ = ordered()
    world.client.reset()

    with pytest.raises(InvalidName):
        world.view(run_id)
    assert world.client.counts == {}


@each("point", range(4))
def test_a_store_that_fails_before_the_llm_is_asked_leaves_the_run_to_be_repeated(point: int):
    world, run_id = ordered()
    todo = world.queued[0]
    world.client.reset()
    world.client.break_at(point, "InternalError", 500, done=False)

    with pytest.raises(StoreUnavailable):
        world.work(todo)

    assert world.llm.prompts == []
    world.new_process()
    run = world.work(todo)
    assert run is not None
    assert (run.job_id, run.state) == (run_id, "done")


def test_fields_that_a_newer_version_added_to_a_run_survive():
    world, run_id = ordered()
    body = world.text(RUN.key("demo", run_id)).replace('"step"', '"colour": "blue",\n  "step"', 1)
    world.inner.put_object(Bucket="b", Key=RUN.key("demo", run_id), Body=body.encode())

    world.work()

    assert '"colour": "blue"' in world.text(RUN.key("demo", run_id))

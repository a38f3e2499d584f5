"""The sweep: what events and retries did not finish, and what interrupted creations and deletions left behind."""

from datetime import timedelta
from typing import Any

import pytest

from livemem.access import page_codes
from livemem.changes.orphans import QUIET_AFTER
from livemem.copies import export
from livemem.errors import ConditionalWritesUnsupported, Conflict, StoreUnavailable
from livemem.jobs import lease, places, run_retention
from livemem.notes.appending import NoteDraft
from livemem.notes.idempotency import CLAIM_LIFE, append_once
from livemem.process import Function, Process
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import timing
from livemem.store.bucket import CAPABILITY_CHECK, IDEMPOTENCY, REQUEST_COUNT
from livemem.store.objects import Store
from livemem.upkeep import sweep
from tests.support.audit import audit
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.searching import run_indexer
from tests.support.world import World
from tests.unit.jobs.test_counter import IgnoringS3
from tests.unit.jobs.test_runs import die, killed_after_the_commit, killed_while_asking

LONG = timedelta(minutes=15)
QUARTER = 15 * 60
QUIET = QUIET_AFTER.total_seconds() + 1
INVOCATION = timing.DEAD_AFTER.total_seconds()


def at_threshold(*space_ids: str) -> World:
    world = World()
    for space_id in space_ids or ("demo",):
        world.create_space(space_id, threshold=2)
        for number in range(2):
            world.note(f"note {number}", space_id=space_id)
    return world


def test_a_healthy_account_is_left_as_it_is():
    world = at_threshold()
    world.settle()
    world.count()
    world.settle()
    run_indexer(world)
    # It notes once up to where all runs have ended.
    world.clock.move(QUIET)
    world.sweep_all()
    before = dict(world.inner.objects)

    report = world.sweep_all()

    assert report == sweep.SweepReport(spaces=1)
    assert world.inner.objects == before


def test_a_threshold_that_no_event_noticed_starts_a_run():
    world = at_threshold()

    report = world.sweep_all()

    assert (report.did("started"), report.did("recovered")) == (["demo"], [])
    assert world.view(world.queued[0]["job_id"]).trigger == "sweep"
    world.settle()
    assert world.live_ids() == []


@pytest.mark.parametrize("change", [{"threshold": 0}, {"threshold": 3}, {"auto_paused": True}])
def test_a_space_that_is_not_due_is_not_started(change: dict[str, Any]):
    world = at_threshold()
    heads.patch(world.process, "demo", **change)

    assert world.sweep_all().did("started") == []
    assert not world.queued


def test_a_run_under_way_is_left_alone():
    world, run_id = killed_while_asking()
    world.clock.move(lease.LIFE.total_seconds() - 1)

    report = world.sweep()

    assert (report.did("recovered"), report.did("started")) == ([], [])
    assert world.view(run_id).state == "running"


def test_a_run_that_died_before_its_commit_is_ended_and_its_lease_cleared():
    world, run_id = killed_while_asking()
    world.clock.move(INVOCATION)

    assert world.sweep().did("recovered") == ["demo"]

    assert lease.look(world.process, places.of_space("demo")) is None
    assert world.view(run_id).error.code == "interrupted"
    assert len(world.live_ids()) == 1
    assert world.sweep().did("recovered") == []


def test_a_run_that_died_is_cleared_away_also_where_too_few_notes_are_left_for_another():
    world, run_id = killed_while_asking()
    heads.patch(world.process, "demo", threshold=5)
    world.clock.move(INVOCATION)

    report = world.sweep()

    assert (report.did("recovered"), report.did("started")) == (["demo"], [])
    assert world.view(run_id).error.code == "interrupted"


def test_a_run_that_died_before_its_commit_is_started_again_where_the_threshold_is_reached():
    world = at_threshold()
    world.count()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    world.clock.move(INVOCATION)

    report = world.sweep()

    assert (report.did("recovered"), report.did("started")) == (["demo"], ["demo"])
    world.settle()
    assert world.live_ids() == []


def test_a_commit_that_is_not_written_out_is_finished_without_the_llm():
    world, _ = killed_after_the_commit()
    acknowledged = world.live_ids()
    world.clock.move(INVOCATION)

    report = world.sweep()

    assert report.did("recovered") == ["demo"]
    assert len(world.llm.prompts) == 1
    assert world.live_ids() == []
    assert audit(world.inner.objects, "demo", acknowledged).clean()


def test_a_commit_of_a_live_lease_is_not_touched():
    world, _ = killed_after_the_commit()

    assert world.sweep().did("recovered") == []
    assert heads.load(world.process, "demo").meta.committed_run is not None


def test_the_age_of_the_oldest_pending_note_counts_spaces_with_automatic_consolidation_only():
    world = World()
    world.create_space("by-hand", threshold=0)
    world.note("old", space_id="by-hand")
    world.clock.move(100)
    world.create_space("automatic", threshold=5)
    world.note("young", space_id="automatic")
    world.clock.move(60)
    world.note("younger", space_id="automatic")

    assert world.sweep_all().most("oldest_pending_note_seconds") == 60.0
    heads.patch(world.process, "automatic", auto_paused=True)
    assert world.sweep_all().most("oldest_pending_note_seconds") == 0.0


def test_a_note_from_the_future_is_not_pending_for_a_negative_time():
    world = World()
    world.create_space(threshold=5)
    world.clock.move(100)
    world.note("ahead")
    world.clock.move(-100)

    assert world.sweep_all().most("oldest_pending_note_seconds") == 0.0


def interrupted_deletion() -> World:
    world = at_threshold()
    world.client.kill_at(len(world.client.requests) + 3, done=True)
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "demo", "demo")
    world.new_process()
    return world


def test_an_interrupted_deletion_is_finished_when_the_id_is_free_again():
    world = interrupted_deletion()
    world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds() - 1)
    assert world.sweep().did("cleaned") == []

    world.clock.move(1)
    assert world.sweep().did("cleaned") == ["demo"]
    assert world.keys("demo/") == ["demo/_meta.json"]
    assert world.sweep().did("cleaned") == []


def test_an_interrupted_creation_is_cleared_away_when_its_worker_is_dead():
    world = World()
    world.client.kill_at(len(world.client.requests) + 3, done=True)
    with pytest.raises(Killed):
        world.create_space()
    world.new_process()
    assert world.keys("demo/") == ["demo/_rules.md", "demo/bank/.keep", "demo/live/.keep"]

    world.clock.move(INVOCATION - 1)
    assert world.sweep_all().did("cleaned") == []
    world.clock.move(1)
    assert world.sweep_all().did("cleaned") == ["demo"]
    assert world.keys("demo/") == ["demo/_meta.json"]


def test_the_deletion_of_a_dead_creation_can_not_hit_a_space_that_is_created_meanwhile():
    world = World()
    world.client.kill_at(len(world.client.requests) + 3, done=True)
    with pytest.raises(Killed):
        world.create_space()
    world.clock.move(INVOCATION)
    created: list[str] = []

    def create_meanwhile(index: int, verb: str) -> None:
        if verb == "DeleteObjects" or world.client.requests[index] == ("PUT", "demo/_meta.json"):
            world.client.before = lambda index, verb: None
            other = World(world.inner)
            other.clock = world.clock
            try:
                created.append(other.create_space().uid)
            except Conflict:
                created.append("refused")

    world.new_process()
    world.client.before = create_meanwhile
    world.sweep_all()

    assert len(created) == 1
    assert created == ["refused"] or len(world.keys("demo/")) == 4


OURS = [
    "demo/_runs/01HZZZZZZZ0000000000000001.json",
    "demo/_idempotency/" + "0" * 64 + ".json",
    "demo/_lease.json",
    "demo/_rules.md",
]


@each("key", OURS)
def test_what_was_written_without_a_space_is_cleared_away(key: str):
    world = World()
    world.inner.put_object(Bucket="b", Key=key, Body=b"x")
    world.clock.move(INVOCATION)

    assert world.sweep_all().did("cleaned") == ["demo"]
    assert world.keys("demo/") == ["demo/_meta.json"]


FOREIGN = [
    ["demo/live/20260220T140000_ann_todo_00000001.md"],
    ["demo/_rules.md", "demo/bank/log.md"],
    ["demo/_consolidations/000001_20260220T140000_20260220T140000.json"],
    ["logs/2026/02/20/access.log"],
    ["demo/README.md"],
    ["demo/live/notes.txt"],
    ["demo/_rules.md", "demo/photo.jpg"],
    ["demo/_meta.json.bak", "demo/_rules.md"],
    ["_backups/demo/2026-02-20T14-00-00/_meta.json"],
    ["_system/config.json"],
    ["My Folder/live/20260220T140000_ann_todo_00000001.md"],
    ["top-level.txt"],
]


@each("names", FOREIGN, ids=lambda names: names[0])
def test_folders_that_are_not_ours_are_left_alone(names: list[str]):
    world = World()
    for key in names:
        world.inner.put_object(Bucket="b", Key=key, Body=b"x")
    before = dict(world.inner.objects)
    world.clock.move(100 * QUARTER)

    report = world.sweep_all()

    assert report.did("cleaned") == []
    assert world.inner.objects == before


def test_the_failure_of_one_space_does_not_stop_the_others():
    world = at_threshold("alpha", "beta", "gamma")
    world.inner.put_object(Bucket="b", Key="beta/_meta.json", Body=b"{")

    report = world.sweep_all()

    assert (report.failed, report.did("started"), report.spaces) == (["beta"], ["alpha", "gamma"], 3)


def test_a_function_service_that_fails_for_one_space_does_not_stop_the_others():
    world = at_threshold("alpha", "beta")

    def enqueue(function: Function, payload: Any) -> None:
        if payload["space_id"] == "alpha":
            raise StoreUnavailable("The run could not be queued.")
        world.enqueue(function, payload)

    report = sweep.sweep(world.with_parts(enqueue=enqueue), deadline=world.clock() + LONG, everything=True)

    assert (report.failed, report.did("started")) == (["alpha"], ["beta"])


@each(("seconds", "looked_at"), [(10, 0), (30, 0), (31, 64), (900, 70)])
def test_a_daily_sweep_that_runs_out_of_time_stops_between_two_rounds_and_the_next_sweep_looks_at_the_rest(
    seconds: int, looked_at: int
):
    world = World()
    for number in range(70):
        world.create_space(f"space-{number:02d}")
    deadline = world.clock() + timedelta(seconds=seconds)
    world.client.reset()
    # The first round takes a second.
    world.client.before = lambda index, verb: world.clock.move(1) if index == 70 else None

    assert sweep.sweep(world.process, deadline=deadline, everything=True).spaces == looked_at
    left = 70 - looked_at
    assert len(world.due("daily")) == bool(left)
    world.client.before = lambda *_: None
    world.clock.move(900)
    assert world.sweep().spaces == left
    assert world.due("daily") == []


def test_two_sweeps_at_once_start_one_run():
    world = at_threshold()

    world.sweep_all()
    world.sweep_all()

    assert len(world.queued) == 1


def test_without_conditional_writes_the_sweep_touches_nothing():
    world = at_threshold()
    ignoring = IgnoringS3(world.clock)
    ignoring.objects = world.inner.objects
    store = Store("bucket", ignoring, ignoring, threads=1)  # type: ignore[arg-type]
    before = set(ignoring.objects)

    with pytest.raises(ConditionalWritesUnsupported):
        sweep.sweep(world.with_parts(store=store), deadline=world.clock() + LONG, everything=True)
    assert set(ignoring.objects) - before <= {CAPABILITY_CHECK}
    assert not world.queued


def claims(world: World, space_id: str = "demo") -> list[str]:
    return [key for key in world.inner.objects if key.startswith(IDEMPOTENCY.prefix(space_id))]


def append_with_key(world: World, key: str, space_id: str = "demo") -> str:
    note, _ = append_once(world.process, space_id, "ann", NoteDraft("todo", key), key)
    return note.note_id


def test_expired_idempotency_keys_are_deleted_once_a_day_and_no_others():
    world = World()
    world.create_space(threshold=0)
    expired = [append_with_key(world, f"old {number}") for number in range(3)]
    world.clock.move(CLAIM_LIFE.total_seconds() + 1)
    append_with_key(world, "young")
    (young,) = set(claims(world)[-1:])
    world.count()
    world.client.reset()

    reports = [world.sweep(), world.sweep_all()]

    assert [report.most("expired_keys") for report in reports] == [0, 3]
    assert claims(world) == [young]
    # Beyond looking at the space (2 GET each) the lists of the due index and of its runs, and once those of
    # spaces, keys, backups, what it has, old days of runs, archives, and
    # codes of the page and counts of requests. The daily look also reads the key that was written in the last two days.
    assert world.client.counts == {"GET": 2 * 2 + 1, "LIST": 2 * 2 + 10, "DELETE": 3}
    assert set(expired) < set(world.live_ids())


@pytest.mark.parametrize("failing", [run_retention, export, page_codes])
def test_old_things_of_one_kind_that_cannot_be_removed_keep_no_others(monkeypatch, caplog, failing):
    world = World()
    world.process.store.put(REQUEST_COUNT.key(1, "space-demo", world.process.new_id(), 20), b"")

    def fail(process: Process) -> None:
        raise StoreUnavailable("It did not answer.")

    for name in ("remove_days", "expire", "remove_old"):
        if hasattr(failing, name):
            monkeypatch.setattr(failing, name, fail)
    world.clock.move(3_600)
    world.sweep_all()

    assert world.keys(REQUEST_COUNT.prefix()) == []
    assert "were not removed" in caplog.text


def test_a_key_that_comes_into_use_again_while_the_sweep_cleans_is_kept():
    world = World()
    world.create_space(threshold=0)
    append_with_key(world, "again")
    world.clock.move(CLAIM_LIFE.total_seconds() + 1)
    listed: list[int] = []

    def used_again(index: int, verb: str) -> None:
        if verb == "DELETE" and not listed:
            listed.append(index)
            world.inner.put_object(Bucket="b", Key=claims(world)[0], Body=b"{}")

    world.client.before = used_again

    world.sweep_all()

    assert listed
    assert len(claims(world)) == 1


def test_a_space_whose_keys_cannot_be_listed_is_named_and_the_others_are_cleaned(monkeypatch):
    world = World()
    for space_id in ("bad", "good"):
        world.create_space(space_id, threshold=0)
        append_with_key(world, "key", space_id)
    world.clock.move(CLAIM_LIFE.total_seconds() + 1)
    whole = Store.scan

    def scan(store: Store, prefix: str, **rest: Any) -> Any:
        if prefix == IDEMPOTENCY.prefix("bad"):
            raise StoreUnavailable("no")
        return whole(store, prefix, **rest)

    monkeypatch.setattr(Store, "scan", scan)

    assert world.sweep_all().failed == ["bad"]
    assert (len(claims(world, "bad")), claims(world, "good")) == (1, [])


def test_where_the_store_sends_no_put_events_each_sweep_looks_at_all_spaces():
    world = World(put_events=False)
    world.create_space(threshold=2)
    for number in range(2):
        world.note(f"note {number}")

    assert world.sweep().did("started") == ["demo"]

"""The due index: what is begun is entered first, what is at rest is not, and no entry that is lost or too many costs a
note.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections
from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.errors import StoreUnavailable
from livemem.jobs import counter
from livemem.spaces import due_index, lifecycle
from livemem.spaces.due_index import KEPT, RELIED_ON
from livemem.store import due_keys, keys
from livemem.store.bucket import HEAD, LEASE, NOTE, RUN
from livemem.store.due_keys import DueEntry, DueKind
from livemem.upkeep import sweep
from tests.simulation.kinds.consolidation import CONSOLIDATION
from tests.simulation.scene import Action, prepared
from tests.support.bucket import Stored, error
from tests.support.cases import each
from tests.support.counting import WRITES, Killed, Request
from tests.support.part import part
from tests.support.rest import QUIET
from tests.support.world import EVERYONE, World

QUARTER = 15 * 60
OLD = (RELIED_ON + KEPT).total_seconds()
"""Seconds after which an entry of a space may go."""
AT_REST = {"LIST": 1}
"""What a sweep asks where nothing is due."""


def space(threshold: int = 3, notes: int = 0) -> World:
    world = World()
    world.create_space(threshold=threshold)
    for number in range(notes):
        world.note(f"note {number}")
        world.clock.move(1)
    return world


def entered(world: World) -> list[str]:
    """What stands in the index: `demo`, `demo@20260220T140000` of the notes that wait, `unreadable demo/_meta.json`."""
    found = [entry for key in world.keys(due_keys.DUE) if (entry := due_keys.parse_due(key))]
    return sorted(map(_named, found))


def _named(entry: DueEntry) -> str:
    by_kind = {"space": entry.space_id, "notes": f"{entry.space_id}@{entry.name}"}
    return by_kind.get(entry.kind, f"{entry.kind} {entry.space_id}/{entry.name}")


def put(world: World, space_id: str, kind: DueKind = "space", name: str = "", moment: datetime | None = None) -> None:
    key = due_keys.due(space_id, kind, name, moment or world.clock())
    world.inner.put_object(Bucket="b", Key=key, Body=b"")


def requests(world: World, act: Callable[[], Any]) -> dict[str, int]:
    world.client.reset()
    act()
    return dict(world.client.counts)


SPACE_IDS = st.from_regex(keys.SPACE_ID, fullmatch=True)
MOMENTS = st.datetimes(timezones=st.just(UTC))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(SPACE_IDS, st.sampled_from(due_keys.KINDS), NAMES, MOMENTS)
def test_an_entrys_key_parses_back_in_its_order_of_time(space_id: str, kind: DueKind, name: str, moment: datetime):
    name = "" if kind in due_keys.OF_SPACES else name
    key = due_keys.due(space_id, kind, name, moment)

    entry = due_keys.parse_due(key)

    assert entry == DueEntry(key, moment.replace(second=0, microsecond=0), space_id, kind, name)
    assert key.count("/") == (3 if kind in due_keys.OF_SPACES else 4)
    assert due_keys.DUE < key < due_keys.due_after(moment)
    assert moment < datetime(1, 1, 2, tzinfo=UTC) or due_keys.due_after(moment - timedelta(minutes=1)) < key


@given(MOMENTS, st.sampled_from([due_keys.STEP, RELIED_ON]))
def test_times_are_in_steps_that_neither_come_too_early_nor_too_late(moment: datetime, step: timedelta):
    before, after = due_keys.step_before(moment, step), due_keys.step_after(moment)

    assert timedelta() <= moment - before < step
    assert before.minute % (step // timedelta(minutes=1)) == before.second == before.microsecond == 0
    if moment < datetime.max.replace(tzinfo=UTC) - due_keys.STEP:
        assert timedelta() <= after - moment < due_keys.STEP
        assert after.minute % 5 == after.second == after.microsecond == 0


@each(
    "name",
    [
        *("", "x", "20260220T1400/ab-demo", "20260220T1400/ab-_demo/space", "20260220T1400/ab-a/b/space"),
        *("20260220T1400/ab-demo/space/x", "20260220T1400/ab-demo/notes", "20260220T1400/ab-demo/nothing/x"),
        *("20260231T1400/ab-demo/space", "20260220T14000/ab-demo/space", "20260220T1400/demo/space", "é"),
    ],
)
def test_what_is_no_entry_is_left_alone(name: str):
    world = space()
    world.inner.put_object(Bucket="b", Key=f"{due_keys.DUE}{name}", Body=b"x")
    world.clock.move(OLD)

    assert due_keys.parse_due(f"{due_keys.DUE}{name}") is None
    assert (world.sweep().spaces, world.sweep_all().spaces) == (0, 1)
    assert world.keys(due_keys.DUE) == [f"{due_keys.DUE}{name}"]


LEAVING: dict[str, Callable[[World], Any]] = {
    "a put event": lambda world: world.count(),
    "a put event that comes with others": lambda world: counter.notice(world.process, [world.keys("demo/live/2")[0]]),
    "a run by hand": lambda world: world.order(),
    "a correction": lambda world: corrections.write_file(world.process, "admin", "demo", "a.md", "# A\n", None),
    "a deletion": lambda world: lifecycle.delete(world.process, "demo", "demo"),
    "a pause": lambda world: space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(auto_paused=True)),
    "another threshold": lambda world: space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(threshold=1)),
}


@each("act", LEAVING.values(), ids=LEAVING)
def test_whoever_begins_what_another_may_have_to_finish_enters_the_space_first(act: Callable[[World], Any]):
    world = space(notes=1)
    world.client.reset()

    act(world)

    assert entered(world) == ["demo"]
    writes = [key for verb, key in world.client.requests if verb in WRITES.values()]
    assert writes[0] == due_keys.due("demo", "space", "", world.clock())


def test_a_change_that_starts_nothing_enters_nothing():
    world = space()
    space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(description="x"))
    assert entered(world) == []


def test_a_process_enters_a_space_once_in_ten_minutes_and_others_enter_it_too():
    world = space()
    due_index.leave(world.process, "demo")
    world.clock.move(RELIED_ON.total_seconds() - 1)
    assert requests(world, lambda: due_index.leave(world.process, "demo")) == {}
    assert requests(world, lambda: due_index.leave(world.with_parts(), "demo")) == {"PUT": 1}
    world.clock.move(1)
    assert requests(world, lambda: due_index.leave(world.process, "demo")) == {"PUT": 1}


def test_a_marker_that_can_not_be_written_fails_nobody_and_is_tried_again():
    world = space(notes=3)
    world.client.break_at(0, "SlowDown", 503, done=False)
    world.client.reset()

    assert world.count().result == "started"
    assert entered(world) == []
    assert world.count().result == "busy"
    assert entered(world) == ["demo"]


def test_a_space_at_rest_is_looked_at_until_its_marker_is_old_enough_and_then_never_again():
    world = space()
    world.count()
    world.clock.move(OLD - 1)
    assert requests(world, world.sweep) == {"LIST": 3, "GET": 2}
    assert entered(world) == ["demo"]
    world.clock.move(1)
    assert requests(world, world.sweep) == {"LIST": 3, "GET": 2, "DeleteObjects": 1}
    assert requests(world, world.sweep) == AT_REST


def test_notes_below_the_threshold_leave_a_marker_that_tells_their_age_without_a_look():
    world = space(notes=2)
    world.count()
    world.clock.move(OLD)
    assert requests(world, world.sweep) == {"LIST": 3, "GET": 2, "PUT": 1, "DeleteObjects": 1}
    assert entered(world) == ["demo@20260220T140000"]
    world.clock.move(1_000)

    found: list[sweep.SweepReport] = []
    assert requests(world, lambda: found.append(world.sweep())) == AT_REST

    assert found[0].spaces == 0
    assert found[0].most("oldest_pending_note_seconds") == 2 + OLD + 1_000


def test_the_age_is_that_of_the_oldest_note_of_all_spaces_looked_at_or_not():
    world = space(notes=1)
    world.create_space("later", threshold=3)
    world.note("x", space_id="later")
    for space_id in ("demo", "later"):
        world.count(space_id)
    world.clock.move(OLD)
    world.sweep()
    world.new_process()
    world.clock.move(10)
    world.count("later")

    report = world.sweep()

    assert (report.spaces, report.most("oldest_pending_note_seconds")) == (1, 1 + OLD + 10)


@pytest.mark.parametrize("change", [{"threshold": 0}, {"auto_paused": True}])
def test_notes_that_wait_for_nothing_any_more_lose_their_marker(change: dict[str, Any]):
    world = space(notes=1)
    world.count()
    world.clock.move(OLD)
    world.sweep()
    assert entered(world) == ["demo@20260220T140000"]

    space_change.change(world.process, EVERYONE, "demo", SpaceUpdate(**change))
    world.clock.move(OLD)
    assert world.sweep().most("oldest_pending_note_seconds") == 0

    assert entered(world) == []


def test_the_marker_of_notes_that_were_folded_goes_and_that_of_younger_ones_comes():
    world = space(notes=2)
    world.count()
    world.clock.move(OLD)
    world.sweep()
    world.note("the third")
    world.count()
    world.settle()
    world.note("the first of the next")
    world.count()
    moment = world.clock()
    rest(world)

    assert entered(world) == [f"demo@{keys.compact_time(moment)}"]


def rest(world: World) -> None:
    """Time passes in which nothing happens but the sweeps of every quarter of an hour."""
    world.new_process()
    for _ in range(int(QUIET // QUARTER) + 4):
        world.clock.move(QUARTER)
        world.sweep()
        world.settle()


@pytest.mark.slow
@each("action", part(CONSOLIDATION.actions, 5), ids=str)
def test_after_any_action_a_space_comes_to_rest_and_costs_nothing(action: Action):
    scene = prepared(CONSOLIDATION, action).fork()
    scene.attempt(action)
    world = scene.world
    world.settle()
    rest(world)

    assert [name for name in entered(world) if "@" not in name] == []
    assert requests(world, world.sweep) == AT_REST


def test_an_event_between_look_and_removal_keeps_its_entry():
    world = space(notes=1)
    world.count()
    world.clock.move(OLD)
    other = world.with_parts()

    def one_more(index: int, verb: str) -> None:
        if verb == "DeleteObjects":
            world.client.before = lambda index, verb: None
            world.note("in between")
            counter.hear(other, "demo")

    world.client.before = one_more
    world.sweep()

    assert entered(world) == ["demo", "demo@20260220T140000"]


def minutes_of_sweeps(world: World, minutes: float) -> None:
    for _ in range(round(minutes)):
        world.sweep()
        world.clock.move(60)


def test_who_relies_on_a_marker_of_before_is_found_by_it_although_it_is_swept_every_minute():
    world = space(threshold=2, notes=1)
    counting = world.with_parts()
    counter.hear(counting, "demo")
    world.sweep()
    minutes_of_sweeps(world, RELIED_ON // timedelta(minutes=1) - 1)
    world.note("the second")
    world.client.reset()
    world.client.kill_at(0, done=False)
    with pytest.raises(Killed):
        counter.hear(counting, "demo")
    assert world.client.requests == [("GET", HEAD.key("demo"))]
    world.new_process()

    world.sweep()

    assert len(world.queued) == 1


def test_a_run_whose_first_document_comes_as_late_as_can_be_is_ended_by_the_sweep():
    world = space(notes=1)
    counter.hear(world.process, "demo")
    minutes_of_sweeps(world, RELIED_ON // timedelta(minutes=1) - 1)
    late: list[Request] = []

    def lose(request: Request) -> Any:
        if request.verb == "PUT" and RUN.last(request.key):
            late.append(request)
            raise error("InternalError", 500, "PutObject")
        return request.send(world.inner)

    world.client.carry = lose
    with pytest.raises(StoreUnavailable):
        world.order()
    world.client.carry = lambda request: request.send(world.inner)
    minutes_of_sweeps(world, 15)
    late[0].send(world.inner)

    minutes_of_sweeps(world, 62)

    (run,) = [json.loads(stored.body) for key, stored in world.inner.objects.items() if RUN.last(key)]
    assert run["status"] == "failed"


def test_a_marker_of_a_space_that_is_not_there_goes():
    world = World()
    counter.notice(world.process, ["demo/live/20260220T140000_ann_todo_00000001.md"])
    assert entered(world) == ["demo"]
    world.clock.move(OLD)
    world.sweep()
    assert entered(world) == []


def test_what_is_left_of_a_deletion_is_found_by_its_marker():
    world = space(notes=1)
    world.client.reset()
    world.client.kill_at(3, done=False)
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "demo", "demo")
    rest(world)

    assert world.keys() == ["_system/capability-check/conditional-writes", "demo/_meta.json"]


def hold(world: World) -> None:
    lease = {"owner": "01HZZZZZZZ0000000000000001", "kind": "backoff", "expires_at": "2026-02-20T15:00:00Z"}
    body = json.dumps(lease | {"seconds": 3_600})
    world.inner.put_object(Bucket="b", Key=LEASE.key("demo"), Body=body.encode())


WAITING: dict[str, Callable[[World], Any]] = {
    "somebody holds it": hold,
    "a run is queued": lambda world: world.order(),
    "something of a run may come late": lambda world: world.consolidate(),
    "its deletion is young": lambda world: lifecycle.delete(world.process, "demo", "demo"),
    "a change by hand is watched": lambda world: corrections.write_file(
        world.process, "admin", "demo", "a.md", "# A\n", None
    ),
}


@each("begin", WAITING.values(), ids=WAITING)
def test_a_space_in_which_something_waits_stays_marked_however_old_the_marker_is(begin: Callable[[World], Any]):
    world = space(notes=1)
    world.count()
    world.clock.move(OLD)
    begin(world)
    world.store.delete_many(world.keys(due_keys.DUE))
    put(world, "demo", moment=world.clock() - timedelta(seconds=OLD))

    for _ in range(2):
        world.sweep()
        world.new_process()

    assert "demo" in entered(world)


def test_a_space_that_can_not_be_looked_at_stays_marked():
    world = space()
    world.inner.put_object(Bucket="b", Key="demo/_meta.json", Body=b"{")
    assert world.sweep_all().failed == ["demo"]
    world.clock.move(OLD)
    assert world.sweep().failed == ["demo"]
    assert entered(world) == ["demo", "unreadable demo/demo/_meta.json"]


def test_a_marker_that_can_not_be_removed_makes_no_failure_of_the_look():
    world = space()
    world.count()
    world.clock.move(OLD)

    def fail(index: int, verb: str) -> None:
        if verb == "DeleteObjects":
            world.client.break_at(index, "SlowDown", 503, done=False)
            world.client.before(index, verb)

    world.client.before = fail
    assert world.sweep() == sweep.SweepReport(spaces=1)
    world.client.before = lambda index, verb: None
    world.sweep()
    assert entered(world) == []


def test_the_daily_sweep_makes_good_what_lost_and_doubled_markers_cost():
    world = space(notes=2)
    world.create_space("due", threshold=1)
    world.note("never heard of", space_id="due")
    before = datetime(2025, 1, 1, tzinfo=UTC)
    for space_id in ("demo", "gone"):
        put(world, space_id, "notes", "20250101T000000", before)
    put(world, "gone")
    world.clock.move(OLD)

    report = world.sweep_all()

    assert report.did("started") == ["due"]
    assert entered(world) == ["demo@20260220T140000", "due"]


def test_a_marked_sweep_that_runs_out_of_time_leaves_the_markers_as_they_are():
    world = space()
    world.count()
    before = dict(world.inner.objects)

    report = sweep.sweep(world.process, deadline=world.clock() + timedelta(seconds=30))

    assert (report.spaces, world.inner.objects) == (0, before)


def at_rest(spaces: int, *, waiting: bool) -> World:
    world = World()
    meta = world.create_space("model", threshold=3).to_bytes()
    world.store.delete_many(world.keys("model/"))
    for number in range(spaces):
        space_id = f"space-{number:05}"
        body = meta.replace(b'"model"', f'"{space_id}"'.encode())
        world.inner.objects[HEAD.key(space_id)] = Stored(body, f'"{number}"', world.clock(), {})
        if waiting:
            note_id = f"20260220T140000_ann_todo_{number:08x}"
            world.inner.objects[NOTE.key(space_id, note_id)] = Stored(b"x", '"x"', world.clock(), {})
            put(world, space_id, "notes", keys.compact_time(world.clock()))
    world.new_process()
    world.store.capability_checked.clear()
    world.client.reset()
    world.clock.move(QUARTER)
    return world


@pytest.mark.parametrize(("waiting", "lists", "age"), [(False, 1, 0), (True, 3, QUARTER)])
def test_thousands_of_spaces_at_rest_cost_a_sweep_one_list_and_one_more_per_1000_where_notes_wait(
    waiting: bool, lists: int, age: float
):
    world = at_rest(3_000, waiting=waiting)

    report = world.sweep()

    assert world.client.counts == {"LIST": lists}
    assert (report.spaces, report.most("oldest_pending_note_seconds")) == (0, age)


def test_the_daily_sweep_looks_at_each_space_with_2_get_and_5_list():
    world = at_rest(200, waiting=True)
    world.store.capability_checked.append(True)

    assert world.sweep_all().spaces == 200

    # Head and lease; live notes, runs, Idempotency-Keys, backups, conversations and what searches keep. And the lists
    # of the due index, spaces, old days of runs, archives, codes of the page, counts of requests and uploads. And where
    # the last one ended, and for each 64 of them, and at the end, where this one is.
    assert world.client.counts == {"GET": 2 * 200 + 1, "LIST": 5 * 200 + 7, "PUT": 4 + 1}

"""Every night each space gets a backup of its own invocation, and what is not kept any more goes behind it."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from livemem import clock
from livemem.copies import catalog, nightly, taking
from livemem.copies.taking import BackupRequest
from livemem.errors import Busy, Conflict, StoreUnavailable
from livemem.jobs import lease, places
from livemem.process import Function
from livemem.spaces import lifecycle
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT, RULES
from livemem.upkeep import backup_work
from tests.support import backups
from tests.support.cases import each
from tests.support.counting import Request
from tests.support.world import INVOCATION, World

DAY = 86_400.0


def spaces(*ids: str, **settings: Any) -> World:
    world = World(**settings)
    for space_id in ids:
        world.create_space(space_id)
        world.note("one", space_id=space_id)
    world.new_process()
    return world


def night(world: World) -> Any:
    """The schedule's event, and all that follows from it."""
    done = backup_work.carry_out(world.process, {"do": "nightly"}, world.clock() + INVOCATION)
    world.settle()
    return done


def backed_up(world: World) -> dict[str, int]:
    return {
        space_id: len(backups.complete(world.inner.objects, space_id)) for space_id in catalog.spaces(world.process)
    }


def test_each_space_is_queued_by_itself_with_one_get_and_nothing_else_is_read():
    world = spaces("a", "b", "c")

    done = nightly.fan_out(world.process, deadline=world.clock() + INVOCATION)

    assert [dict(payload) for payload in world.queued] == [
        {"do": "back_up", "space_id": space_id} for space_id in "abc"
    ]
    assert (done.backups, done.retained, done.failed, done.not_queued, done.next_after) == (3, 0, [], [], None)
    assert world.client.counts == {"LIST": 2, "GET": 3}


def test_a_night_makes_a_backup_of_every_space_and_the_next_one_finds_them_unchanged():
    world = spaces("a", "b")

    night(world)
    assert backed_up(world) == {"a": 1, "b": 1}
    world.clock.move(DAY)
    world.note("two", space_id="b")
    night(world)

    assert backed_up(world) == {"a": 1, "b": 2}
    assert catalog.newest(world.process, "a").unchanged_at
    assert backups.broken(world.inner.objects) == []


def test_a_month_of_nights_keeps_what_the_rule_says():
    world = spaces("a")
    for number in range(34):
        world.note(f"note {number}", space_id="a")
        night(world)
        world.clock.move(DAY)

    assert len(backups.complete(world.inner.objects, "a")) == 30
    # The tombstones of the last hours, whose objects are gone.
    assert all(key.endswith(keys.MANIFEST) for key in backups.left_over(world.inner.objects))
    assert len(backups.left_over(world.inner.objects)) == 1


def test_of_a_deleted_space_the_backups_are_retained_and_its_remains_removed():
    world = spaces("a", "gone", "never", backup_keep_last=1)
    for _ in range(2):
        world.note("more", space_id="gone")
        world.back_up("gone", trigger="schedule")
        world.clock.move(DAY)
    world.back_up("gone", trigger="export", description="x")
    lifecycle.delete(world.process, "gone", "gone")
    lifecycle.delete(world.process, "never", "never")
    world.clock.move(40 * DAY)

    done = night(world)

    assert (done["backups"], done["retained"]) == (1, 1)
    assert [manifest.trigger for manifest in catalog.page_of(world.process, "gone", limit=9)[0]] == ["schedule"]
    assert backed_up(world)["a"] == 1
    world.clock.move(DAY)
    # The tombstone goes, and then there is nothing to do.
    assert [night(world)["retained"] for _ in range(2)] == [1, 0]


def test_a_space_that_has_not_changed_wakes_no_function_and_costs_3_listings_2_reads_and_1_write():
    world = spaces("a", "b")
    night(world)
    world.clock.move(DAY)
    world.note("two", space_id="b")
    world.new_process()

    done = nightly.fan_out(world.process, deadline=world.clock() + INVOCATION)

    assert (done.backups, done.unchanged, [dict(one) for one in world.queued]) == (
        1,
        1,
        [{"do": "back_up", "space_id": "b"}],
    )
    assert catalog.newest(world.process_on(world.inner), "a").unchanged_at == clock.iso_millis(world.clock())
    of_a = Counter(verb for verb, key in world.client.requests if key.startswith(("a/", "_backups/a/")))
    # The backups, the space, and the backup's folder; the beginning of its manifest, and all of it.
    assert of_a == {"LIST": 3, "GET": 2, "PUT": 1}
    assert Counter(verb for verb, key in world.client.requests if key.startswith(("b/", "_backups/b/"))) == {
        "LIST": 2,
        "GET": 2,
    }


def _without_the_look(world: World) -> None:
    world.settings = world.settings.model_copy(update={"backup_skip_unchanged": False})
    world.new_process()


def _a_lost_object(world: World) -> None:
    (backup_id,) = catalog.ids(world.process, "a")
    del world.inner.objects[BACKUP_OBJECT.key("a", backup_id, "_rules.md")]


def _a_file_changed_outside(world: World) -> None:
    world.inner.put_object(Bucket="b", Key=RULES.key("a"), Body=b"other")


def _another_write_to_the_manifest(world: World) -> None:
    """While the space is looked at."""

    def change(request: Request) -> Any:
        if request.verb == "PUT" and request.key.endswith(keys.MANIFEST):
            world.client.carry = lambda request: request.send(world.inner)
            taking.take(world.with_parts(), "a", BackupRequest("schedule"), deadline=world.clock() + INVOCATION)
        return request.send(world.inner)

    world.client.carry = change


def _a_large_space(world: World) -> None:
    del world


CHANGED = [_without_the_look, _a_lost_object, _a_file_changed_outside, _another_write_to_the_manifest, _a_large_space]


@each("act", CHANGED)
def test_a_space_gets_an_invocation_of_its_own_where_a_look_does_not_settle_it(
    act: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
):
    world = spaces("a")
    night(world)
    world.clock.move(DAY)
    if act is _a_large_space:
        monkeypatch.setattr(taking, "MOST_LISTED", 4)
    act(world)

    done = nightly.fan_out(world.process, deadline=world.clock() + INVOCATION)

    assert (done.backups, done.unchanged) == (1, 0)
    world.settle()
    assert catalog.newest(world.process_on(world.inner), "a").stands_for() == clock.iso_millis(world.clock())


def test_old_backups_of_a_space_that_never_changes_are_removed():
    world = spaces("a", backup_keep_last=1)
    for number in range(2):
        world.note(f"note {number}", space_id="a")
        night(world)
        world.clock.move(DAY)
    world.clock.move(40 * DAY)

    done = night(world)

    assert (done["backups"], done["retained"], backed_up(world)) == (0, 1, {"a": 1})


def test_many_changed_spaces_are_queued_over_an_hour_and_few_at_a_hundred_a_minute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nightly, "LEAST_A_MINUTE", 2)
    monkeypatch.setattr(nightly, "SPACES_AT_ONCE", 10)
    for count, expected in ((20, 2), (180, 3)):
        world = spaces(*(f"s{number:03}" for number in range(count)))
        store = world.process_on(world.client).store
        object.__setattr__(store, "sleep", world.pass_time)
        process = world.with_parts(store=store)
        began, payload, most = world.clock(), {"do": "nightly"}, Counter[int]()
        while payload:
            nightly.work(process, payload, world.clock() + INVOCATION)
            queued = list(world.queued)
            world.queued.clear()
            most.update(int((one.queued_at - began).total_seconds() // 300) for one in queued if one["do"] == "back_up")
            payload = next((dict(one) for one in queued if one["do"] == "nightly"), {})

        assert most.total() == count
        # A batch may be queued at the beginning of the five minutes, and one at their end.
        assert max(most.values()) <= 5 * expected + 10
        assert world.clock() - began <= timedelta(hours=1)


def test_a_space_that_is_broken_stops_no_other_and_is_told():
    world = spaces("a", "b", "c")
    world.inner.put_object(Bucket="b", Key="b/_meta.json", Body=b"{")

    done = night(world)

    assert (done["backups"], done["failed"]) == (2, ["b"])
    assert backed_up(world) == {"a": 1, "c": 1}


def test_what_can_not_be_queued_stops_no_other_and_makes_the_invocation_fail_at_the_end_so_that_it_is_tried_again():
    world = spaces("a", "b", "c")
    refused: list[str] = []

    def enqueue(function: Function, payload: Any) -> None:
        if payload["space_id"] == "b" and not refused:
            refused.append("b")
            raise StoreUnavailable("not now")
        world.enqueue(function, payload)

    process = world.with_parts(enqueue=enqueue)
    event = {"do": "nightly"}
    with pytest.raises(StoreUnavailable):
        backup_work.carry_out(process, event, world.clock() + INVOCATION)
    assert [payload["space_id"] for payload in world.queued] == ["a", "c"]
    assert backup_work.carry_out(process, event, world.clock() + INVOCATION)["status"] == "ok"
    world.settle()

    assert backed_up(world) == {"a": 1, "b": 1, "c": 1}


def test_many_spaces_go_on_in_the_next_invocation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nightly, "SPACES_AT_ONCE", 4)
    ids = [f"s{number:02}" for number in range(11)]
    world = spaces(*ids)
    world.client.after = lambda index, verb: world.clock.move(120) if verb == "GET" else None

    invocations = [nightly.work(world.process, {"do": "nightly"}, world.clock() + INVOCATION)]
    while world.queued[-1]["do"] == "nightly":
        invocations.append(nightly.work(world.process, world.queued.pop(), world.clock() + INVOCATION))

    assert [done["next_after"] for done in invocations] == ["s07", None]
    assert [payload["space_id"] for payload in world.queued] == ids


def test_a_backup_that_fails_is_tried_again_and_the_others_are_made():
    world = spaces("a", "b")
    tries: list[int] = []

    def fail(request: Request) -> Any:
        if request.verb == "COPY" and request.key.startswith("_backups/a/") and len(tries) < 2:
            tries.append(request.index)
            raise Conflict("x", retry_after=1)
        return request.send(world.inner)

    world.client.carry = fail
    night(world)

    assert (len(tries), backed_up(world)) == (2, {"a": 1, "b": 1})


def test_a_busy_space_is_waited_for():
    world = spaces("a")
    lease.acquire(world.with_parts(), places.of_space("a"), world.ids(), "manual")
    store = world.process_on(world.client).store
    object.__setattr__(store, "sleep", world.pass_time)
    process = world.with_parts(store=store)

    done = nightly.back_up(process, {"do": "back_up", "space_id": "a"}, world.clock() + INVOCATION)

    assert (done["status"], done["seconds"]) == ("made", 90)


def test_what_an_invocation_did_is_told_for_its_metrics():
    world = spaces("a")
    payload = {"do": "back_up", "space_id": "a"}
    made = backup_work.carry_out(world.process, payload, world.clock() + INVOCATION)
    again = backup_work.carry_out(world.process, payload, world.clock() + INVOCATION)
    lifecycle.delete(world.process, "a", "a")
    gone = backup_work.carry_out(world.process, payload, world.clock() + INVOCATION)

    assert [done["status"] for done in (made, again, gone)] == ["made", "unchanged", "gone"]
    assert (made["backup_id"], made["objects"], made["removed"], made["seconds"]) == (again["backup_id"], 5, 0, 0)
    assert made["bytes"] > 0


def failing_retention(world: World) -> list[int]:
    """Each look at the backups of the space fails; the requests that did."""
    lists: list[int] = []

    def fail(index: int, verb: str) -> None:
        if world.client.requests[index] == ("LIST", "_backups/a/"):
            lists.append(index)
            world.client.break_at(index, "SlowDown", 503, done=False)
            world.client.before(index, verb)

    world.client.before = fail
    return lists


def test_a_retention_that_fails_makes_no_failure_of_the_backup():
    world = spaces("a", backup_skip_unchanged=False)
    lists = failing_retention(world)

    done = backup_work.carry_out(world.process, {"do": "back_up", "space_id": "a"}, world.clock() + INVOCATION)

    assert (done["status"], done["retention_failed"], len(lists)) == ("made", True, 1)


@pytest.mark.parametrize("trigger", ["schedule", "api"])
def test_retention_follows_the_rest_of_a_backup_of_the_night_alone(monkeypatch: pytest.MonkeyPatch, trigger: Any):
    monkeypatch.setattr(taking, "BATCH", 3)
    world = spaces("a", backup_skip_unchanged=False)
    wanted = BackupRequest(trigger, "x", "ops")
    first = taking.take(world.process, "a", wanted, deadline=world.clock())
    lists = failing_retention(world)

    done = world.work()

    assert (first.result, done["status"], done["backup_id"]) == ("unfinished", "made", first.manifest.job_id)
    assert (done.get("retention_failed", False), len(lists)) == (trigger == "schedule", trigger == "schedule")
    made = world.process_on(world.inner)
    manifest = catalog.get(made, "a", done["backup_id"]).value
    assert (manifest.description, manifest.requested_by, manifest.trigger) == ("x", "ops", trigger)


def test_a_backup_that_is_delivered_twice_is_made_once():
    world = spaces("a")
    payload = {"do": "back_up", "space_id": "a"}
    results: list[Any] = []

    def again(index: int, verb: str) -> None:
        if verb == "COPY":
            world.client.before = lambda index, verb: None
            with pytest.raises(Busy):
                nightly.back_up(world.with_parts(), payload, world.clock() + timedelta(seconds=1))
            results.append("busy")

    world.client.before = again
    nightly.back_up(world.process, payload, world.clock() + INVOCATION)
    assert nightly.back_up(world.process, payload, world.clock() + INVOCATION)["status"] == "unchanged"

    assert (results, backed_up(world)) == (["busy"], {"a": 1})

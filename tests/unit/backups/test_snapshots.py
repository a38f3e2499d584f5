"""A backup holds the space as it stood at one moment, whole, and says so only then."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from livemem import clock
from livemem.backups import catalog, nightly, snapshots
from livemem.backups import manifest as manifests
from livemem.backups.snapshots import Taken, Wanted
from livemem.bank import corrections
from livemem.changes.leftovers import QUIET_AFTER
from livemem.errors import Busy, Conflict, InvalidRequest, NotFound, StoreUnavailable, TooLarge
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import lease, life
from livemem.store import keys
from livemem.store.objects import Store
from livemem.upkeep import health
from tests.support import backups
from tests.support.bucket import FakeS3, error
from tests.support.counting import CountingClient, Killed, Request
from tests.support.world import EVERYONE, INVOCATION, World

SPACE = "demo"


def put(world: World, name: str, body: bytes = b"x") -> None:
    world.inner.put_object(Bucket="b", Key=f"{SPACE}/{name}", Body=body)


def used(**parts: Any) -> World:
    """A space with a bank, records and live notes, at rest."""
    world = World(**parts)
    world.create_space(SPACE)
    for number in range(3):
        world.note(f"note {number}")
    world.consolidate()
    world.note("live one")
    world.note("live two")
    world.clock.move(QUIET_AFTER.total_seconds() + 3_600)
    world.sweep_all()
    world.sweep_all()
    world.new_process()
    return world


def take(world: World, process: Process | None = None, **more: Any) -> Taken:
    wanted = Wanted(more.pop("trigger", "api"), more.pop("description", ""))
    deadline = world.clock() + more.pop("time", INVOCATION)
    return snapshots.take(process or world.process, SPACE, wanted, deadline=deadline, **more)


def on_copy(world: World, name: str, act: Callable[[], Any], *, after: bool = False) -> None:
    """Let something happen once, before an object of the space is copied, or after it was."""
    todo = [act]

    def carry(request: Request) -> Any:
        hit = request.verb == "COPY" and request.arguments["CopySource"]["Key"] == f"{SPACE}/{name}" and todo
        if hit and not after:
            todo.pop()()
        answer = request.send(world.inner)
        if hit and after:
            todo.pop()()
        return answer

    world.client.carry = carry


def names(world: World, backup_id: str) -> set[str]:
    saved = manifests.load(world.process, SPACE, backup_id)
    return {item.name for item in saved.items or ()}


@pytest.mark.parametrize("threads", [1, 16])
def test_500_objects_are_backed_up_with_2_list_500_copies_and_3_put(threads: int):
    world = World(threads=threads)
    world.create_space(SPACE)
    for number in range(500 - len(world.keys("demo/"))):
        put(world, f"live/20260220T140000_ann_todo_{number:08x}.md")
    world.new_process()

    made = world.back_up()

    assert {verb: world.client.counts[verb] for verb in ("LIST", "COPY", "PUT")} == {"LIST": 2, "COPY": 500, "PUT": 3}
    assert set(world.client.counts) == {"LIST", "COPY", "PUT", "GET", "DELETE"}
    assert (world.client.counts["GET"], world.client.counts["DELETE"]) == (5, 1)
    assert (made.objects_count, made.complete) == (500, True)
    assert backups.broken(world.inner.objects) == []


def test_a_manifest_tells_what_is_in_the_backup_and_the_objects_are_those_of_the_space():
    world = used()
    before = {name: stored for name, stored in world.inner.objects.items() if name.startswith("demo/")}

    made = world.back_up(description="before the move")

    folder = keys.backup_prefix(SPACE, made.backup_id)
    saved = manifests.load(world.process, SPACE, made.backup_id)
    assert made == saved.manifest == catalog.get(world.process, SPACE, made.backup_id)
    assert made.counts == {"bank_files": 1, "notes": 2, "other": 6, "records": 1}
    assert made.bytes == sum(len(stored.body) for stored in before.values())
    assert (made.description, made.trigger, made.transient, made.changes) == ("before the move", "api", False, 1)
    copies = {key.removeprefix(folder): stored for key, stored in world.inner.objects.items() if key.startswith(folder)}
    del copies[keys.MANIFEST]
    assert {f"demo/{name}": (stored.body, stored.metadata) for name, stored in copies.items()} == {
        key: (stored.body, stored.metadata) for key, stored in before.items()
    }


def test_what_can_be_made_again_and_who_is_at_work_is_not_in_a_backup_and_all_else_is():
    world = used()
    derived = [
        "_search/words.bin",
        "_vectors/1.bin",
        "conversations/c1/claims/a.json",
        "_runs/by_hand.json",
        "_runs/01HZZZZZZZ0000000000000001.plan.json",
        "_manifest.json",
    ]
    kept = [
        "conversations/c1/000001.turn.json",
        "memories/2026.json",
        "rooms/r/1.json",
        "_erasures/01HZZZZZZZ0000000000000001.json",
        "_idempotency/0.json",
        "_runs/01HZZZZZZZ0000000000000001.displaced/log.md",
        "photo.png",
        "live/notes.txt",
    ]
    for name in (*derived, *kept):
        put(world, name)

    made = world.back_up()

    assert not names(world, made.backup_id) & {*derived, "_lease.json"}
    assert names(world, made.backup_id) >= {
        *kept,
        "_meta.json",
        "_rules.md",
        "_synthesis.md",
        "live/.keep",
        "bank/.keep",
    }
    # What lies in the place of the manifest has not become it.
    assert backups.complete(world.inner.objects) == [made.backup_id]


def test_two_backups_of_one_second_have_two_ids():
    world = used()

    ids = [world.back_up(description=f"{number}").backup_id for number in range(3)]

    assert ids == [keys.backup_id(world.clock() + timedelta(seconds=number)) for number in range(3)]


def test_of_two_that_claim_an_id_at_once_one_takes_the_next():
    world = used()
    other = world.with_parts()
    now = world.clock()
    head = heads.load(world.process, SPACE)

    ids = [snapshots._claim(process, head, Wanted("api"), now).manifest.backup_id for process in (world.process, other)]

    assert len(set(ids)) == 2


def test_a_pending_commit_is_finished_first():
    world = used()
    world.note("three")
    run = world.order()

    def die(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", "demo/_meta.json"):
            raise Killed

    world.new_process()
    world.client.after = die
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    world.clock.move(100)
    assert heads.load(world.process, SPACE).meta.committed_run == run.run_id

    made = world.back_up()

    assert (made.changes, made.counts["records"]) == (2, 2)
    assert backups.broken(world.inner.objects) == []


def hold(world: World) -> lease.Held:
    return lease.acquire(world.with_parts(), SPACE, world.ids(), "manual")


def test_a_busy_space_is_refused_and_nothing_is_claimed():
    world = used()
    hold(world)

    with pytest.raises(Busy):
        take(world)

    assert backups.all_of(world.inner.objects) == {}


def waiting(world: World) -> tuple[Process, list[float]]:
    """A process that lets time pass where it sleeps."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        world.pass_time(seconds)

    store = Store("bucket", world.client, world.client, threads=1, sleep=sleep, probed=world.probed)  # type: ignore[arg-type]
    return world.with_parts(store=store), slept


def test_who_waits_takes_the_backup_when_the_space_is_free():
    world = used()
    hold(world)
    process, slept = waiting(world)

    taken = take(world, process, wait=True)

    assert taken.result == "made"
    assert sum(slept) == lease.LIFE.total_seconds()


def test_who_waits_gives_up_while_there_is_time_to_answer():
    world = used()
    process, _ = waiting(world)
    held = hold(world)
    deadline = world.clock() + timedelta(seconds=60)
    process.store.sleep(1)
    lease.extend(process, held, timedelta(hours=1))

    with pytest.raises(Busy):
        take(world, process, wait=True, time=timedelta(seconds=59))

    assert timedelta(seconds=10) < deadline - world.clock() < timedelta(seconds=30)


def test_a_space_in_which_notes_are_erased_is_not_backed_up_and_who_waits_takes_the_backup_afterwards():
    world = used()
    heads.update(world.process, SPACE, lambda _: {"erasing": "01HZZZZZZZ0000000000000001"})

    with pytest.raises(Busy):
        take(world)

    process, slept = waiting(world)

    def end() -> None:
        heads.update(world.with_parts(), SPACE, lambda _: {"erasing": None})

    with world.meanwhile(end, 31):
        assert take(world, process, wait=True).result == "made"
    assert sum(slept) == 35


def test_an_erasure_that_begins_while_a_backup_is_taken_spoils_it():
    world = used()
    erase = lambda: heads.update(world.with_parts(), SPACE, lambda _: {"erasing": "01HZZZZZZZ0000000000000001"})  # noqa: E731
    on_copy(world, "live/.keep", erase)

    with pytest.raises(Conflict):
        take(world)

    assert backups.complete(world.inner.objects) == []


def test_a_note_that_is_appended_meanwhile_is_in_the_next_backup():
    world = used()
    appended: list[str] = []
    on_copy(world, "_meta.json", lambda: appended.append(world.note("late").note_id))

    first, second = world.back_up(), world.back_up()

    name = f"live/{appended[0]}.md"
    assert [name in names(world, made.backup_id) for made in (first, second)] == [False, True]
    assert first.backup_id != second.backup_id


def test_a_backup_stands_for_the_moment_before_it_looked():
    world = used()
    looked: list[str] = []

    def tick(index: int, verb: str) -> None:
        world.clock.move(1)
        if world.client.requests[index] == ("LIST", "demo/"):
            looked.append(clock.iso_millis(world.clock()))

    world.client.before = tick
    made = world.back_up().stands_for()
    confirmed = world.back_up().stands_for()

    assert made < looked[0] < confirmed < looked[1]


def _commit_elsewhere(world: World) -> None:
    """By somebody who took the lease of one that stood still for too long."""
    world.clock.move(lease.LIFE.total_seconds() + 1)
    corrections.write_file(world.with_parts(), "admin", SPACE, "log.md", "# Other\n", None)


WHILE_COPYING: dict[str, tuple[str, Callable[[World], Any]]] = {
    "the space is deleted": ("bank/.keep", lambda world: life.delete(world.with_parts(), SPACE, SPACE)),
    "a note is folded": ("live/.keep", lambda world: world.inner.objects.pop(world.keys("demo/live/2")[0])),
    "a bank file is gone": ("bank/.keep", lambda world: world.inner.objects.pop("demo/bank/log.md")),
    "the bank is changed": ("live/.keep", _commit_elsewhere),
}


@pytest.mark.parametrize(("moment", "act"), WHILE_COPYING.values(), ids=WHILE_COPYING)
def test_a_backup_of_a_space_that_changes_under_it_never_becomes_complete(moment: str, act: Callable[[World], Any]):
    world = used()
    on_copy(world, moment, lambda: act(world))

    with pytest.raises(Conflict) as refused:
        take(world)

    assert refused.value.retry_after
    assert backups.complete(world.inner.objects) == []
    assert keys.lease(SPACE) not in world.inner.objects


@pytest.mark.parametrize("after", [False, True])
def test_what_is_patched_or_noted_of_a_run_meanwhile_is_in_the_backup_as_it_was_copied(after: bool):
    world = used()
    on_copy(world, "_meta.json", lambda: heads.patch(world.with_parts(), SPACE, description="new"), after=after)

    made = world.back_up()

    meta = json.loads(world.text(keys.backup_object(SPACE, made.backup_id, "_meta.json")))
    assert meta["description"] == ("" if after else "new")
    assert backups.broken(world.inner.objects) == []


def test_an_idempotency_key_that_is_gone_meanwhile_is_left_out():
    world = used()
    put(world, "_idempotency/0.json")
    on_copy(world, "_idempotency/0.json", lambda: world.inner.objects.pop("demo/_idempotency/0.json"))

    made = world.back_up()

    assert "_idempotency/0.json" not in names(world, made.backup_id)
    assert backups.left_over(world.inner.objects) == []


def test_a_copy_whose_answer_was_lost_of_what_is_gone_by_then_is_removed():
    world = used()
    put(world, "_idempotency/0.json")

    def carry(request: Request) -> Any:
        answer = request.send(world.inner)
        if request.verb == "COPY" and request.key.endswith("_idempotency/0.json"):
            del world.inner.objects["demo/_idempotency/0.json"]
            raise error("PreconditionFailed", 412, "CopyObject")
        return answer

    world.client.carry = carry
    world.back_up()

    assert backups.left_over(world.inner.objects) == []


def test_a_copy_that_comes_late_changes_nothing_in_a_backup():
    world = used()
    late: list[Request] = []

    def carry(request: Request) -> Any:
        late.extend([request] if request.verb == "COPY" else [])
        return request.send(world.inner)

    world.client.carry = carry
    world.back_up()
    world.client.carry = lambda request: request.send(world.inner)
    corrections.write_file(world.process, "admin", SPACE, "log.md", "# Log\n\n## Log\n\nOther.\n", None)
    assert world.consolidate().status == "ok"

    for request in late:
        with suppress(ClientError):
            request.send(world.inner)

    # Head, bank file, synthesis and two notes.
    assert sum(_is_stale(world, request) for request in late) == 5
    assert backups.broken(world.inner.objects) == []


def _is_stale(world: World, request: Request) -> bool:
    source = world.inner.objects.get(request.arguments["CopySource"]["Key"])
    return not source or source.etag != request.arguments["CopySourceIfMatch"]


class OwnEtags(FakeS3):
    """A store that gives each write an ETag of its own, as S3 does with keys of KMS."""

    ignores = False
    """Whether it ignores the condition of a copy, as moto does."""

    def _stamp(self, key: str) -> str:
        self.count += 1
        self.objects[key] = replace(self.objects[key], etag=f'"own-{self.count}"')
        return self.objects[key].etag

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        answer = super().put_object(**arguments)
        return {**answer, "ETag": self._stamp(arguments["Key"])}

    def copy_object(self, **arguments: Any) -> dict[str, Any]:
        if self.ignores:
            arguments.pop("CopySourceIfMatch", None)
        answer = super().copy_object(**arguments)
        return {**answer, "CopyObjectResult": {"ETag": self._stamp(arguments["Key"])}}


def own_etags() -> World:
    world = World(OwnEtags())
    world.inner._clock = world.clock
    world.create_space(SPACE)
    for number in range(9):
        world.note(f"note {number}")
    world.new_process()
    return world


def test_on_a_store_that_gives_each_copy_an_etag_of_its_own_both_are_noted_and_one_head_more_is_asked_for_each():
    world = own_etags()

    made = world.back_up()

    counts = world.client.counts
    assert counts["HEAD"] == counts["COPY"] == made.objects_count == 13
    assert backups.broken(world.inner.objects) == []
    saved = manifests.load(world.process, SPACE, made.backup_id)
    assert all(item.copy_etag and item.copy_etag != item.etag for item in saved.items or ())
    assert take(world).result == "unchanged"


def test_on_a_store_that_ignores_the_condition_of_a_copy_an_object_that_was_changed_is_copied_again():
    world = own_etags()
    world.inner.ignores = True
    on_copy(world, "_meta.json", lambda: heads.patch(world.with_parts(), SPACE, description="new"))

    made = world.back_up()

    meta = json.loads(world.text(keys.backup_object(SPACE, made.backup_id, "_meta.json")))
    (item,) = (i for i in manifests.load(world.process, SPACE, made.backup_id).items or () if i.name == "_meta.json")
    assert (meta["description"], item.etag) == ("new", world.inner.objects["demo/_meta.json"].etag)
    assert backups.broken(world.inner.objects) == []


class Sha256(FakeS3):
    def copy_object(self, *, ChecksumAlgorithm: str = "", **arguments: Any) -> dict[str, Any]:
        answer = super().copy_object(**arguments)
        assert ChecksumAlgorithm == "SHA256"
        # base64 of 32 bytes.
        answer["CopyObjectResult"]["ChecksumSHA256"] = "A" * 43 + "="
        return answer


def test_where_the_store_gives_the_sha_256_it_is_in_the_manifest():
    world = World(Sha256())
    world.inner._clock = world.clock
    world.create_space(SPACE)
    store = replace(world.store, gives_sha256=True)

    made = take(world, world.with_parts(store=store)).manifest

    saved = manifests.load(world.process, SPACE, made.backup_id)
    assert {item.sha256 for item in saved.items or ()} == {"00" * 32}


# What has not changed


def test_a_space_that_is_unchanged_is_not_copied_but_that_is_noted():
    world = used()
    first = world.back_up()
    world.clock.move(3_600)
    world.new_process()

    taken = take(world, trigger="schedule")

    assert (taken.result, taken.manifest.backup_id) == ("unchanged", first.backup_id)
    assert taken.manifest.stands_for() == taken.manifest.unchanged_at == clock.iso_millis(world.clock())
    assert "COPY" not in world.client.counts
    assert {verb: world.client.counts[verb] for verb in ("LIST", "PUT")} == {"LIST": 3, "PUT": 2}
    assert catalog.ids(world.process, SPACE) == [first.backup_id]


def _described(world: World) -> Taken:
    return take(world, description="a milestone")


def _always(world: World) -> Taken:
    return take(world, world.with_parts(settings=world.settings.model_copy(update={"backup_skip_unchanged": False})))


def _after_a_note(world: World) -> Taken:
    world.note("another")
    return take(world)


def _after_one_of_its_objects_is_lost(world: World) -> Taken:
    (backup_id,) = catalog.ids(world.process, SPACE)
    del world.inner.objects[keys.backup_object(SPACE, backup_id, "_rules.md")]
    return take(world)


def _after_one_was_damaged(world: World) -> Taken:
    (backup_id,) = catalog.ids(world.process, SPACE)
    world.inner.put_object(Bucket="b", Key=keys.backup_object(SPACE, backup_id, "_rules.md"), Body=b"other")
    return take(world)


COPIED: list[Callable[[World], Taken]] = [
    _described,
    _always,
    _after_a_note,
    _after_one_of_its_objects_is_lost,
    _after_one_was_damaged,
]


@pytest.mark.parametrize("act", COPIED)
def test_a_space_is_copied_although_there_is_a_backup(act: Callable[[World], Taken]):
    world = used()
    first = world.back_up()

    taken = act(world)

    assert (taken.result, taken.manifest.backup_id > first.backup_id) == ("made", True)
    assert taken.manifest.unchanged_at is None


def test_a_backup_that_was_made_for_an_export_is_kept_once_the_schedule_finds_it_still_right():
    world = used()
    first = take(world, trigger="export").manifest
    again = take(world, trigger="fork").manifest
    assert (first.transient, again.transient, again.trigger) == (True, True, "export")

    kept = take(world, trigger="schedule").manifest

    assert (kept.backup_id, kept.transient, kept.trigger) == (first.backup_id, False, "schedule")
    assert not take(world, trigger="export").manifest.transient


# What does not fit into one invocation


@pytest.fixture(name="small")
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "BATCH", 3)


def slow(world: World) -> None:
    world.client.before = lambda index, verb: world.clock.move(10) if verb == "COPY" else None


@pytest.mark.parametrize("store", [used, own_etags])
def test_what_does_not_fit_goes_on_in_the_next_invocations_and_nothing_is_copied_twice(small: None, store: Any):
    world = store()
    slow(world)
    todo = {"do": "back_up", "space_id": SPACE, "trigger": "schedule"}
    results = []
    while todo:
        deadline = world.clock() + timedelta(seconds=65)
        results.append(nightly.back_up(world.process, todo, deadline)["status"])
        assert backups.complete(world.inner.objects) == [] or not world.queued
        todo = dict(world.queued.popleft()) if world.queued else {}

    made = catalog.newest(world.process, SPACE).manifest
    assert results == ["unfinished"] * (len(results) - 1) + ["made"]
    assert len(results) > 1
    assert world.client.counts["COPY"] == made.objects_count
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def unfinished(world: World) -> str:
    slow(world)
    taken = take(world, time=timedelta(seconds=65))
    world.client.before = lambda index, verb: None
    assert taken.result == "unfinished"
    assert not taken.manifest.complete
    return taken.manifest.backup_id


def test_what_has_changed_between_two_invocations_is_copied_again_and_what_is_gone_goes(small: None):
    world = used()
    put(world, "_idempotency/0.json")
    backup_id = unfinished(world)
    assert keys.backup_object(SPACE, backup_id, "_idempotency/0.json") in world.inner.objects
    del world.inner.objects["demo/_idempotency/0.json"]
    world.note("three")
    world.consolidate()

    made = take(world, unfinished=backup_id).manifest

    assert (made.backup_id, made.complete, made.changes) == (backup_id, True, 2)
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def test_who_stood_still_can_not_complete_what_another_goes_on_with(small: None):
    world = used()
    backup_id = unfinished(world)
    other = world.with_parts()

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        world.note("three")
        taken = take(world, other, unfinished=backup_id, time=timedelta(seconds=65))
        assert taken.result == "made"

    on_copy(world, "live/.keep", overtake)
    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    assert backups.complete(world.inner.objects) == [backup_id]
    assert backups.broken(world.inner.objects) == []


def test_who_stood_still_can_not_complete_what_another_died_at(small: None):
    world = used()
    backup_id = unfinished(world)
    other = CountingClient(world.inner)

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        heads.patch(world.with_parts(), SPACE, description="new")
        # Dead behind its first batch, in which the head is.
        process = world.process_on(other)
        other.reset()
        other.before = lambda index, verb: other.kill_at(index, done=False) if other.counts["COPY"] == 3 else None
        with pytest.raises(Killed):
            take(world, process, unfinished=backup_id)

    on_copy(world, "live/.keep", overtake)
    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    assert backups.broken(world.inner.objects) == []
    world.clock.move(lease.LIFE.total_seconds() + 1)
    assert take(world, unfinished=backup_id).result == "made"
    assert backups.broken(world.inner.objects) == []


@pytest.mark.parametrize("gone", ["removed", "of another life", "never there"])
def test_an_unfinished_backup_that_is_gone_is_not_gone_on_with(small: None, gone: str):
    world = used()
    backup_id = unfinished(world)
    if gone == "removed":
        catalog.remove(world.process, SPACE, backup_id)
    elif gone == "of another life":
        heads.update(world.process, SPACE, lambda _: {"uid": "01HZZZZZZZ0000000000000009"})
    else:
        backup_id = "2020-01-01T00-00-00"
    before = dict(world.inner.objects)

    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    after = dict(world.inner.objects)
    assert before == after


def test_one_that_is_complete_already_is_told_so(small: None):
    world = used()
    backup_id = unfinished(world)
    made = take(world, unfinished=backup_id)
    world.client.reset()

    assert take(world, unfinished=backup_id) == made
    assert "COPY" not in world.client.counts


# Who looks, and who comes afterwards


def test_a_long_backup_is_no_problem_of_the_space():
    world = used()
    seen: list[list[str]] = []

    def look() -> None:
        world.clock.move(75)
        problems = health.deep(world.with_parts(settings=_no_llm(world)), EVERYONE).problems
        seen.append([problem.code for problem in problems])

    on_copy(world, "live/.keep", look)
    world.back_up()

    assert seen == [[]]


def _no_llm(world: World) -> Any:
    return world.settings.model_copy(update={"llmaas_api_url": ""})


def test_a_run_that_became_due_while_the_space_was_held_is_started_behind_it():
    world = World()
    world.create_space(SPACE, threshold=2)
    world.note("one")

    def write() -> None:
        world.note("two")
        assert world.count().result == "busy"

    on_copy(world, "live/.keep", write)
    world.back_up()

    assert len(world.queued) == 1


@pytest.mark.parametrize("wrong", ["x" * 501, "\ud800"])
def test_a_description_that_is_too_long_or_no_text_is_refused_before_anything_is_asked(wrong: str):
    world = used()

    with pytest.raises((TooLarge, InvalidRequest)):
        take(world, description=wrong)

    assert world.client.requests == []


def test_a_space_that_is_not_there_is_not_found_and_stays_so():
    world = World()
    with pytest.raises(NotFound):
        take(world)
    assert world.keys("demo/") == []


@pytest.mark.parametrize("verb", ["COPY", "HEAD"])
def test_a_store_that_fails_leaves_the_space_free_and_the_next_one_makes_a_backup(verb: str):
    world = own_etags()
    world.client.carry = _failing(world, verb)

    with pytest.raises(StoreUnavailable):
        take(world)

    assert keys.lease(SPACE) not in world.inner.objects
    world.client.carry = lambda request: request.send(world.inner)
    assert take(world).result == "made"


def _failing(world: World, verb: str) -> Callable[[Request], Any]:
    def carry(request: Request) -> Any:
        if request.verb == verb:
            raise error("SlowDown", 503, verb)
        return request.send(world.inner)

    return carry


@hypothesis(max_examples=25)
@given(st.lists(st.sampled_from(["note", "run", "edit", "patch", "back up", "export", "remove"]), max_size=8))
def test_whatever_happens_to_a_space_its_complete_backups_are_whole(acts: list[str]):
    world = World()
    world.create_space(SPACE)
    for act in acts:
        world.clock.move(61)
        if act == "note":
            world.note(f"note {world.ids.count}")
        elif act == "run":
            world.consolidate()
        elif act == "edit":
            corrections.write_file(world.process, "admin", SPACE, "log.md", f"# {world.ids.count}\n", None)
        elif act == "patch":
            heads.patch(world.process, SPACE, description=str(world.ids.count))
        elif act == "remove":
            for backup_id in catalog.ids(world.process, SPACE)[:1]:
                with_nothing_left(world, backup_id)
        else:
            world.back_up(trigger="export" if act == "export" else "api")
        assert backups.broken(world.inner.objects) == []


def with_nothing_left(world: World, backup_id: str) -> None:
    try:
        catalog.remove(world.process, SPACE, backup_id)
    except NotFound:
        return
    folder = keys.backup_prefix(SPACE, backup_id)
    assert world.keys(folder) == [keys.manifest(SPACE, backup_id)]

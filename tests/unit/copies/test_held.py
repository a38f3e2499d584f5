"""Who takes a backup holds the space, waits for it where he may, and gives it back."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from livemem.copies import catalog
from livemem.erasure import erasure
from livemem.errors import Busy, Conflict, NotFound, StoreUnavailable
from livemem.jobs import lease, places, worker
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head_fields import Erasing
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT, HEAD, LEASE, NOTE
from livemem.upkeep import health
from tests.support import backups
from tests.support.backing_up import hold, on_copy, own_etags, take, used, waiting
from tests.support.bucket import error
from tests.support.counting import CountingClient, Killed, Request
from tests.support.world import EVERYONE, INVOCATION, World

SPACE = "demo"


def test_a_busy_space_is_refused_and_nothing_is_claimed():
    world = used()
    hold(world)

    with pytest.raises(Busy):
        take(world)

    assert backups.all_of(world.inner.objects) == {}


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

    assert worker.MARGIN < deadline - world.clock() < timedelta(seconds=30)


def test_a_space_in_which_notes_are_erased_is_not_backed_up_and_who_waits_takes_the_backup_afterwards():
    world = used()
    heads.update(world.process, SPACE, _erasing)

    with pytest.raises(Busy):
        take(world)

    process, slept = waiting(world)

    def end() -> None:
        heads.update(world.with_parts(), SPACE, lambda _: {"erasing": None})

    with world.every(end, 31):
        assert take(world, process, wait=True).result == "made"
    assert sum(slept) == 32


def test_an_erasure_that_begins_just_before_the_space_is_held_is_seen():
    world = used()

    def erase(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", LEASE.key(SPACE)):
            heads.update(world.with_parts(store=world.process_on(world.inner).store), SPACE, _erasing)

    world.client.before = erase
    with pytest.raises(Busy):
        take(world)

    assert backups.all_of(world.inner.objects) == {}
    assert LEASE.key(SPACE) not in world.inner.objects


def _erasing(_: heads.Meta) -> dict[str, object]:
    return {"erasing": Erasing(at_work="01HZZZZZZZ0000000000000001")}


def test_an_erasure_that_begins_while_a_backup_is_taken_spoils_it():
    world = used()
    on_copy(world, "live/.keep", lambda: heads.update(world.with_parts(), SPACE, _erasing))

    with pytest.raises(Conflict):
        take(world)

    assert backups.complete(world.inner.objects) == []


def erase(world: World, text: str, process: Process | None = None) -> None:
    """Erase the note that has this text."""
    (note_id,) = (note_id for note_id in world.live_ids() if text in world.text(NOTE.key(SPACE, note_id)))
    other = process or world.with_parts(store=world.process_on(world.inner).store)
    receipt = erasure.erase(other, EVERYONE, SPACE, [note_id], world.clock() + INVOCATION)
    assert receipt.status == "done"


def holding(world: World, text: bytes) -> list[str]:
    return [key for key, stored in world.inner.objects.items() if text in stored.body]


def test_an_erasure_that_came_and_went_while_a_backup_stood_still_spoils_it():
    world = used()

    def stand_still() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        erase(world, "live one")

    last = world.keys("demo/live/2")[-1].removeprefix("demo/")
    on_copy(world, last, stand_still, after=True)
    with pytest.raises(Conflict):
        take(world)

    assert backups.complete(world.inner.objects) == []
    assert holding(world, b"live one") == []


def test_what_a_dead_backup_copied_is_erased_and_what_its_last_copy_brings_behind_that_too():
    world = used()
    on_copy(world, "live/.keep", lambda: world.client.kill_at(0, done=False))
    with pytest.raises(Killed):
        take(world)
    world.new_process()
    (backup_id,) = catalog.ids(world.process, SPACE)
    world.clock.move(lease.LIFE.total_seconds() + 1)
    note = next(key for key in holding(world, b"live one") if key.startswith("demo/"))
    copy = BACKUP_OBJECT.key(SPACE, backup_id, note.removeprefix("demo/"))
    client = CountingClient(world.inner)
    brought: list[str] = []

    def bring(request: Request) -> Any:
        if request.verb.startswith("DELETE") or request.verb == "DeleteObjects":
            doomed = [request.key, *(item["Key"] for item in request.arguments.get("Delete", {}).get("Objects", []))]
            if note in doomed:
                world.inner.copy_object(Bucket="b", Key=copy, CopySource={"Key": note})
                brought.append(copy)
        return request.send(world.inner)

    process = world.process_on(client)
    client.carry = bring
    erase(world, "live one", process)

    assert brought
    assert holding(world, b"live one") == []
    assert world.keys(BACKUP_OBJECT.prefix(SPACE, backup_id)) == [BACKUP_MANIFEST.key(SPACE, backup_id)]


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


def test_a_space_that_is_not_there_is_not_found_and_stays_so():
    world = World()
    with pytest.raises(NotFound):
        take(world)
    assert world.keys("demo/") == []


def test_where_a_store_fails_before_the_first_copy_the_space_is_free_at_once_and_what_others_left_is_still_told():
    world = used()
    hold(world)
    world.clock.move(lease.LIFE.total_seconds() + 1)
    world.client.reset()
    world.client.break_at(3, "SlowDown", 503, done=False)

    with pytest.raises(StoreUnavailable):
        take(world)

    assert world.client.requests[2:4] == [("PUT", LEASE.key(SPACE)), ("GET", HEAD.key(SPACE))]
    left = lease.look(world.process, places.of_space(SPACE))
    assert left
    assert (left.lease.seconds, len(left.lease.abandoned)) == (0, 1)
    assert take(world).result == "made"


@pytest.mark.parametrize("verb", ["COPY", "HEAD"])
def test_a_store_that_fails_leaves_the_space_free_and_the_next_one_makes_a_backup(verb: str):
    world = own_etags()
    world.client.carry = _failing(world, verb)

    with pytest.raises(StoreUnavailable):
        take(world)

    assert LEASE.key(SPACE) not in world.inner.objects
    world.client.carry = lambda request: request.send(world.inner)
    assert take(world).result == "made"


def _failing(world: World, verb: str) -> Callable[[Request], Any]:
    def carry(request: Request) -> Any:
        if request.verb == verb:
            raise error("SlowDown", 503, verb)
        return request.send(world.inner)

    return carry

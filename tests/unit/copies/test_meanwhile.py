"""What changes while a backup is taken is in it as a whole, or not, or the backup is none."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem import clock
from livemem.bank import corrections
from livemem.errors import Conflict
from livemem.jobs import lease
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import BACKUP_OBJECT, LEASE
from tests.support import backups
from tests.support.backing_up import names, on_copy, put, take, used
from tests.support.bucket import error
from tests.support.cases import each
from tests.support.counting import Request
from tests.support.world import World

SPACE = "demo"


def test_a_note_that_is_appended_meanwhile_is_in_the_next_backup():
    world = used()
    appended: list[str] = []
    on_copy(world, "_meta.json", lambda: appended.append(world.note("late").note_id))

    first, second = world.back_up(), world.back_up()

    name = f"live/{appended[0]}.md"
    assert [name in names(world, made.job_id) for made in (first, second)] == [False, True]
    assert first.job_id != second.job_id


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
    "the space is deleted": ("bank/.keep", lambda world: lifecycle.delete(world.with_parts(), SPACE, SPACE)),
    "a note is folded": ("live/.keep", lambda world: world.inner.objects.pop(world.keys("demo/live/2")[0])),
    "a bank file is gone": ("bank/.keep", lambda world: world.inner.objects.pop("demo/bank/log.md")),
    "the bank is changed": ("live/.keep", _commit_elsewhere),
}


@each(("moment", "act"), WHILE_COPYING.values(), ids=WHILE_COPYING)
def test_a_backup_of_a_space_that_changes_under_it_never_becomes_complete(moment: str, act: Callable[[World], Any]):
    world = used()
    on_copy(world, moment, lambda: act(world))

    with pytest.raises(Conflict) as refused:
        take(world)

    assert refused.value.retry_after
    assert backups.complete(world.inner.objects) == []
    assert LEASE.key(SPACE) not in world.inner.objects


@pytest.mark.parametrize("after", [False, True])
def test_what_is_patched_or_noted_of_a_run_meanwhile_is_in_the_backup_as_it_was_copied(after: bool):
    world = used()
    on_copy(world, "_meta.json", lambda: heads.patch(world.with_parts(), SPACE, description="new"), after=after)

    made = world.back_up()

    meta = json.loads(world.text(BACKUP_OBJECT.key(SPACE, made.job_id, "_meta.json")))
    assert meta["description"] == ("" if after else "new")
    assert backups.broken(world.inner.objects) == []


def test_an_idempotency_key_that_is_gone_meanwhile_is_left_out():
    world = used()
    put(world, "_idempotency/0.json")
    on_copy(world, "_idempotency/0.json", lambda: world.inner.objects.pop("demo/_idempotency/0.json"))

    made = world.back_up()

    assert "_idempotency/0.json" not in names(world, made.job_id)
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
    assert world.consolidate().state == "done"

    for request in late:
        with suppress(ClientError):
            request.send(world.inner)

    assert backups.broken(world.inner.objects) == []
    # Head, bank file, synthesis and two notes.
    assert sum(_is_stale(world, request) for request in late) == 5


def _is_stale(world: World, request: Request) -> bool:
    source = world.inner.objects.get(request.arguments["CopySource"]["Key"])
    return not source or source.etag != request.arguments["CopySourceIfMatch"]

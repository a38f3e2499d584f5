"""Numbers of a space: `changes` numbers every change, `consolidation_count` counts consolidations that stand."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from livemem.bank import corrections, history
from livemem.changes import records
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store.bucket import HEAD
from tests.support.audit import audit
from tests.support.counting import Killed
from tests.support.faults import LATER
from tests.support.world import World

NEW_FIELDS = ("changes", "corrections", "language", "rules_changed_at")


def numbers(world: World) -> tuple[int, int, int]:
    meta = heads.load(world.process, "demo").meta
    return meta.changes, meta.consolidation_count, meta.total_notes_processed


def write(world: World, text: str) -> None:
    corrections.write_file(world.process, "admin", "demo", "log.md", f"# Log\n\n## Log\n\n- {text}\n", None)


def fold(world: World, text: str) -> None:
    world.clock.move(1)
    world.note(text)
    assert world.consolidate().state == "done"


def as_before_changes_were_numbered_apart(world: World, count: int) -> None:
    """Make the head one that counts every change in `consolidation_count` and has no field that came later."""
    key = HEAD.key("demo")
    head = json.loads(world.inner.objects[key].body)
    for name in NEW_FIELDS:
        del head[name]
    head["consolidation_count"] = count
    world.inner.put_object(Bucket="b", Key=key, Body=json.dumps(head).encode())
    world.new_process()


def test_corrections_are_changes_and_no_consolidations():
    world = World()
    world.create_space()
    fold(world, "one")

    write(world, "One.")
    fold(world, "two")

    assert numbers(world) == (3, 2, 2)


def test_an_undo_takes_its_consolidation_off_the_count_and_that_of_a_correction_nothing():
    world = World()
    world.create_space()
    fold(world, "one")
    fold(world, "two")
    write(world, "By hand.")

    seen = [numbers(world)]
    for number in (3, 2, 1):
        world.undo(number)
        seen.append(numbers(world))

    assert seen == [(3, 2, 2), (4, 2, 2), (5, 1, 1), (6, 0, 0)]


def test_a_head_without_changes_goes_on_with_its_numbers():
    world = World()
    world.create_space()
    fold(world, "one")
    write(world, "One.")
    as_before_changes_were_numbered_apart(world, 2)

    fold(world, "two")

    assert [item.number for item in history.page(world.process, "demo", limit=9, before=None)[0]] == [3, 2, 1]
    # The two changes that were counted then stay counted; from here on it is consolidations.
    assert numbers(world) == (3, 3, 2)
    assert json.loads(world.text(HEAD.key("demo")))["changes"] == 3
    write(world, "By hand.")
    assert numbers(world) == (4, 3, 2)


def test_an_old_run_that_commits_over_a_head_with_changes_is_counted_on_from():
    # It copies fields that it does not know.
    head = World().create_space().model_dump() | {"changes": 5, "consolidation_count": 6}

    assert Meta.model_validate(head).changes == 6


ACTS: dict[str, Callable[[World], Any]] = {
    "consolidation": lambda world: world.work(),
    "correction": lambda world: write(world, "By hand."),
    "undo": lambda world: world.undo(1),
}


@pytest.mark.parametrize("name", ACTS)
def test_what_was_committed_before_and_not_applied_is_finished_and_counted_once(name: str):
    world = World()
    world.create_space()
    fold(world, "one")
    world.note("two")
    if name == "consolidation":
        world.order()
    world.new_process()

    def die_once_committed(index: int, verb: str) -> None:
        if verb == "PUT" and world.client.requests[index][1] == HEAD.key("demo"):
            raise Killed

    world.client.after = die_once_committed
    with pytest.raises(Killed):
        ACTS[name](world)
    as_before_changes_were_numbered_apart(world, 2)

    world.clock.move(LATER)
    world.sweep()

    assert numbers(world)[:2] == (2, 2)
    assert heads.load(world.process, "demo").meta.committed_run is None
    assert records.get(world.process, "demo", 2).number == 2
    found = audit(world.inner.objects, "demo", world.live_ids())
    assert (found.lost, found.folded_twice, found.wrong_files, found.left_behind) == ([], [], [], [])

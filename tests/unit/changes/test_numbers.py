"""Numbers of a space: `changes` numbers every change, `consolidation_count` counts consolidations that stand."""

from livemem.bank import corrections
from livemem.spaces import head as heads
from tests.support.world import World


def numbers(world: World) -> tuple[int, int, int]:
    meta = heads.load(world.process, "demo").meta
    return meta.changes, meta.consolidation_count, meta.total_notes_processed


def write(world: World, text: str) -> None:
    corrections.write_file(world.process, "admin", "demo", "log.md", f"# Log\n\n## Log\n\n- {text}\n", None)


def fold(world: World, text: str) -> None:
    world.clock.move(1)
    world.note(text)
    assert world.consolidate().state == "done"


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

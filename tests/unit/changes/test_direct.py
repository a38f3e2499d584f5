"""A change by hand that fails gives the space back, unless it left something to be cleared away."""

import pytest

from livemem.bank import corrections, files
from livemem.changes import direct, records
from livemem.changes.records import Record
from livemem.errors import StoreUnavailable
from livemem.jobs import lease, places
from livemem.process import Process
from livemem.spaces.head import Head
from tests.support.world import World

TEXT = "# Log\n\n## Log\n\nRewritten.\n"


def space_with_a_bank(threshold: int = 0) -> World:
    world = World()
    world.create_space(threshold=threshold)
    world.note("one")
    world.consolidate()
    return world


def test_a_plan_that_fails_in_an_unforeseen_way_leaves_the_space_free():
    world = space_with_a_bank()

    def fail(head: Head, run_id: str) -> Record:
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError):
        direct.carry_out(world.process, "demo", "manual", fail)

    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_plan_that_can_not_be_written_leaves_the_space_free_and_no_plan_behind():
    world = space_with_a_bank()

    def unwritable(head: Head, run_id: str) -> Record:
        return records.by_hand(head, run_id, "manual", "half \ud83d", world.clock())

    with pytest.raises(ValueError, match="unicode"):
        direct.carry_out(world.process, "demo", "manual", unwritable)

    assert lease.look(world.process, places.of_space("demo")) is None
    assert not [key for key in world.keys("demo/_runs/") if key.endswith(".plan.json")]


def test_a_correction_that_can_not_read_the_bank_leaves_the_space_free(monkeypatch: pytest.MonkeyPatch):
    world = space_with_a_bank()

    def fail(process: Process, space_id: str, path: str) -> files.BankFile | None:
        raise StoreUnavailable("It does not answer.")

    monkeypatch.setattr(files, "find_file", fail)
    with pytest.raises(StoreUnavailable):
        corrections.write_file(world.process, "admin", "demo", "log.md", TEXT, None)

    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_correction_stands_and_says_so_although_the_next_run_can_not_be_started():
    world = space_with_a_bank(threshold=1)
    world.note("two")

    def fail(function: str, payload: object) -> None:
        raise StoreUnavailable("The function service does not answer.")

    process = world.with_parts(enqueue=fail)
    file, _ = corrections.write_file(process, "admin", "demo", "log.md", TEXT, None)

    assert (file.content, world.bank()["log.md"]) == (TEXT, TEXT)
    assert world.sweep().did("started") == ["demo"]

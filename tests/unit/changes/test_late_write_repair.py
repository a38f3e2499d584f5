"""A request from before a change that brought back an earlier state comes late: what it does is mended."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem import clock as clocks
from livemem.bank import corrections
from livemem.changes import late_write_repair, rules_change
from livemem.changes.rules_change import NewRules
from livemem.clock import Clock
from livemem.notes import pages
from livemem.spaces import head as heads
from tests.support.audit import audit
from tests.support.bucket import FakeS3
from tests.support.part import part
from tests.support.world import World


class Recorder(FakeS3):
    """Remembers its writes, so that each can be done once more."""

    def __init__(self) -> None:
        super().__init__(lambda: self.clock())  # noqa: PLW0108 - it is another one later
        self.clock: Clock = clocks.now
        self.writes: list[Callable[[FakeS3], Any]] = []

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        self.writes.append(lambda bucket: bucket.put_object(**arguments))
        return super().put_object(**arguments)

    def delete_object(self, **arguments: Any) -> dict[str, Any]:
        self.writes.append(lambda bucket: bucket.delete_object(**arguments))
        return super().delete_object(**arguments)

    def delete_objects(self, **arguments: Any) -> dict[str, Any]:
        self.writes.append(lambda bucket: bucket.delete_objects(**arguments))
        return super().delete_objects(**arguments)


def consolidated_and_undone() -> tuple[World, list[str]]:
    bucket = Recorder()
    world = World(bucket)
    bucket.clock = world.clock
    world.create_space()
    ids = [world.note(f"note {number}").note_id for number in range(3)]
    world.consolidate()
    world.undo(1)
    return world, ids


def written_to_and_taken_back() -> tuple[World, list[str]]:
    world, ids = consolidated_and_undone()
    world.consolidate()
    corrections.write_file(world.process, "admin", "demo", "log.md", "# Other\n", None)
    world.undo(4)
    corrections.delete_file(world.process, "admin", "demo", "log.md", None)
    world.undo(6)
    rules_change.change(world.process, "admin", "demo", NewRules("Other rules."))
    world.undo(8)
    return world, ids


@pytest.mark.slow
@pytest.mark.parametrize("history", [consolidated_and_undone, written_to_and_taken_back])
def test_each_write_that_comes_once_more_leaves_nothing_wrong_after_a_sweep(history: Any):
    first, ids = history()
    before = first.bank()
    for index, write in part(enumerate(first.inner.writes), 2):
        world = first.fork()
        with suppress(ClientError):
            write(world.inner)
        world.sweep()
        world.clock.move(15 * 60)
        world.sweep()

        assert audit(world.inner.objects, "demo", ids).clean(), index
        assert world.bank() == before, index
        assert world.text("demo/_rules.md") == "Keep a log.", index


def test_a_note_that_a_late_deletion_took_is_read_as_live_and_comes_back_with_the_next_run():
    world, ids = consolidated_and_undone()
    world.inner.delete_object(Bucket="b", Key=f"demo/live/{ids[0]}.md")

    assert pages.get(world.process, "demo", ids[0]).status == "live"
    run = world.consolidate()

    assert run.metrics["notes_processed"] == 3
    assert audit(world.inner.objects, "demo", ids).clean()


def test_a_change_that_is_long_past_is_watched_no_more():
    world, _ = consolidated_and_undone()
    assert heads.load(world.process, "demo").meta.late_write_repair is not None
    world.clock.move(late_write_repair.WATCHED_FOR.total_seconds() + 1)

    world.sweep()

    assert heads.load(world.process, "demo").meta.late_write_repair is None


def test_what_somebody_wrote_without_the_service_is_theirs():
    world, _ = written_to_and_taken_back()
    world.inner.put_object(Bucket="b", Key="demo/bank/log.md", Body=b"# Mine\n")

    world.sweep()

    assert world.text("demo/bank/log.md") == "# Mine\n"

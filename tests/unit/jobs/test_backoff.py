"""After a failure events wait longer and longer; whoever asks by hand does not."""

from livemem.jobs import lease, places
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.store.bucket import LEASE
from tests.support.world import World

DOWN = LlmError("llm_unreachable", "The LLM could not be reached.")


def failing(world: World) -> None:
    """One automatic run that fails."""
    world.llm.queue.append(DOWN)
    assert world.count().result == "started"
    run = world.work()
    assert run is not None
    assert run.state == "failed"


def space_at_threshold() -> World:
    world = World()
    world.create_space(threshold=3)
    for number in range(3):
        world.note(f"note {number}")
    return world


def test_a_failure_keeps_events_away_for_a_minute():
    world = space_at_threshold()
    failing(world)

    assert not world.queued
    world.clock.move(59)
    assert world.count().result == "busy"
    world.clock.move(2)
    assert world.count().result == "started"


def test_each_further_failure_doubles_the_wait_up_to_an_hour():
    world = space_at_threshold()
    waits = []
    for _ in range(9):
        failing(world)
        found = lease.look(world.process, places.of_space("demo"))
        assert found
        start = world.clock()
        while world.count().result == "busy":
            world.clock.move(30)
        waits.append((world.clock() - start).total_seconds() / 60)
        world.queued.clear()
        run_out = found.lease.model_copy(update={"seconds": 0})
        world.inner.put_object(Bucket="b", Key=LEASE.key("demo"), Body=run_out.to_bytes())

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_run_by_hand_starts_at_once_and_its_success_ends_the_wait():
    world = space_at_threshold()
    failing(world)

    assert world.consolidate().state == "done"

    assert lease.look(world.process, places.of_space("demo")) is None
    for number in range(3):
        world.note(f"later {number}")
    assert world.count().result == "started"


def test_a_failure_by_hand_counts_as_well_and_says_why_in_the_lease():
    world = space_at_threshold()
    world.llm.queue.append(DOWN)
    world.consolidate()

    found = lease.look(world.process, places.of_space("demo"))

    assert found
    assert (found.lease.kind, found.lease.failures, found.lease.error) == ("backoff", 1, "llm_unreachable")
    assert world.count().result == "busy"


def test_the_sweep_starts_the_run_again_when_the_wait_is_over():
    world = space_at_threshold()
    failing(world)

    world.clock.move(30)
    assert world.sweep().did("started") == []
    world.clock.move(31)
    assert world.sweep().did("started") == ["demo"]

    world.settle()
    assert world.live_ids() == []
    assert heads.load(world.process, "demo").meta.total_notes_processed == 3


def test_a_run_without_notes_to_fold_is_no_failure():
    world = World()
    world.create_space(threshold=3)

    assert world.consolidate().state == "nothing_to_do"

    assert lease.look(world.process, places.of_space("demo")) is None

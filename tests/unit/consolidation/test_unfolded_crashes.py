"""Notes that a run leaves live keep the promise as well, whatever request the run dies at."""

from typing import Any

import pytest

from tests.support import crash
from tests.support.cases import each
from tests.support.crash import KILLS, RECOVERIES, SPACE, Fault, Operation
from tests.support.world import World, append_everything
from tests.unit.consolidation.test_set_aside import HUGE, SMALL


def citing_all_but_the_last(shown: dict[str, Any]) -> str:
    return append_everything({**shown, "notes": shown["notes"][:-1] or shown["notes"]})


def _small() -> World:
    return World(llmaas_context_tokens=SMALL)


def _some_unfolded(world: World) -> None:
    world.llm.default = citing_all_but_the_last
    world.create_space(SPACE, threshold=3)
    for text in ("one", HUGE, "two", "three"):
        world.note(text)
        world.clock.move(1)
    world.count()


def _none_to_fold(world: World) -> None:
    world.create_space(SPACE, threshold=2)
    for _ in range(2):
        world.note(HUGE)
        world.clock.move(1)
    world.count()


OPERATIONS = (
    Operation("some notes unfolded", _some_unfolded, lambda world: world.work(world.queued[0])),
    Operation("no note to fold", _none_to_fold, lambda world: world.work(world.queued[0])),
)


@pytest.mark.slow
@each("operation", OPERATIONS, ids=lambda item: item.name)
@each("fault", KILLS, ids=lambda item: item.name)
@each("recover", [recover for _, recover in RECOVERIES], ids=[label for label, _ in RECOVERIES])
def test_a_run_that_leaves_notes_live_keeps_the_promise_wherever_it_dies(
    operation: Operation, fault: Fault, recover: Any
):
    for point in range(crash.requests_of(operation, _small)):
        found, repeated_calls = crash.crash(operation, fault, recover, point, _small)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"

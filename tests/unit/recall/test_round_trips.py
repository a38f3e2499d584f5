"""How many round trips to the store a reader waits for: requests that are under way together are one."""

from collections.abc import Callable
from typing import Any

import pytest

from livemem.recall import message_context, start
from livemem.recall.start import StartRequest
from livemem.spaces import head as heads
from tests.support.counting import Rounds
from tests.support.memories import store
from tests.support.searching import find, run_indexer, searching_world
from tests.support.talk import Talk
from tests.support.world import World


@pytest.fixture
def world() -> World:
    """A space that holds something of every kind."""
    found, _ = searching_world()
    found.create_space()
    for number in range(3):
        found.note(f"The parser has {number} faults.")
    found.consolidate()
    for number in range(3):
        found.note(f"The oven has {number} faults.")
    store(found.process, "The parser is written in Rust.", "ann")
    talked = Talk(world=found)
    talked.say("What does the parser read?", "It reads notes.")
    run_indexer(found)
    return found


@pytest.mark.slow
def test_a_warm_search_takes_one_round_trip_and_two_where_something_is_new_or_the_space_is_looked_at_again(
    world: World,
):
    rounds = Rounds(world.inner)
    process = world.process_on(rounds, threads=32, embed=world.process.embed)

    def sizes(ask: Callable[[], Any]) -> list[int]:
        rounds.sizes.clear()
        ask()
        return list(rounds.sizes)

    asks: dict[str, Callable[[], Any]] = {
        "search": lambda: find(process, "parser", scope="live,bank"),
        "search of everything": lambda: find(process, "parser"),
        "context": lambda: message_context.context(process, "demo", "What does the parser read?"),
        # Its first two are those of the summary, and memories and search lie beside them.
        "start": lambda: start.start(process, "demo", StartRequest(q="parser")),
    }
    rounds.passes = True
    for ask in asks.values():
        ask()
    rounds.passes = False

    told = {name: sizes(ask) for name, ask in asks.items()}
    assert (told["search"], told["search of everything"]) == ([4], [9])
    assert (len(told["context"]), len(told["start"])) == (1, 2)
    for name in ("search", "search of everything", "context"):
        # What is new is read after it was listed.
        world.note(f"The parser has no fault for a {name}.")
        assert len(sizes(asks[name])) == 2, name
    for name in ("search", "search of everything", "context"):
        # That the space is still there.
        world.clock.move(heads.KNOWN_SECONDS + 1)
        assert len(sizes(asks[name])) == 2, name

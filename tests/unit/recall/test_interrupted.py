"""An indexer, and a search, that die or are refused at any request: whoever comes next makes what is missing."""

from contextlib import suppress
from functools import cache
from itertools import product

import pytest

from livemem.errors import LiveMemoryError
from livemem.jobs import lease
from livemem.search import database
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.part import part
from tests.support.searching import MODEL, Embedder, find, holdings, run_indexer, searching_world, texts
from tests.support.world import World

SNAPSHOT = f"demo/_search/{database.SCHEMA}-000003.sqlite"


@cache
def _prepared() -> tuple[World, Embedder]:
    world, embedder = searching_world()
    world.create_space()
    for number in range(3):
        world.note(f"The automobile number {number}.")
        world.clock.move(60)
        world.consolidate()
        run_indexer(world)
    world.store.put(SNAPSHOT, b"damaged")
    world.store.put(f"demo/_vectors/{MODEL}-64/00000010.vec", b"damaged")
    world.note("A car that is new.")
    return world, embedder


def busy() -> World:
    """A space in which an indexer has everything to do: a damaged snapshot and segment, a note that is new."""
    prepared, embedder = _prepared()
    world = prepared.fork()
    world.process = world.with_parts(embed=embedder)
    world.client.reset()
    return world


def requests() -> int:
    world = busy()
    run_indexer(world)
    return len(world.client.requests)


COUNT = requests()


@pytest.mark.slow
@each("end, point", part(product(["dies", "is refused"], range(COUNT)), 9))
def test_an_indexer_that_ends_anywhere_is_gone_on_with(end, point):
    world = busy()
    if end == "dies":
        world.client.kill_at(point, done=False)
    else:
        world.client.break_at(point, "InternalError", 500, done=False)
    with suppress(Killed, LiveMemoryError):
        run_indexer(world)
    embed = world.process.embed
    world.client.before = world.client.after = lambda index, verb: None
    world.process = world.with_parts(embed=embed)
    # Its lease has run out by the time at which Lambda tries again.
    world.clock.move(lease.LIFE.total_seconds() + 1)

    found = find(world.process, "car")
    told = holdings(world.process)
    run_indexer(world)

    assert "A car that is new." in texts(found)
    assert found.ranking == "hybrid"
    assert SNAPSHOT in world.keys("demo/_search/")
    assert len(world.keys("demo/_search/")) <= 2
    assert len(world.keys("demo/_vectors/")) <= 5
    world.process = world.with_parts(embed=embed)
    assert holdings(world.process) == told
    assert find(world.process, "car").unembedded == 0


@each("point", range(12))
def test_a_search_that_the_store_refuses_leaves_a_process_that_searches(point):
    world = busy()
    world.client.break_at(point, "SlowDown", 503, done=False)
    with suppress(LiveMemoryError):
        find(world.process, "car")
    world.client.before = lambda index, verb: None

    assert "A car that is new." in texts(find(world.process, "car"))

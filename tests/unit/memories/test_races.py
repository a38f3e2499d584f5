"""Numbers that somebody else took first, and those that one took oneself without being told."""

import pytest

from livemem.store.bucket import OPERATION
from tests.support.memories import contents, store, world_with_meaning


@pytest.fixture
def world():
    return world_with_meaning()[0]


def before_the_next_write(world, do):
    """Something happens when the process is about to write."""

    def stop(index, verb):
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            do()

    world.client.before = stop


def test_a_race_that_is_lost_costs_three_requests_more(world):
    store(world.process, "1: First.")
    racer = world.process_on(world.inner, embed=world.process.embed)
    world.client.reset()
    before_the_next_write(world, lambda: store(racer, "2: Second."))

    assert store(world.process, "3: Third.").number == 3
    assert world.client.counts == {"LIST": 2, "PUT": 2, "GET": 1}
    assert contents(world.process) == ["1: First.", "2: Second.", "3: Third."]


def test_the_first_try_of_a_write_whose_answer_was_lost_is_no_repeat(world):
    def lose(request):
        answer = request.send(world.inner)
        return request.send(world.inner) if request.verb == "PUT" else answer

    world.client.carry = lose
    stored = store(world.process, "1: First.", op_id="k")

    assert (stored.number, stored.fresh, stored.repeated) == (1, True, False)
    assert world.keys("demo/memories/") == [OPERATION.key("demo", "fact", 1)]


def test_of_two_who_store_the_same_for_the_same_cause_one_repeats_it(world):
    twin = world.process_on(world.inner, embed=world.process.embed)
    done = []
    before_the_next_write(world, lambda: done.append(store(twin, "1: First.", op_id="k")))
    stored = store(world.process, "1: First.", op_id="k")

    assert (stored.repeated, done[0].repeated) == (True, False)
    assert stored.memory == done[0].memory

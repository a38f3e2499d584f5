"""What health says of digests: that messages wait for too long, and that some were given up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.jobs.package import look_at_space
from livemem.rooms import maintenance, posting
from livemem.rooms.message import MessageDraft
from livemem.store.bucket import CURRENT_DIGEST, DEAD_LETTER
from tests.support.world import World

HOUR = 3_600


@pytest.fixture
def world() -> World:
    found = World()
    found.create_space()
    return found


def problems(world: World) -> list[str]:
    space = look_at_space(world.process, "demo")
    assert space
    return [one.code for one in maintenance.problems(world.process, space)]


def say(world: World) -> None:
    posting.post(world.process, "demo", "kitchen", MessageDraft("bob", "The port is 8080 from now on."))


def test_messages_that_wait_for_more_than_eight_hours_are_overdue_though_no_digest_ever_ran(world):
    say(world)
    world.clock.move(8 * HOUR)
    assert problems(world) == []

    world.clock.move(60)
    assert problems(world) == ["digest_overdue"]


def test_with_a_digest_a_day_they_wait_for_a_day(world):
    world = World(digest_hours="2")
    world.create_space()
    say(world)
    world.clock.move(27 * HOUR)
    assert problems(world) == []

    world.clock.move(2 * HOUR)
    assert problems(world) == ["digest_overdue"]


@given(st.lists(st.integers(0, 23), min_size=1, max_size=24, unique=True))
def test_no_message_is_overdue_before_the_digest_after_it(hours):
    longest = maintenance.overdue_after(hours)

    assert 1 + maintenance.SPARE <= longest <= 24 + maintenance.SPARE
    for moment in range(24):
        waits = min((hour - moment - 1) % 24 + 1 for hour in hours)
        assert waits <= longest - maintenance.SPARE


def test_where_nobody_says_anything_nothing_is_overdue_and_it_costs_two_requests(world):
    world.clock.move(100 * HOUR)
    space = look_at_space(world.process, "demo")
    assert space
    before = world.client.counts

    assert maintenance.problems(world.process, space) == []

    assert world.client.counts - before == {"GET": 1, "LIST": 1}


def test_chunks_that_were_given_up_are_told_of_for_a_week(world):
    world.store.put(DEAD_LETTER.key("demo", "20260220T130000", 0), b"{}")
    world.store.put(CURRENT_DIGEST.key("demo"), b"{}")
    assert problems(world) == ["digest_chunks_dead"]

    world.clock.move(8 * 24 * HOUR)

    assert problems(world) == []

"""What a memory becomes a part of, where several are near."""

import pytest

from tests.support.memories import contents, store, world_with_meaning

PEOPLE = ("Ann", "Bob", "Eva", "Max", "Tom", "Zoe", "Ian", "Kim", "Lea", "Uwe")


@pytest.fixture
def world():
    return world_with_meaning()[0]


def test_what_holds_for_ever_meets_what_holds_for_ever_although_something_for_a_time_says_the_same(world):
    store(world.process, "1: The port is 8080.")
    store(world.process, "1: The port is 9090.", ttl="1d")
    stored = store(world.process, "1: The port is 9090.")

    assert (stored.merge.former, stored.memory.expires_at) == ("1: The port is 8080.", None)
    world.pass_time(2 * 86_400)
    assert contents(world.process) == ["1: The port is 9090."]


def test_what_holds_for_a_time_meets_what_holds_for_a_time(world):
    store(world.process, "1: The port is 8080.")
    store(world.process, "1: The port is 9090.", ttl="1d")
    stored = store(world.process, "1: The port is 9191.", ttl="1d")

    assert stored.merge.former == "1: The port is 9090."
    assert sorted(contents(world.process)) == ["1: The port is 8080.", "1: The port is 9191."]


def test_a_caller_who_replaces_for_a_time_replaces_what_is_most_similar(world):
    store(world.process, "1: The port is 8080.")
    store(world.process, "1: The port is 9090.", ttl="1d")

    assert store(world.process, "1: The port is 8080!", ttl="1h", replace=True).merge.former == "1: The port is 8080."


def test_what_is_said_of_many_people_in_the_same_words_is_kept_once_for_each(world):
    world.llm.judge = lambda new, there: "same" if new.split()[3] == there.split()[3] else "different"
    for name in PEOPLE:
        assert store(world.process, f"1: Since May {name} drinks tea.").fresh
    for name in PEOPLE:
        assert store(world.process, f"1: Since May {name} drinks tea at noon.").memory.content.count(name) == 1
    assert len(contents(world.process)) == len(PEOPLE)

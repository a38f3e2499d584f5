"""Turns and summaries by a range of their numbers."""

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import reading
from livemem.conversations.reading import TurnOrder
from tests.support.talk import Talk


def talk_of(count: int) -> Talk:
    talk = Talk()
    for number in range(1, count + 1):
        talk.say(f"question {number}", f"answer {number}")
    return talk


TALK = talk_of(12)


def numbers(order: TurnOrder, within: tuple[int, int], limit: int) -> list[int]:
    found: list[int] = []
    after = None
    while True:
        page = reading.turns(TALK.process, "demo", TALK.id, limit=limit, after=after, order=order, within=within)
        found += [turn.turn_index for turn in page.turns]
        after = page.after
        if after is None:
            return found


@given(first=st.integers(1, 14), last=st.integers(1, 14), limit=st.integers(1, 5), newest=st.booleans())
def test_pages_of_a_range_hold_its_turns_once_in_order(first: int, last: int, limit: int, newest: bool):
    wanted = [number for number in range(1, 13) if first <= number <= last]

    order: TurnOrder = "newest" if newest else "oldest"
    assert numbers(order, (first, last), limit) == (wanted[::-1] if newest else wanted)


def test_a_turn_with_its_neighbours_costs_as_many_reads_as_it_shows():
    TALK.world.new_process()
    TALK.world.client.reset()

    page = reading.turns(TALK.process, "demo", TALK.id, limit=3, order="oldest", within=(5, 7))

    assert [turn.turn_index for turn in page.turns] == [5, 6, 7]
    assert page.after is None
    # The conversation and three turns.
    assert TALK.world.client.counts["GET"] <= 2 + 3


def test_summaries_of_a_range_are_those_of_these_numbers():
    talk = talk_of(30)
    talk.update()

    def of(within: tuple[int, int]) -> list[int]:
        found, _ = reading.summary_page(
            talk.process, "demo", talk.id, level=1, state=None, limit=50, after=None, within=within
        )
        return [one.number for one in found]

    every = of(reading.EVERY)
    assert len(every) > 2
    assert of((2, 3)) == [3, 2]
    assert of((1, 1)) == [1]
    assert of((len(every) + 1, len(every) + 9)) == []

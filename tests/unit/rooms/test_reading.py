"""Which rooms there are, and what waits in them."""

from collections import Counter

import pytest

from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.rooms import reading
from livemem.rooms.reading import RoomInfo
from livemem.store import cursors
from tests.support.chatter import ROOM, Chatter


@pytest.fixture
def chatter() -> Chatter:
    return Chatter()


def pages(chatter: Chatter, limit: int, *, oldest_first: bool) -> list[str]:
    found, after, rounds = [], None, 0
    while rounds < 100:
        page = reading.page(chatter.process, "demo", ROOM, limit=limit, after=after, oldest_first=oldest_first)
        found += [one.content for one in page.items]
        after = page.next_after
        rounds += 1
        if after is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 3, 10, 500])
@pytest.mark.parametrize("oldest_first", [True, False])
def test_pages_hold_each_message_once_in_order(chatter, limit, oldest_first):
    texts = [f"message {number:02}" for number in range(10)]
    for text in texts:
        chatter.say(text)

    assert pages(chatter, limit, oldest_first=oldest_first) == (texts if oldest_first else texts[::-1])


def test_messages_of_one_second_are_each_on_a_page(chatter):
    for number in range(7):
        chatter.say(f"message {number}", after=0)

    assert Counter(pages(chatter, 2, oldest_first=False)) == Counter(f"message {number}" for number in range(7))


def test_messages_of_one_second_are_in_their_order_within_a_page(chatter):
    for number in range(7):
        chatter.say(f"message {number}", after=0.1)

    assert [one.content for one in chatter.said()] == [f"message {number}" for number in range(7)]


def test_the_newest_of_many_messages_cost_a_few_listings(chatter):
    for number in range(30):
        chatter.say_all([f"message {number}-{place}" for place in range(100)])
    chatter.say("the newest")
    chatter.world.client.reset()

    page = reading.page(chatter.process, "demo", ROOM, limit=5)

    assert page.items[0].content == "the newest"
    assert chatter.world.client.counts["LIST"] <= 8
    assert chatter.world.client.counts["GET"] == 5


def test_rooms_are_listed_by_name_with_the_time_of_what_waits_in_them(chatter):
    chatter.say("hello", room="zoo", message_id="m1")
    chatter.digested()
    chatter.say("again", room="alpha")
    chatter.world.store.put("demo/rooms/no room/x.json", b"not ours")

    assert reading.rooms(chatter.process, "demo") == [
        RoomInfo("alpha", True, "2026-02-20T14:00:02.000Z"),
        RoomInfo("zoo", False, None),
    ]


def test_a_room_in_which_nothing_was_said_is_empty_and_no_error(chatter):
    assert reading.page(chatter.process, "demo", "quiet", limit=10).items == []


def test_names_are_checked(chatter):
    with pytest.raises(NotFound):
        reading.page(chatter.process, "nowhere", ROOM, limit=10)
    with pytest.raises(NotFound):
        reading.rooms(chatter.process, "nowhere")
    with pytest.raises(InvalidName):
        reading.page(chatter.process, "demo", "a/b", limit=10)
    with pytest.raises(InvalidName):
        reading.page(chatter.process, "demo", ROOM, limit=10, after="../x")
    with pytest.raises(InvalidRequest):
        cursors.decode_message(cursors.encode("20260230T000000_0123456789abcdef.json"))


def test_a_cursor_comes_back_as_it_was(chatter):
    for number in range(3):
        chatter.say(f"message {number}")
    after = reading.page(chatter.process, "demo", ROOM, limit=1).next_after

    assert cursors.decode_message(cursors.encode(after)) == after

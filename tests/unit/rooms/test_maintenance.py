"""The due index, ids that are kept no longer, and rooms that are full."""

from collections import Counter

import pytest

from livemem.errors import RoomFull, StoreUnavailable
from livemem.jobs.package import look_at_space
from livemem.rooms import maintenance, posting
from livemem.store import bucket, due_keys
from livemem.store.bucket import ROOM_ID
from tests.support.chatter import ROOM, Chatter


@pytest.fixture
def chatter() -> Chatter:
    return Chatter()


def maintain(chatter: Chatter) -> dict[str, float]:
    space = look_at_space(chatter.process, "demo", daily=True)
    assert space
    return dict(maintenance.maintain(chatter.process, space))


def entries(chatter: Chatter) -> list[str]:
    return [key for verb, key in chatter.world.client.requests if verb == "PUT" and key.endswith("-demo/room")]


def test_a_space_is_entered_before_its_first_message_and_again_after_ten_minutes(chatter):
    chatter.say("one")
    writes = [key for verb, key in chatter.world.client.requests if verb == "PUT"]
    assert entries(chatter) == writes[-2:-1]
    chatter.world.client.reset()
    chatter.say("two", after=590)
    assert entries(chatter) == []
    chatter.say("three", after=20)
    assert len(entries(chatter)) == 1


def test_messages_that_are_not_in_the_due_index_are_entered_by_the_daily_look(chatter):
    chatter.say("one")
    chatter.world.store.delete_many(chatter.world.keys(due_keys.DUE))
    chatter.world.new_process()

    maintain(chatter)

    assert chatter.world.due("room") == ["demo"]


def test_ids_go_after_two_days_when_their_messages_are_gone(chatter):
    chatter.say("fact gone", message_id="gone")
    chatter.digested()
    chatter.world.clock.move(3_600)
    chatter.say("still there", message_id="there")
    chatter.world.clock.move(2 * 86_400 - 3_000)

    assert maintain(chatter) == {"room_ids_removed": 1}
    assert chatter.world.keys("demo/_room_ids/") == [ROOM_ID.key("demo", ROOM, "there")]
    chatter.world.clock.move(86_400)
    maintain(chatter)
    assert chatter.world.keys("demo/_room_ids/") == [ROOM_ID.key("demo", ROOM, "there")]


def test_only_the_daily_look_costs_anything(chatter):
    chatter.say("one")
    space = look_at_space(chatter.process, "demo")
    assert space
    chatter.world.client.reset()
    assert maintenance.maintain(chatter.process, space) == {}
    assert not chatter.world.client.requests


def test_every_key_of_rooms_and_digests_is_of_a_kind(chatter):
    chatter.say("fact one", message_id="m1")
    chatter.digested()

    mine = [key for key in chatter.world.keys("demo/") if key.startswith(("demo/rooms", "demo/_room", "demo/_dig"))]
    assert len(mine) >= 6
    assert all(bucket.kind_of(key.removeprefix("demo/")) for key in mine)


def fill(chatter: Chatter, count: int) -> None:
    for number in range(count):
        key = f"demo/rooms/{ROOM}/20260101T000000_{number:016x}.json"
        chatter.world.inner.put_object(Bucket="bucket", Key=key, Body=b"{}")


def test_a_room_that_is_full_asks_for_a_digest_once_a_minute_and_still_takes_messages(chatter, monkeypatch):
    monkeypatch.setattr(posting, "FULL", 10)
    fill(chatter, 9)
    chatter.say("the tenth")
    assert not chatter.world.queued
    for _ in range(5):
        chatter.say("more")

    assert [dict(one) for one in chatter.world.queued] == [{"space_id": "demo", "forced": True}]
    chatter.say("a minute later", after=60)
    assert len(chatter.world.queued) == 2


def test_the_limits_are_those_of_the_design():
    assert (posting.FULL, posting.REFUSED) == (10_000, 20_000)


def test_a_room_that_is_twice_as_full_takes_no_more_and_says_why(chatter, monkeypatch):
    monkeypatch.setattr(posting, "FULL", 10)
    monkeypatch.setattr(posting, "REFUSED", 20)
    fill(chatter, 19)
    chatter.say("the twentieth")

    with pytest.raises(RoomFull) as refused:
        chatter.say("one too many")
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (429, "room_full", 60)
    assert "digest" in refused.value.detail
    assert len(chatter.world.keys(f"demo/rooms/{ROOM}/")) == 20
    with pytest.raises(RoomFull):
        chatter.say_all(["x"] * 100)

    # The digest catches up, and a minute later the room is counted anew.
    chatter.world.settle()
    assert chatter.world.keys(f"demo/rooms/{ROOM}/") == []
    assert chatter.say("there is room again", after=60).fresh


def test_a_room_is_counted_at_first_and_after_five_minutes(chatter):
    chatter.world.client.reset()
    for _ in range(5):
        chatter.say("one", after=50)
    listed = Counter(key for verb, key in chatter.world.client.requests if verb == "LIST")
    assert listed == {f"demo/rooms/{ROOM}/": 1}
    chatter.say("later", after=300)
    assert chatter.world.client.counts["LIST"] == 2


def test_a_digest_that_can_not_be_queued_does_not_keep_messages_out(chatter, monkeypatch):
    monkeypatch.setattr(posting, "FULL", 2)

    def refuse(function, payload):
        raise StoreUnavailable("Out.")

    chatter.world.process = chatter.world.with_parts(enqueue=refuse)
    for _ in range(5):
        assert chatter.say("x").fresh


def test_other_rooms_of_the_space_go_on_beside_a_full_one(chatter, monkeypatch):
    monkeypatch.setattr(posting, "FULL", 1)
    monkeypatch.setattr(posting, "REFUSED", 2)
    fill(chatter, 2)
    with pytest.raises(RoomFull):
        chatter.say("x")
    assert chatter.say("x", room="other").fresh

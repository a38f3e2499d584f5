"""Messages of rooms: each exactly once, whoever dies or repeats."""

import contextlib
from collections import Counter

import pytest

from livemem.errors import InvalidName, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.rooms import posting
from livemem.rooms.message import MessageDraft
from livemem.rooms.posting import Posted, RefusedMessage
from livemem.store.bucket import ROOM_ID, ROOM_MESSAGE
from livemem.store.object_table import digest_of
from tests.support.cases import each
from tests.support.chatter import ROOM, Chatter
from tests.support.counting import Killed
from tests.support.faults import ERRORS, KILLS


@pytest.fixture
def chatter() -> Chatter:
    return Chatter()


def messages_of(chatter: Chatter, room: str = ROOM) -> list[str]:
    return chatter.world.keys(ROOM_MESSAGE.prefix("demo", room))


def test_a_message_is_stored_under_its_time_and_the_hash_of_its_id(chatter):
    posted = chatter.say("Bonjour", message_id="m1")

    assert posted.fresh
    assert messages_of(chatter) == [f"demo/rooms/general/20260220T140001_{digest_of('m1', 16)}.json"]
    assert posted.message.model_dump() == {
        "message_id": "m1",
        "author": "Zoé Martin",
        "content": "Bonjour",
        "timestamp": "2026-02-20T14:00:01.000Z",
    }


@pytest.mark.parametrize(("named", "puts"), [(True, 2), (False, 1)])
def test_one_message_takes_two_writes_with_an_id_and_one_without(chatter, named, puts):
    chatter.say("warm")
    chatter.world.client.reset()

    chatter.say("hello", message_id="m1" if named else None)

    assert chatter.world.client.counts == Counter(PUT=puts)


def test_a_hundred_messages_take_two_writes_each_and_nothing_else(chatter):
    chatter.say("warm")
    chatter.world.client.reset()

    done = chatter.say_all([f"message {number}" for number in range(100)], named="m")

    assert chatter.world.client.counts == Counter(PUT=200)
    verbs = [key.split("/")[1] for _, key in chatter.world.client.requests]
    assert verbs == ["_room_ids"] * 100 + ["rooms"] * 100
    assert all(one.fresh for one in done)
    assert [one.content for one in chatter.said()[1:]] == [f"message {number}" for number in range(100)]


def test_a_repeat_is_answered_with_what_is_there_and_writes_nothing(chatter):
    first = chatter.say("hello", message_id="m1")
    chatter.world.client.reset()

    again = chatter.say("hello", message_id="m1", after=3_000)

    assert (again.fresh, again.digested) == (False, False)
    assert again.message == first.message
    assert len(messages_of(chatter)) == 1


@pytest.mark.parametrize("changed", [{"content": "other"}, {"author": "Tom"}])
def test_a_repeat_with_other_words_or_of_another_author_is_refused(chatter, changed):
    chatter.say("hello", message_id="m1")

    with pytest.raises(InvalidRequest, match="message_id"):
        chatter.say(**({"content": "hello", "message_id": "m1"} | changed))
    assert len(messages_of(chatter)) == 1


def test_the_same_id_in_another_room_is_another_message(chatter):
    chatter.say("hello", message_id="m1")

    assert chatter.say("other", message_id="m1", room="random").fresh


def test_without_an_id_a_repeat_is_another_message(chatter):
    chatter.say("hello", after=0)
    chatter.say("hello", after=0)

    assert len(messages_of(chatter)) == 2


@each("fault", [*KILLS, *ERRORS], ids=lambda fault: fault.name)
def test_whatever_request_fails_a_repeat_leaves_the_message_once(fault):
    point = 0
    while True:
        chatter = Chatter()
        chatter.world.new_process()
        fault.arm(chatter.world, point)
        with contextlib.suppress(Killed, LiveMemoryError):
            chatter.say("hello", message_id="m1")
        reached = len(chatter.world.client.requests) > point
        chatter.world.new_process()
        chatter.say("hello", message_id="m1", after=120)
        assert [one.content for one in chatter.said()] == ["hello"], (fault.name, point)
        assert "demo" in chatter.world.due("room")
        if not reached:
            break
        point += 1
    assert point >= 5


@pytest.mark.parametrize("fault", KILLS, ids=lambda fault: fault.name)
def test_a_batch_that_dies_anywhere_is_whole_and_once_after_a_repeat(fault):
    texts = [f"message {number}" for number in range(5)]
    for point in range(16):
        chatter = Chatter()
        chatter.world.new_process()
        fault.arm(chatter.world, point)
        with contextlib.suppress(Killed):
            chatter.say_all(texts, named="m")
        chatter.world.new_process()
        chatter.say_all(texts, named="m")
        assert sorted(one.content for one in chatter.said()) == texts, point


def test_a_repeat_within_a_batch_is_the_same_message_or_refused(chatter):
    drafts = [
        MessageDraft("A", "one", "m1"),
        MessageDraft("A", "one", "m1"),
        MessageDraft("A", "two", "m1"),
        MessageDraft("A", "three"),
    ]

    first, again, other, last = posting.post_all(chatter.process, "demo", ROOM, drafts)

    assert isinstance(first, Posted)
    assert isinstance(again, Posted)
    assert (first.fresh, again.fresh, last.fresh) == (True, False, True)
    assert isinstance(other, RefusedMessage)
    assert other.error.fields[0].field == "items.2.message_id"
    assert sorted(one.content for one in chatter.said()) == ["one", "three"]


def test_one_of_a_batch_that_is_refused_does_not_keep_the_others_out(chatter):
    chatter.say("first", message_id="m1")

    refused, fresh = posting.post_all(
        chatter.process, "demo", ROOM, [MessageDraft("A", "other words", "m1"), MessageDraft("A", "second", "m2")]
    )

    assert isinstance(refused, RefusedMessage)
    assert fresh.fresh


@each(
    ("draft", "field"),
    [
        (MessageDraft("", "x"), "author"),
        (MessageDraft("a" * 101, "x"), "author"),
        (MessageDraft("a\nb", "x"), "author"),
        (MessageDraft("   ", "x"), "author"),
        (MessageDraft("a", ""), "content"),
        (MessageDraft("a", "  \n"), "content"),
        (MessageDraft("a", "\ud800"), "content"),
        (MessageDraft("a", "x", ""), "message_id"),
        (MessageDraft("a", "x", "m" * 201), "message_id"),
        (MessageDraft("a", "x", timestamp="yesterday"), "timestamp"),
        (MessageDraft("a", "x", timestamp="2026-02-20T14:05:01Z"), "timestamp"),
        (MessageDraft("a", "x", timestamp="0001-01-01T00:00:00+14:00"), "timestamp"),
    ],
)
def test_what_is_not_fit_is_refused_with_the_field_before_anything_is_written(chatter, draft, field):
    with pytest.raises(InvalidRequest) as refused:
        posting.post_all(chatter.process, "demo", ROOM, [MessageDraft("a", "fine"), draft])

    assert refused.value.fields[0].field == f"items.1.{field}"
    assert not messages_of(chatter)


def test_limits_of_size_room_and_space_are_told(chatter):
    process = chatter.process
    with pytest.raises(TooLarge):
        posting.post(process, "demo", ROOM, MessageDraft("a", "é" * 8_001))
    with pytest.raises(TooLarge):
        posting.post_all(process, "demo", ROOM, [MessageDraft("a", "x")] * 101)
    with pytest.raises(InvalidRequest):
        posting.post_all(process, "demo", ROOM, [])
    with pytest.raises(InvalidName):
        posting.post(process, "demo", "../x", MessageDraft("a", "x"))
    with pytest.raises(NotFound):
        posting.post(process, "nowhere", ROOM, MessageDraft("a", "x"))
    assert posting.post(process, "demo", ROOM, MessageDraft("a", "é" * 8_000)).fresh
    assert posting.post(process, "demo", ROOM, MessageDraft("Zoé Martin 🙂", "ok")).fresh


def test_a_message_may_have_been_said_long_ago_or_by_a_clock_that_is_a_little_ahead(chatter):
    old = chatter.say("old", timestamp="2019-05-04T10:00:00.250+02:00", message_id="m1")
    ahead = chatter.say("ahead", timestamp="2026-02-20T14:04:59Z")

    assert old.message.timestamp == "2019-05-04T08:00:00.250Z"
    assert ahead.message.timestamp == "2026-02-20T14:04:59.000Z"
    assert [one.content for one in chatter.said()] == ["old", "ahead"]
    assert not chatter.say("old", timestamp="2020-01-01T00:00:00Z", message_id="m1").fresh


def test_secrets_are_taken_out_if_the_settings_say_so():
    chatter = Chatter(redact_secrets=True)
    secret = "ghp_" + "a1B2" * 9

    posted = chatter.say(f"my token is {secret}", message_id="m1")

    assert secret not in posted.message.content
    assert posted.redacted == {"github": 1}
    assert not chatter.say(f"my token is {secret}", message_id="m1").fresh


def test_an_id_that_somebody_broke_in_the_bucket_does_not_keep_the_message_out(chatter):
    chatter.world.store.put(ROOM_ID.key("demo", ROOM, "m1"), b"no json")

    assert chatter.say("hello", message_id="m1").fresh


def test_a_message_that_was_digested_is_known_again_and_not_written(chatter):
    chatter.say("fact one", message_id="m1")
    chatter.say("fact two", message_id="m2")
    chatter.digested()

    again = chatter.say("fact one", message_id="m1", after=600)

    assert (again.fresh, again.digested) == (False, True)
    assert not messages_of(chatter)


def test_a_message_whose_writer_died_after_its_id_is_written_by_a_repeat_at_its_first_time(chatter):
    chatter.say("before")
    chatter.world.client.kill_at(len(chatter.world.client.requests) + 1, done=False)
    with pytest.raises(Killed):
        chatter.say("hello", message_id="m1")
    chatter.world.new_process()

    again = chatter.say("hello", message_id="m1", after=50)

    assert again.fresh
    assert again.message.timestamp == "2026-02-20T14:00:02.000Z"


def test_a_write_that_is_refused_although_nothing_is_there_is_tried_again(chatter):
    chatter.say("before")
    chatter.world.client.break_at(len(chatter.world.client.requests), "PreconditionFailed", 412, done=False)

    assert chatter.say("hello").fresh
    assert [one.content for one in chatter.said()] == ["before", "hello"]


def test_a_message_whose_first_try_was_digested_before_its_answer_came_is_posted_once(chatter):
    chatter.say("before")
    point = len(chatter.world.client.requests)

    def digested_and_lost(index, verb):
        if index == point:
            chatter.world.client.after = lambda index, verb: None
            chatter.digested()
            from tests.support.bucket import error

            raise error("PreconditionFailed", 412, verb)

    chatter.world.client.after = digested_and_lost
    posted = chatter.say("fact one")

    assert (posted.fresh, posted.digested) == (True, True)
    assert chatter.said() == []
    assert chatter.memories() == ["fact one"]

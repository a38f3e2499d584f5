"""Fair shares: while the queue of a function is long, no space has more than a few of its slots. Nothing is lost."""

from datetime import timedelta

import pytest

from benchmarks.scale import shares as played
from livemem.conversations import conversation as conversations
from livemem.conversations import log, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.jobs import shares
from livemem.jobs.shares import CROWDED, IN_LINE, Share, Waited
from livemem.spaces import caps
from livemem.store import timing
from livemem.store.bucket import SPACE_CAPS
from tests.support.actors import Actor
from tests.support.talk import Summariser
from tests.support.world import INVOCATION, World, carry_out

MOST = 2


def share(work_id: str, space_id: str = "demo", most: int = MOST) -> Share:
    return Share("summarize", space_id, work_id, most, lambda one: {"space_id": space_id, "conversation_id": one})


def stands(world: World, work_id: str, space_id: str = "demo") -> Actor:
    """A worker that has begun, or was sent away, and has not ended."""

    def work(actor: Actor) -> bool:
        with shares.shared(actor.process, share(work_id, space_id), Waited(CROWDED)) as may_begin:
            if may_begin:
                actor.process.store.get("work")
            return may_begin

    actor = Actor(work_id, world, work, world.clock() + INVOCATION)
    while not actor.done and ("GET", "work") not in actor.client.requests:
        actor.step()
    return actor


def called(world: World) -> list[str]:
    return [payload["conversation_id"] for payload in world.queued]


@pytest.mark.parametrize("most", [0, MOST])
def test_with_a_short_queue_no_request_is_made_and_without_a_limit_neither(most: int):
    world = World()
    waited = Waited(CROWDED if not most else CROWDED - timedelta(seconds=1))
    with shares.shared(world.process, share("a", most=most), waited) as may_begin:
        assert may_begin
    assert world.client.requests == []


def test_of_a_space_only_so_many_begin_and_who_ends_calls_the_next_while_another_space_begins_at_once():
    world = World()
    first, second, third, fourth = (stands(world, name) for name in "abcd")
    other = stands(world, "x", "other")

    assert [actor.done for actor in (first, second, other)] == [False] * 3
    assert (third.result, fourth.result) == (False, False)
    first.finish()
    assert (first.result, called(world)) == (True, ["c"])
    assert world.queued[0][IN_LINE]
    second.finish()
    other.finish()
    assert called(world) == ["c", "d"]


def test_what_was_called_is_counted_even_if_the_queue_is_short_again():
    world = World()
    for name in "ab":
        stands(world, name)
    with shares.shared(world.process, share("c"), Waited(in_line=True)) as may_begin:
        assert not may_begin


def test_a_repeat_keeps_its_place_and_stands_in_the_line_once():
    world = World()
    for name in "aabbcc":
        stands(world, name)
    found = caps.Places.from_bytes(world.inner.objects[SPACE_CAPS.key("demo")].body)

    assert [place.id for place in found.places["summarize"]] == ["a", "b"]
    assert found.waiting["summarize"] == ["c"]


def test_the_places_of_dead_workers_end_by_time():
    world = World()
    for name in "ab":
        stands(world, name).kill()
    assert not stands(world, "c").done or stands(world, "c").result is False
    world.clock.move((timing.INVOCATION + timing.SKEW).total_seconds())

    assert not stands(world, "c").done


def test_a_line_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(caps, "MOST_WAITING", 2)
    world = World()
    for name in "abcdef":
        stands(world, name)
    found = caps.Places.from_bytes(world.inner.objects[SPACE_CAPS.key("demo")].body)

    assert found.waiting["summarize"] == ["c", "d"]


def test_a_share_that_can_not_be_counted_stops_no_work():
    world = World()
    world.client.break_at(0, "InternalError", 500, done=False)
    with shares.shared(world.process, share("a"), Waited(CROWDED)) as may_begin:
        assert may_begin


def test_a_conversation_whose_call_from_the_line_got_lost_is_found_by_the_sweep():
    world = World()
    world.create_space()
    world.llm = Summariser()  # type: ignore[assignment]
    talk = conversations.create(world.process, "demo", "ann", NewConversation())
    log.append(world.process, "demo", talk.conversation_id, "ann", Draft("u" * 4_000, "a" * 4_000))
    for name in "abc":
        # Three are at work, as many as a space may have.
        caps.enter(world.process, "demo", "summarize", name, 3, timing.INVOCATION)
    payload = {"space_id": "demo", "conversation_id": talk.conversation_id}

    (looked,) = update.carry_out(world.process, payload, world.clock() + INVOCATION, waited=CROWDED)
    assert looked.result == "waiting"
    assert world.llm.asked == []  # type: ignore[attr-defined]
    world.clock.move(3_600)
    world.sweep()
    (again,) = world.queued
    carry_out(again, world.process, world.clock() + INVOCATION, world.pass_time)

    assert len(world.llm.asked) == 1  # type: ignore[attr-defined]


@pytest.mark.proof
def test_a_tenant_that_sends_turns_to_a_hundred_conversations_delays_others_by_little_more_than_a_minute():
    found = played.play(100, slots=5, minutes=20)

    assert (found.left, len(found.flood), len(found.others)) == (0, 100, 19)
    assert max(found.others) < 150

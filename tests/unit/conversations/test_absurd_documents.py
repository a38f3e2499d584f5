"""A document that somebody wrote into the bucket makes no reader and no worker long, whatever its numbers say."""

import tracemalloc
from contextlib import suppress

import pytest

from livemem.conversations import log, maintenance, reading
from livemem.conversations.turn import Draft
from livemem.errors import ConversationBroken, InvalidRequest, NotFound
from livemem.jobs.package import look_at_space
from livemem.store import keys
from livemem.store.bucket import BOUNDARY, TURN
from tests.support.every_kind import changed
from tests.support.talk import Talk, look_at_due
from tests.support.world import INVOCATION

MEMORY = 16 << 20


@pytest.fixture
def talk():
    found = Talk()
    found.said(*[700] * 9)
    found.update()
    assert found.names("v1/boundaries/l2/")
    return found


def absurd(talk, key, path, value):
    body = talk.world.store.get(key).body
    talk.world.inner.put_object(Bucket="b", Key=key, Body=changed(body, path, value))
    talk.world.new_process()


def looked_at(talk):
    """All that reads the conversation or works on it, and what it costs."""
    space = look_at_space(talk.process, "demo", daily=True)
    assert space
    first = log.read(talk.process, "demo", talk.id, [1])[0].message_id
    said = Draft("u" * 700, "a" * 700, message_id=first)
    new = Draft("u", "a", message_id="new")
    tracemalloc.start()
    for look in (
        lambda: reading.detail(talk.process, "demo", talk.id),
        lambda: reading.summary_page(talk.process, "demo", talk.id, level=None, state=None, limit=100, after=None),
        lambda: reading.turns(talk.process, "demo", talk.id, limit=100),
        lambda: reading.turns(talk.process, "demo", talk.id, limit=100, order="oldest"),
        talk.update,
        lambda: look_at_due(talk.process, talk.world.clock() + INVOCATION),
        lambda: maintenance.maintain(talk.process, space),
        lambda: log.append_all(talk.process, "demo", talk.id, "ann", [new]),
        lambda: log.append_all(talk.process, "demo", talk.id, "ann", [said]),
    ):
        with suppress(ConversationBroken, InvalidRequest, NotFound):
            look()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY
    return sum(talk.world.client.counts.values())


@pytest.mark.parametrize("children", [[1, 10**8], [1, 900_000], [5, 2], [10**9, 10**9]])
def test_children_without_end(talk, children):
    absurd(talk, BOUNDARY.key("demo", talk.id, 1, 2, 1), ("children",), children)

    assert looked_at(talk) < 300


@pytest.mark.parametrize("end", [10**8, 9_999_999_998, -1, 10**400])
def test_a_block_without_end(talk, end):
    key = BOUNDARY.key("demo", talk.id, 1, 1, 9)
    body = changed(talk.world.store.get(key).body, ("next",), [max(end, 1) + 1 if end < 10**10 else 5, 0])
    talk.world.inner.put_object(Bucket="b", Key=key, Body=changed(body, ("end",), end if end < 10**10 else b"1" * 400))
    for name in talk.names("v1/summaries/l1/000009/"):
        talk.world.store.delete(f"demo/conversations/{talk.id}/{name}")
    talk.world.new_process()

    assert looked_at(talk) < 1_000


def test_a_turn_behind_turns_that_are_not_there(talk):
    body = changed(talk.world.store.get(TURN.key("demo", talk.id, 1)).body, ("turn_index",), keys.LAST_TURN - 1)
    talk.world.inner.put_object(Bucket="b", Key=TURN.key("demo", talk.id, keys.LAST_TURN - 1), Body=body)
    talk.world.new_process()

    assert looked_at(talk) < 2_000

"""The current digest as a job: who begins, what is asked for meanwhile, and a document that says nothing of use."""

from collections import Counter

import pytest

from livemem.errors import NotFound
from livemem.jobs.package import look_at_space
from livemem.llm.client import LlmError
from livemem.rooms import current_digest, digest_reading, digest_work, maintenance
from livemem.rooms.digest_work import KIND, DigestOrder
from livemem.spaces import lifecycle
from livemem.store.bucket import CURRENT_DIGEST
from tests.support.actors import Actor
from tests.support.chatter import Chatter, fact, notes_facts
from tests.support.world import INVOCATION

OPEN = CURRENT_DIGEST.key("demo")


@pytest.fixture
def chatter() -> Chatter:
    return Chatter()


def failing(messages):
    raise LlmError("llm_unavailable", "503")


def failed_once(chatter: Chatter) -> str:
    """The slot of a digest that waits after a failure."""
    chatter.say(fact(1))
    chatter.llm.queue.append(failing)
    (waits,) = chatter.digest()
    assert waits.result == "waiting"
    return waits.slot


def test_what_a_digest_of_one_chunk_writes_and_asks_for_besides_its_memories(chatter):
    chatter.say(fact(1))
    chatter.world.new_process()

    chatter.digested()

    asked = [(verb, key) for verb, key in chatter.world.client.requests if "/_digests/" in key]
    # Read: the current digest, its end, lease, input, the answer to store it, and that and what was stored to count.
    # Written: the current digest as it begins and ends, lease, input, answer, what was stored, and the end.
    assert Counter(verb for verb, _ in asked) == Counter(GET=7, PUT=7, LIST=2, DELETE=1)
    assert [verb for verb, key in asked if key == OPEN] == ["GET", "PUT", "PUT"]


def test_the_job_says_how_the_digest_ended_and_what_it_took(chatter):
    chatter.say(fact(1))
    done = chatter.digested()
    job = current_digest.find(chatter.process, "demo").value

    assert (job.job_id, job.kind, job.status, job.usage) == (done.slot, "digest", "done", done.usage)
    assert (job.progress.done, job.progress.total) == (1, 1)
    assert (job.started_at or "") <= (job.ended_at or "")


def test_an_order_while_the_model_fails_is_kept_and_the_digest_waits_with_its_error(chatter):
    asked = []

    def ask_and_fail(messages):
        asked.append(digest_work.start(chatter.process, "demo"))
        return failing(messages)

    chatter.say(fact(1))
    chatter.llm.queue.append(ask_and_fail)
    (waits,) = chatter.digest()

    assert (waits.result, waits.error) == ("waiting", "llm_unavailable")
    assert [digest_reading.load(chatter.process, "demo", slot).status for slot in (waits.slot, *asked)] == [
        "queued"
    ] * 2
    chatter.world.settle()
    assert [chatter.done(slot) is not None for slot in (waits.slot, *asked)] == [True, True]
    assert chatter.memories() == [fact(1)]


def test_a_digest_is_never_given_up_however_many_workers_it_takes(chatter):
    chatter.say(fact(1))
    for _ in range(20):
        assert [one.result for one in chatter.digest(seconds=20)] == ["unfinished"]
        chatter.world.queued.clear()
        chatter.world.clock.move(1)

    assert chatter.digested().new == 1


def test_what_is_due_by_the_clock_follows_a_digest_that_was_handed_over(chatter):
    slot = failed_once(chatter)
    chatter.world.clock.move(4 * 3_600)
    chatter.say(fact(2), timestamp="2026-02-20T16:00:00Z")
    assert [one.result for one in chatter.digest(chatter.slot(), seconds=20)] == ["unfinished"]
    (rest,) = chatter.world.queued
    assert dict(rest) == KIND.payload("demo", slot)

    chatter.world.settle()

    assert chatter.done(slot).messages == 1
    assert chatter.done(chatter.slot()).messages == 1


def met(chatter: Chatter) -> tuple[Actor, str, str]:
    """A worker that has the lease of a digest when another one begins and ends another digest, which it does not know
    yet; and the slots of both.
    """

    def carry_out(me: Actor) -> list[str]:
        return [one.outcome for one in digest_work.carry_out(me.process, "demo", DigestOrder(forced=True), me.until)]

    chatter.say(fact(1))
    slow = Actor("slow", chatter.world, carry_out, chatter.world.clock() + INVOCATION)
    while not (claims := chatter.world.keys("demo/_digests/")):
        slow.step()
    chatter.world.clock.move(60)
    return slow, claims[0].split("/")[2], chatter.digested().slot


def test_of_two_that_begin_at_once_one_does_and_nothing_of_the_other_one_is_shown_or_stays(chatter):
    slow, beaten, slot = met(chatter)
    slow.finish()

    assert slow.result == ["overtaken"]
    assert chatter.names(beaten) == ["claim.json"]
    assert chatter.slots() == [slot]
    with pytest.raises(NotFound):
        digest_reading.load(chatter.process, "demo", beaten)
    chatter.world.clock.move(91 * 86_400)
    space = look_at_space(chatter.process, "demo", daily=True)
    assert space
    assert maintenance.maintain(chatter.process, space) == {"digests_removed": 2}
    assert chatter.world.keys("demo/_digests/") == [OPEN]


def test_who_was_beaten_digests_what_was_said_behind_the_other_one(chatter):
    slow, beaten, _ = met(chatter)
    chatter.say(fact(2), after=0)
    slow.finish()

    assert slow.result == ["overtaken", "done"]
    assert chatter.done(beaten).messages == 1


def test_a_space_that_is_deleted_while_the_model_is_asked_ends_its_digest_and_what_was_asked_is_counted(chatter):
    def delete(messages):
        lifecycle.delete(chatter.process, "demo", confirm="demo")
        return notes_facts(messages)

    chatter.say(fact(1))
    chatter.llm.queue.append(delete)
    (one,) = chatter.digest()

    assert (one.result, one.used.calls) == ("overtaken", 1)
    assert OPEN not in chatter.world.keys("demo/")
    assert not chatter.world.queued


@pytest.mark.parametrize("how", ["broken", "no slot", "of another space"])
def test_an_open_digest_is_gone_on_with_though_its_document_says_nothing_of_use(chatter, how):
    slot = failed_once(chatter)
    text = chatter.world.text(OPEN)
    said = {
        "broken": "{",
        "no slot": text.replace(f'"{slot}"', '"../../x"'),
        "of another space": text.replace('"space_id": "demo"', '"space_id": "other"'),
    }[how]
    assert said != text
    chatter.world.store.put(OPEN, said.encode())

    assert digest_reading.load(chatter.process, "demo", slot).status == "running"
    first, *_ = chatter.digest(by_hand=True)
    assert (first.slot, first.result) == (slot, "done")
    assert chatter.memories() == [fact(1)]


def test_an_order_is_the_first_document_where_no_digest_was_ever_begun(chatter):
    slot = digest_work.start(chatter.process, "demo")
    found = current_digest.find(chatter.process, "demo").value

    assert (found.job_id, found.open_slot, found.ordered) == ("", None, slot)
    assert chatter.slots() == [slot]
    chatter.llm.default = notes_facts
    chatter.world.settle()
    assert chatter.done(slot).messages == 0

"""A digest that dies, or whose store fails, at every single request; somebody goes on with it."""

import json
from collections import Counter
from contextlib import suppress

import pytest

from livemem.rooms import chunks
from livemem.rooms import digest_work as digests
from livemem.rooms.digest_work import DigestOrder
from livemem.store.bucket import DIGEST_INPUT
from tests.support.actors import Actor
from tests.support.chatter import Chatter, answer, memory
from tests.support.counting import Killed
from tests.support.faults import KILLS
from tests.support.part import part
from tests.support.world import INVOCATION

FACTS = {
    "harbour": "fact: the harbour office opens at six",
    "kitchen": "fact: Ines cooks on Fridays",
    "lab": "fact: the microscope stands in room twelve",
}


def prepared() -> Chatter:
    """Three rooms, and a digest that will be asked for."""
    chatter = Chatter()
    for room, fact in FACTS.items():
        chatter.say(fact, room=room, message_id=f"m-{room}")
        chatter.say("hello", room=room)
    chatter.world.new_process()
    return chatter


def recovered(chatter: Chatter) -> None:
    """A fresh process goes on, an hour later."""
    chatter.world.new_process()
    chatter.world.clock.move(3_600)
    chatter.digest()
    chatter.world.settle()


def wrong(chatter: Chatter) -> list[str]:
    """What is not as it must be when all has come to rest."""
    found = []
    if chatter.memories() != sorted(FACTS.values()):
        found.append(f"memories {chatter.memories()}")
    if any(chatter.said(room) for room in FACTS):
        found.append("messages are left")
    if chatter.open_slot():
        found.append("a slot is open")
    inputs = [key for key in chatter.world.keys("demo/_digests/") if key.endswith("/input.json")]
    taken = Counter(
        line.strip(' ",') for key in inputs for line in chatter.world.text(key).split("\n") if "rooms/" in line
    )
    if len(taken) != 6 or set(taken.values()) != {1}:
        found.append(f"taken {taken}")
    operations = chatter.world.keys("demo/memories/facts/log/")
    if len(operations) != len(FACTS):
        found.append("a memory was stored twice")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("fault", KILLS, ids=lambda fault: fault.name)
def test_a_kill_at_any_request_repeats_no_call_whose_answer_could_be_stored(fault):
    whole = prepared()
    whole.digest()
    requests = list(whole.world.client.requests)
    answers = [place for place, (verb, key) in enumerate(requests) if verb == "PUT" and "/extract/" in key]
    repeated = {}
    for point in sorted({*part(range(len(requests)), 4), *answers}):
        chatter = prepared()
        fault.arm(chatter.world, point)
        with suppress(Killed):
            chatter.digest()
        assert chatter.world.client.requests[point] == requests[point]
        recovered(chatter)
        assert wrong(chatter) == [], point
        if (asked := len(chatter.llm.asked)) != len(FACTS):
            repeated[point] = asked

    # Only a kill between an answer and the write of it, before that is there, costs its one call again.
    assert repeated == ({} if fault.done else dict.fromkeys(answers, len(FACTS) + 1))
    assert len(answers) == len(FACTS)


def test_a_digest_that_dies_again_and_again_asks_each_chunk_once():
    chatter = prepared()
    asked = 0
    for extra in range(1, 200):
        chatter.world.new_process()
        # Killed after the store did it: each try gets one request further than what is there already allows.
        chatter.world.client.kill_at(extra, done=True)
        try:
            chatter.digest()
        except Killed:
            chatter.world.clock.move(3_600)
            asked = max(asked, len(chatter.llm.asked))
            continue
        break
    chatter.world.new_process()
    recovered(chatter)
    assert asked <= len(FACTS)
    assert len(chatter.llm.asked) == len(FACTS)
    assert wrong(chatter) == []


def test_a_write_of_what_a_digest_takes_that_comes_late_changes_nothing():
    chatter = prepared()
    done = chatter.digested()
    key = DIGEST_INPUT.key("demo", done.slot)
    before = chatter.world.text(key)
    chatter.say("fact late: the ferry leaves at nine", room="lab")
    chatter.digest(done.slot)

    assert chatter.world.text(key) == before
    assert len(chatter.said("lab")) == 1


def test_chunks_are_asked_side_by_side_but_not_all_at_once():
    assert 1 < chunks.AT_ONCE <= 8


def test_of_two_answers_to_one_chunk_the_one_that_is_stored_first_stays_wherever_its_worker_dies():
    """Two workers of one digest: while the first one waits for the model its lease runs out, and the other one dies."""

    def met(requests: int) -> tuple[Chatter, Actor]:
        chatter, others = Chatter(), []
        world = chatter.world

        def work(me: Actor) -> None:
            digests.carry_out(me.process, "demo", DigestOrder(forced=True), me.until)

        def wait(messages):
            world.pass_time(120, beating=False)
            chatter.llm.queue.append(answer(memory("fact: it is the Nordstjernen")))
            others.append(Actor("other", world, work, world.clock() + INVOCATION))
            others[0].step(requests)
            others[0].kill()
            return answer(memory("fact: its captain lives in Bergen"))

        chatter.say("What is the name of the ferry?")
        chatter.llm.queue.append(wait)
        chatter.digest()
        recovered(chatter)
        return chatter, others[0]

    stored, requests, killed = set(), 0, True
    while killed:
        chatter, other = met(requests)
        (key,) = [key for key in chatter.world.keys("demo/_digests/") if "/extract/" in key]
        (found,) = json.loads(chatter.world.text(key))["facts"]
        # Killed before the last one was carried out.
        is_first = ("PUT", key) in other.client.requests[: max(requests - 1, 0)]
        assert found["content"] == f"fact: it{' is the Nordstjernen' if is_first else 's captain lives in Bergen'}"
        assert chatter.memories() == [found["content"]], requests
        stored.add(found["content"])
        killed, requests = other.killed, requests + 1
    assert len(stored) == 2

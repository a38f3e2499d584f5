"""A user asks while an earlier question of theirs lies where its process died, at every request of that.

Two that are both at work, and late writes, are pairs of the simulation (tests/simulation/kinds/questions.py).
"""

from datetime import timedelta
from typing import Any

import pytest

from livemem.ask import question as questions
from livemem.ask import question_work
from livemem.ask.question import AskRequest
from livemem.conversations import log
from livemem.jobs.lease import LIFE
from livemem.store import due_keys, timing
from tests.support.actors import Actor
from tests.support.agent import calls, responds
from tests.support.asking import Asking, left_open, sweep_questions, talk_of
from tests.support.cases import each
from tests.support.part import part

FACTS = {"One?": "Kiel has nine cranes.", "Two?": "Ines bakes bread."}


def _answer(thread: Any) -> Any:
    """Store what belongs to the question, then respond."""
    asked = "One?" if thread[1]["content"].rstrip().endswith('"One?"') else "Two?"
    stored = any(message["role"] == "tool" for message in thread)
    return responds(f"Answer to {asked}") if stored else calls(("store_memory", {"content": FACTS[asked]}))


def _actor(asking: Asking, message: str, key: str) -> Actor:
    world = asking.world

    def ask(actor: Actor) -> Any:
        until = world.clock() + timedelta(seconds=5)
        return question_work.ask(
            actor.process,
            "demo",
            "ann",
            AskRequest(message),
            may_write=True,
            until=until,
            idempotency_key=key,
            pause=world.pass_time,
        )

    return Actor(message, world, ask, world.clock() + timedelta(seconds=900))


def _scene() -> Asking:
    asking = Asking()
    asking.agent.default = _answer
    asking.ask("Before?", user="warm")
    for name in asking.names("memories/"):
        asking.world.store.delete(f"demo/{name}")
    asking.world.new_process()
    return asking


def _turns(message: str) -> int:
    asking = _scene()
    one = _actor(asking, message, "a")
    turns = 0
    while not one.done:
        one.step()
        turns += 1
    return turns


def _rest(asking: Asking) -> None:
    asking.world.pass_time(LIFE.total_seconds() + 1)
    asking.world.settle()
    asking.world.pass_time((timing.DEAD_AFTER + due_keys.STEP).total_seconds())
    sweep_questions(asking.world)
    asking.world.settle()


def _check(asking: Asking, wanted: dict[str, str]) -> None:
    """Each question is answered once, stored what it should once, and is one turn of a conversation."""
    said = []
    for key, message in wanted.items():
        asked = questions.load(asking.process, "demo", questions.request_of("ann", key), "ann")
        assert (asked.status, asked.answer.message) == ("done", f"Answer to {message}")
        turns = log.read(asking.process, "demo", talk_of(asked), range(1, 5))
        said += [turn.user_message for turn in turns if turn.message_id == asked.job_id]
    assert sorted(said) == sorted(wanted.values())
    assert len(asking.names("memories/facts/log/")) == len(set(wanted.values()))
    assert left_open(asking.world) == []


@pytest.mark.slow
@each("second", ["Two?", "One?"])
def test_two_requests_of_one_user_are_each_answered_once_wherever_the_first_one_dies(second: str):
    key = "b" if second == "Two?" else "a"
    for stop in part(range(_turns("One?") + 1), 5):
        asking = _scene()
        one, two = _actor(asking, "One?", "a"), _actor(asking, second, key)
        one.step(stop)
        one.kill()
        two.finish()
        assert (one.error, two.error) == (None, None), stop
        if questions.find(asking.process, "demo", questions.request_of("ann", "a")) is None:
            # Nothing was written down: its client asks once more.
            _actor(asking, "One?", "a").finish()
        _rest(asking)

        _check(asking, {"a": "One?", key: second})

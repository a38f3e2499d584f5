"""A request asks the model itself only where it can expect the answer in its time: no call is paid for twice."""

from contextlib import suppress
from datetime import timedelta

from livemem.ask import question as questions
from livemem.ask.question_work import HEADROOM, KNOWN, Pace
from livemem.jobs.lease import LIFE
from livemem.llm.client import LlmError
from livemem.store import due_keys, timing
from tests.support.agent import calls, responds
from tests.support.asking import Asking, left_open, sweep_questions
from tests.support.counting import Killed


class Strange(Asking):
    """A process that knows nothing of its model, which takes `seconds` for an answer."""

    def __init__(self, seconds: float, **settings):
        super().__init__(**settings)
        self.seconds = seconds
        self.agent.default = self._answer
        self.forget()

    def forget(self) -> None:
        self.process.cache(Pace)._took.clear()

    def _answer(self, thread):
        limit = self.agent.limits[-1][1]
        self.world.clock.move(min(self.seconds, limit))
        if self.seconds > limit:
            raise LlmError("llm_timeout", "Too slow.")
        return responds("Here.")

    def while_somebody_works(self, message="Who?", **more):
        """Ask beside a worker that takes the queue at once."""

        def pause(seconds):
            self.world.settle()
            self.world.pass_time(seconds)

        return self.order(message, pause=pause, **more)


def test_a_model_that_is_slower_than_the_request_is_asked_once():
    asking = Strange(40)

    outcome = asking.order()
    assert (outcome.outcome, len(asking.agent.asked), len(asking.world.queued)) == ("unfinished", 0, 1)
    asking.world.settle()

    asked = questions.load(asking.process, "demo", outcome.job.job_id, "ann")
    assert (asked.status, asked.usage.calls, asked.slowest, len(asking.agent.asked)) == ("done", 1, 40, 1)


def test_an_answer_that_comes_in_time_is_given_at_once_and_then_the_request_asks_itself():
    asking = Strange(2)

    first = asking.while_somebody_works()
    assert (first.outcome, first.job.answer.message, len(asking.agent.asked)) == ("done", "Here.", 1)
    second = asking.order("And who else?")
    assert (second.outcome, len(asking.agent.asked), bool(asking.world.queued)) == ("done", 2, False)


def test_a_model_that_was_slow_is_not_asked_by_requests_until_it_was_seen_fast_again():
    asking = Strange(40)
    asking.process.cache(Pace).add(0)
    # Nothing told that it would be slow: this call is cut off, and made again.
    asking.order()
    asking.world.settle()
    assert len(asking.agent.asked) == 2

    for number in range(KNOWN):
        asking.order(f"Question {number}?")
        asking.world.settle()
    assert len(asking.agent.asked) == 2 + KNOWN

    asking.seconds = 1
    for number in range(KNOWN):
        assert asking.while_somebody_works(f"Once more {number}?").outcome == "done"
    assert (asking.order("Fast?").outcome, bool(asking.world.queued)) == ("done", False)


def test_the_next_answer_may_take_half_as_long_again_as_the_slowest_of_the_last():
    pace = Pace(lambda: 0.0)
    assert not pace.fits(1_000)
    for seconds in (40, 8, 2, 4):
        pace.add(seconds)

    assert pace.fits(8 * HEADROOM)
    assert not pace.fits(8 * HEADROOM - 0.1)


def test_a_request_that_dies_while_it_waits_changes_nothing():
    asking = Strange(40)

    def dies(_):
        raise Killed

    with suppress(Killed):
        asking.order(key="k", pause=dies)
    asking.world.settle()

    assert asking.order(key="k").outcome == "done"
    assert len(asking.agent.asked) == 1
    assert left_open(asking.world) == []


def test_a_worker_that_dies_in_a_call_leaves_a_question_that_another_one_asks_once_more():
    asking = Strange(40)
    answered = []

    def dies_once(thread):
        answered.append(len(answered))
        if len(answered) == 2:
            raise Killed
        return calls(("search_memories", {"query": "x"})) if len(answered) == 1 else responds("Here.")

    asking.agent.default = dies_once
    outcome = asking.order()
    with suppress(Killed):
        asking.world.settle()
    asking.world.new_process()
    asking.world.pass_time((LIFE + timing.DEAD_AFTER + due_keys.STEP + timedelta(minutes=1)).total_seconds())
    sweep_questions(asking.world)
    asking.world.settle()

    assert questions.load(asking.process, "demo", outcome.job.job_id, "ann").status == "done"
    # The first answer was stored, so it is not asked for again.
    assert len(answered) == 3

import json
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem.ask import maintenance, question_work
from livemem.ask import question as questions
from livemem.conversations import log
from livemem.errors import InvalidRequest, LiveMemoryError, StillAtWork
from livemem.jobs import lease, places
from livemem.jobs.lease import LIFE
from livemem.jobs.package import look_at_space
from livemem.jobs.worker import MOST_ATTEMPTS, PAUSE
from livemem.llm.client import LlmError
from livemem.memories import reading
from livemem.spaces import due_index
from livemem.store import due_keys, timing
from livemem.store.bucket import QUESTION, SESSION
from tests.support.agent import calls, responds
from tests.support.asking import Asking, left_open, sweep_questions, talk_of
from tests.support.counting import READS, Killed
from tests.support.part import part

KEY = "job-17"
STEPS = (
    calls(("search_memories", {"query": "ferry"}), ("store_memory", {"content": "Jonas sails the Merle."})),
    calls(
        ("store_memory", {"content": "Kiel has nine cranes.", "ttl": "7d"}),
        ("store_goal", {"content": "Know the port.", "category": "understanding"}),
        ("search_memories", {"query": "blue"}),
        ("delete_memory", {"id": "{old}", "reason": "The user says it is green."}),
    ),
    responds("Stored.", "happy"),
)


class Scene(Asking):
    """A question of three turns that stores and deletes; the model answers by how far the question is."""

    def __init__(self) -> None:
        super().__init__()
        self.old = self.remember("The ferry is blue.")
        self.answered: list[int] = []
        self.agent.default = self._answer

    def _answer(self, thread):
        turn = sum(message["role"] == "assistant" for message in thread)
        self.answered.append(turn)
        step = STEPS[turn]
        made = [(one.name, one.arguments.replace("{old}", self.old)) for one in step.calls]
        return calls(*made)

    def wanted(self):
        return self.order("Please keep that.", key=KEY)

    def check(self) -> None:
        asked = questions.load(self.process, "demo", questions.request_of("ann", KEY), "ann")
        assert (asked.status, asked.answer.message) == ("done", "Stored.")
        assert [one.error for one in asked.calls()] == [None] * 7
        kinds: tuple[tuple[Any, list[str]], ...] = (
            ("fact", ["Jonas sails the Merle.", "Kiel has nine cranes."]),
            ("goal", ["Know the port."]),
        )
        for kind, contents in kinds:
            assert sorted(one.content for one in reading.all_of(self.process, "demo", kind)) == contents
        # One operation for each, besides the memory that was there: nothing was done twice.
        assert len(self.names("memories/facts/log/")) == 4
        assert len(self.names("memories/goals/log/")) == 1
        said = self.names("conversations/")
        assert [sum(part in name for name in said) for part in ("/turns/", "/conversation.json")] == [1, 1]
        session = json.loads(self.world.text(SESSION.key("demo", "ann")))
        assert session["requests"] == [asked.job_id]
        assert asked.usage.calls == len(STEPS)
        assert left_open(self.world) == []


@cache
def requests() -> list[str]:
    """The verbs of the requests that the question takes."""
    scene = Scene()
    scene.world.client.reset()
    scene.wanted()
    scene.check()
    return [verb for verb, _ in scene.world.client.requests]


def test_a_question_of_three_turns_is_answered_by_so_many_requests():
    scene = Scene()
    scene.world.client.reset()
    scene.wanted()

    assert len(requests()) < 90, scene.world.client.counts


@pytest.mark.slow
def test_who_dies_at_any_request_leaves_a_question_that_goes_on_asks_nothing_again_and_stores_all_once():
    for point in part(range(len(requests())), 5):
        recovery = ("repeat", "sweep")[point % 2]
        scene = Scene()
        scene.world.client.reset()
        scene.world.client.kill_at(point, done=False)
        with suppress(Killed):
            scene.wanted()
        scene.world.new_process()
        told = {turn: scene.answered.count(turn) for turn in set(scene.answered)}
        kept = _kept(scene)
        scene.world.pass_time(LIFE.total_seconds() + 1)
        if recovery == "repeat" or kept is None:
            scene.wanted()
        _sweep_up(scene)

        scene.check()
        # An answer that was asked for and lies in the bucket is not asked for again.
        again = [turn for turn in range(len(STEPS)) if scene.answered.count(turn) > 1]
        assert all(turn >= (kept or 0) for turn in again), (point, again, kept)
        assert max(scene.answered.count(turn) for turn in range(len(STEPS))) <= 2
        assert sum(told.values()) <= len(STEPS)


def _sweep_up(scene: Scene) -> None:
    """The sweep comes by when whoever was at work must have ended."""
    scene.world.pass_time((timing.DEAD_AFTER + due_keys.STEP).total_seconds())
    sweep_questions(scene.world)
    scene.world.settle()


def _kept(scene: Scene) -> int | None:
    """How many answers of the model are in the bucket; None where there is no question."""
    found = questions.find(scene.process, "demo", questions.request_of("ann", KEY))
    return len(found.value.steps) if found else None


def test_writes_that_the_store_gets_twice_as_their_first_answer_was_lost_change_nothing():
    scene = Scene()

    def twice(request):
        if request.writes:
            with suppress(ClientError):
                request.send(scene.world.inner)
        return request.send(scene.world.inner)

    scene.world.client.carry = twice
    outcome = scene.wanted()

    assert (outcome.outcome, scene.answered) == ("done", [0, 1, 2])
    scene.check()


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True])
def test_a_store_that_fails_at_any_request_costs_a_repeat_and_nothing_else(done: bool):
    for point, verb in part(enumerate(requests()), 5):
        if done and verb in READS.values():
            # It is as if it had not been done.
            continue
        scene = Scene()
        scene.world.client.reset()
        scene.world.client.break_at(point, "InternalError", 500, done=done)
        with suppress(LiveMemoryError):
            scene.wanted()
        scene.world.new_process()
        scene.world.pass_time(LIFE.total_seconds() + 1)
        outcome = scene.wanted()
        if outcome.outcome == "unfinished":
            scene.world.settle()
        _sweep_up(scene)

        _check_after_errors(scene)


def _check_after_errors(scene: Scene) -> None:
    """As `check`, but that the usage may hold an answer that was paid for and lost."""
    asked = questions.load(scene.process, "demo", questions.request_of("ann", KEY), "ann")
    assert asked.status == "done"
    assert len(scene.names("memories/facts/log/")) == 4
    assert len(scene.names("memories/goals/log/")) == 1
    assert left_open(scene.world) == []
    index = log.last_index(scene.process, "demo", talk_of(asked))
    assert index == 1


def test_a_repeat_gives_the_same_answer_and_asks_and_stores_nothing():
    scene = Scene()
    first = scene.wanted()
    before = scene.world.keys()
    second = scene.wanted()

    assert (second.outcome, second.job, second.used.calls) == (first.outcome, first.job, 0)
    assert scene.answered == [0, 1, 2]
    assert scene.world.keys() == before


@pytest.mark.parametrize("other", [{"message": "Else?"}, {"user": "bob"}, {"room": "galley"}])
def test_a_key_of_another_question_is_refused(other):
    asking = Asking()
    asking.ask(key=KEY)

    with pytest.raises(InvalidRequest, match="Idempotency-Key"):
        asking.ask(**{"key": KEY, **other})


def test_the_keys_of_two_tokens_are_two():
    asking = Asking()
    assert asking.ask(key=KEY).job_id != asking.ask("Else?", key=KEY, author="bob").job_id


def test_a_question_that_failed_goes_on_where_it_failed_when_it_is_asked_again():
    scene = Scene()
    scene.script(STEPS[0], LlmError("llm_unavailable", "Down."))
    failed = scene.wanted()
    assert (failed.outcome, failed.job.error.code) == ("failed", "llm_unavailable")
    assert left_open(scene.world) == []

    again = scene.wanted()

    assert again.outcome == "done"
    assert again.job.error is None
    assert scene.answered == [1, 2]
    assert len(scene.names("memories/facts/log/")) == 4


def test_what_takes_longer_than_there_is_time_is_handed_over_and_goes_on_by_itself():
    scene = Scene()
    scene.agent.default = lambda thread: (scene.world.clock.move(9), scene._answer(thread))[1]

    outcome = scene.wanted()

    assert (outcome.outcome, outcome.job.status, len(outcome.job.steps)) == ("unfinished", "running", 1)
    assert [dict(one) for one in scene.world.queued] == [question_work.KIND.payload("demo", outcome.job.job_id)]
    scene.world.settle()
    scene.check()
    assert scene.answered == [0, 1, 2]


def test_a_model_that_is_slow_all_of_a_sudden_is_asked_again_with_more_time():
    asking = Asking()

    asking.script(LlmError("llm_timeout", "Not within 20 s."), responds("Slowly."))
    outcome = asking.order()
    assert outcome.outcome == "unfinished"
    asking.world.settle()

    asked = questions.load(asking.process, "demo", outcome.job.job_id, "ann")
    assert asked.answer.message == "Slowly."
    assert [round(limit) for _, limit in asking.agent.limits] == [20, 600]


def test_a_model_that_is_too_slow_for_any_invocation_fails_the_question():
    asking = Asking(llm_timeout_seconds=10_000)
    asking.agent.default = lambda thread: (_ for _ in ()).throw(LlmError("llm_timeout", "Too slow."))
    outcome = asking.order()
    asking.world.settle()

    asked = questions.load(asking.process, "demo", outcome.job.job_id, "ann")
    assert (asked.status, asked.error.code) == ("failed", "out_of_time")
    assert left_open(asking.world) == []


def test_a_question_whose_workers_die_again_and_again_is_given_up_and_can_be_asked_again():
    asking = Asking()

    def dies(thread):
        raise Killed

    asking.agent.default = dies
    for _ in range(MOST_ATTEMPTS):
        with pytest.raises(Killed):
            asking.order(key=KEY)
        asking.world.pass_time(LIFE.total_seconds() + 1)

    given_up = asking.order(key=KEY)
    assert (given_up.outcome, given_up.job.error.code) == ("failed", "not_finished")
    assert len(asking.agent.asked) == MOST_ATTEMPTS
    assert left_open(asking.world) == []

    asking.agent.default = lambda thread: responds("At last.")
    assert asking.ask(key=KEY).answer.message == "At last."


def test_a_question_in_a_folder_that_was_copied_by_hand_is_not_worked_on():
    asking = Asking()
    asking.script(LlmError("llm_timeout", "Slow."))
    asked = asking.order().job
    asking.world.create_space("other")
    objects = asking.world.inner.objects
    objects[QUESTION.key("other", asked.job_id)] = objects[QUESTION.key("demo", asked.job_id)]

    assert asking.world.work(question_work.KIND.payload("other", asked.job_id)).outcome == "gone"
    assert questions.load(asking.process, "demo", asked.job_id, "ann").status == "running"


def test_where_it_cannot_be_handed_over_the_sweep_goes_on():
    asking = Asking()
    asking.script(LlmError("llm_timeout", "Slow."))

    def refuses(function, payload):
        from livemem.errors import StoreUnavailable

        raise StoreUnavailable("No.")

    outcome = asking.order(process=asking.world.with_parts(enqueue=refuses))
    assert outcome.outcome == "unfinished"
    assert not asking.world.queued

    asking.world.sweep()
    assert not asking.world.queued, "it may still be worked on"
    asking.world.pass_time((timing.DEAD_AFTER + due_keys.STEP).total_seconds())
    asking.world.sweep()
    asking.world.settle()

    assert questions.load(asking.process, "demo", outcome.job.job_id, "ann").status == "done"


def test_the_same_request_twice_at_once_is_one_question():
    asking = Asking()
    during = []
    asking.script(lambda thread: (during.append(asking.order(key=KEY, seconds=5)), responds("Once."))[1])

    first = asking.ask(key=KEY)
    asking.world.settle()

    assert (during[0].outcome, during[0].job.job_id) == ("unfinished", first.job_id)
    assert len(asking.agent.asked) == 1
    assert log.last_index(asking.process, "demo", talk_of(first)) == 1


def test_two_questions_of_one_user_are_answered_one_after_the_other():
    asking = Asking()
    during = []

    def second_meanwhile(thread):
        during.append(asking.order("Second?", seconds=5))
        return responds("First.")

    asking.script(second_meanwhile)
    first = asking.ask("First?")

    assert during[0].outcome == "unfinished"
    assert during[0].job.steps == []
    asking.world.settle()
    second = questions.load(asking.process, "demo", during[0].job.job_id, "ann")
    assert second.conversation_id == first.conversation_id
    turns = log.read(asking.process, "demo", talk_of(first), [1, 2])
    assert [turn.user_message for turn in turns] == ["First?", "Second?"]


def test_who_waits_for_the_question_before_is_answered_within_its_own_time_if_that_ends():
    asking = Asking()
    held = lease.acquire(asking.process, places.of_session("demo", "ann"), "0" * 26, "question")
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        asking.world.clock.move(seconds)
        if len(pauses) == 3:
            lease.release(asking.process, held)

    outcome = question_work.ask(
        asking.process,
        "demo",
        "ann",
        questions.AskRequest("Who?"),
        may_write=True,
        until=asking.world.clock() + timedelta(seconds=20),
        pause=pause,
    )

    assert outcome.outcome == "done"
    assert pauses == [PAUSE] * 3


def test_users_do_not_wait_for_each_other():
    asking = Asking()
    during = []
    asking.script(lambda thread: (during.append(asking.order("Mine?", user="bob")), responds())[1])

    asking.ask(user="ines")

    assert during[0].outcome == "done"


def test_an_invocation_that_finds_the_user_busy_is_delivered_again():
    asking = Asking()
    asking.script(LlmError("llm_timeout", "Slow."))
    outcome = asking.order()
    held = lease.acquire(asking.process, places.of_session("demo", "ann"), "0" * 26, "question")

    with (
        asking.world.every(lambda: lease._rewrite(asking.process, held), 20),
        pytest.raises(StillAtWork),
    ):
        asking.world.work(asking.world.queued[0])

    lease.release(asking.process, held)
    asking.world.settle()
    assert questions.load(asking.process, "demo", outcome.job.job_id, "ann").status == "done"


def test_an_invocation_of_an_answered_question_or_of_none_does_nothing():
    asking = Asking()
    asked = asking.ask()
    before = len(asking.agent.asked)

    outcomes = [asking.world.work(question_work.KIND.payload("demo", one)) for one in (asked.job_id, "0" * 26)]

    assert [one.outcome for one in outcomes] == ["done", "gone"]
    assert len(asking.agent.asked) == before
    assert left_open(asking.world) == []


def test_a_worker_that_was_overtaken_gives_what_the_other_made_of_it():
    asking = Asking()

    def stalls(thread):
        # Another one takes the claim when it has run out, and answers.
        asking.world.pass_time(LIFE.total_seconds() + 1, beating=False)
        asking.world.work(question_work.KIND.payload("demo", _only(asking)))
        return responds("Too late.")

    asking.script(stalls, responds("First."))

    asked = asking.ask(seconds=600)

    assert asked.answer.message == "First."
    assert log.last_index(asking.process, "demo", talk_of(asked)) == 1


def _only(asking: Asking) -> str:
    (request_id,) = left_open(asking.world)
    return request_id


def test_two_deliveries_of_one_question_at_once_answer_it_once():
    asking = Asking()
    asking.script(LlmError("llm_timeout", "Slow."))
    outcome = asking.order()
    payload = dict(asking.world.queued.popleft())
    errors = []

    def other(thread):
        with pytest.raises(StillAtWork) as raised:
            asking.world.work(payload)
        errors.append(raised.value)
        return responds("Once.")

    asking.script(other)
    asking.world.work(payload)

    assert len(errors) == 1
    asked = questions.load(asking.process, "demo", outcome.job.job_id, "ann")
    assert log.last_index(asking.process, "demo", talk_of(asked)) == 1
    assert len(asking.agent.asked) == 2


def test_a_space_that_is_deleted_while_a_question_waits_takes_it_along():
    from livemem.spaces import lifecycle

    asking = Asking()
    asking.script(LlmError("llm_timeout", "Slow."))
    outcome = asking.order()
    lifecycle.delete(asking.process, "demo", "demo")
    asking.world.settle()

    assert [one for one in asking.names("") if "_meta" not in one] == []
    assert outcome.outcome == "unfinished"


def test_an_answered_question_is_looked_at_while_something_may_come_and_then_leaves_the_due_index():
    asking = Asking()
    asked = asking.ask()
    asking.world.store.put(due_keys.due("demo", "question", "no-ulid", asking.world.clock()), b"")
    asking.world.pass_time((timing.DEAD_AFTER + due_keys.STEP).total_seconds())
    sweep_questions(asking.world)
    assert asking.world.due("question") == ["demo/no-ulid", f"demo/{asked.job_id}"]

    asking.world.pass_time(due_index.KEPT.total_seconds())
    sweep_questions(asking.world)

    assert asking.world.due("question") == []
    assert not asking.world.queued


def test_old_questions_and_sessions_are_removed_once_a_day():
    asking = Asking(run_retention_days=31)
    old = asking.ask()
    asking.world.clock.move(32 * 86_400)
    young = asking.ask(user="bob")
    assert _maintained(asking) == {}

    assert _maintained(asking, daily=True) == {"removed_questions": 1}
    assert asking.names("_asks/") == [f"_asks/{young.job_id}.json"]
    assert len(asking.names("sessions/")) == 1
    assert old.job_id != young.job_id


def _maintained(asking: Asking, *, daily: bool = False):
    space = look_at_space(asking.process, "demo", daily=daily)
    assert space
    return maintenance.maintain(asking.process, space)

"""Digests where the model fails: by a chunk, or altogether."""

import json

import pytest
from pydantic.errors import PydanticUserError

from livemem.errors import Conflict, NotFound, StillAtWork
from livemem.jobs.package import look_at_space
from livemem.llm.client import LlmError
from livemem.rooms import digest_progress, digest_reading, digest_work, maintenance
from livemem.rooms.digest_documents import DeadLetter, Try
from livemem.store import timing
from livemem.store.bucket import DEAD_LETTER, FAILED_TRY
from tests.support.chatter import Chatter, answer, fact, fails_on, memory, notes_facts, shown
from tests.support.counting import Killed
from tests.support.world import INVOCATION

POISON = "fact zebra poison"


@pytest.fixture
def chatter() -> Chatter:
    return Chatter()


def poisoned(chatter: Chatter, code: str = "llm_contract") -> None:
    """Three rooms, one of them with a message that no model can read."""
    for number in range(3):
        chatter.say(fact(number), room=f"room-{number}", message_id=f"m{number}")
    chatter.say(POISON, room="room-1", message_id="bad")
    chatter.llm.default = fails_on(POISON, code)


@pytest.mark.parametrize(
    "text",
    [
        "Here are the facts: 1. the import runs at night",
        '{"memories": [{"kind": "fact", "content": "x", "messages": [1]}',
        '{"memories": {}}',
        "[]",
        "null",
        answer(*(memory(fact(number)) for number in range(1_000))),
        answer(memory("x", 2)),
        answer(memory("x", 0)),
        answer({"kind": "fact", "content": "x", "messages": []}),
        answer(memory("x", kind="rumour")),
        answer(memory("x", kind="goal", category="world domination")),
        answer(memory("x", ttl="soon")),
        answer(memory("x", ttl="0d")),
        answer(memory("  ")),
        answer(memory("x", subjects=["a,b"])),
        answer(memory("x" * 8_001)),
    ],
)
def test_an_answer_that_breaks_the_contract_is_shown_to_the_model_once_with_what_is_wrong(chatter, text):
    chatter.say(fact(1))
    chatter.llm.queue.append(text)

    done = chatter.digested()

    assert chatter.memories() == [fact(1)]
    assert (len(chatter.llm.asked), done.usage.calls) == (2, 2)
    first, second = chatter.llm.asked
    assert second[: len(first)] == first
    assert "was not accepted" in second[-1]["content"]
    assert not [name for name in chatter.names(done.slot) if name.startswith(("tries", "dead"))]


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "<think>hm</think>\n{}"])
def test_an_answer_in_a_fence_or_behind_thoughts_is_taken(chatter, wrapped):
    chatter.say(fact(1))
    chatter.llm.queue.append(wrapped.replace("{}", answer(memory(fact(1)))))

    assert chatter.digested().usage.calls == 1
    assert chatter.memories() == [fact(1)]


@pytest.mark.parametrize("code", ["llm_contract", "llm_refused", "llm_empty", "llm_cut_off", "llm_timeout"])
def test_a_chunk_that_fails_three_times_is_kept_apart_and_does_not_hold_up_the_rest(chatter, code):
    poisoned(chatter, code)

    done = chatter.digested()

    assert chatter.memories() == [fact(0), fact(2)]
    assert (done.dead_letters, done.chunks, done.messages) == ([1], 3, 4)
    assert all(chatter.said(f"room-{number}") == [] for number in range(3))
    dead = digest_progress.read(chatter.process, DEAD_LETTER.key("demo", done.slot, 1), DeadLetter)
    assert (dead.room, dead.code) == ("room-1", code)
    assert [one.message.model_dump() for one in dead.messages] == [
        {"message_id": "m1", "author": "Zoé Martin", "content": fact(1), "timestamp": "2026-02-20T14:00:02.000Z"},
        {"message_id": "bad", "author": "Zoé Martin", "content": POISON, "timestamp": "2026-02-20T14:00:04.000Z"},
    ]
    tries = [name for name in chatter.names(done.slot) if name.startswith("tries/")]
    assert tries == ["tries/0001-1.json", "tries/0001-2.json", "tries/0001-3.json"]
    noted = digest_progress.read(chatter.process, FAILED_TRY.key("demo", done.slot, 1, 1), Try)
    assert noted.code == code
    assert noted.detail
    # Two calls a try where the contract is broken, else one.
    assert len(chatter.llm.asked) == 2 + 3 * (2 if code == "llm_contract" else 1)
    assert done.usage.calls == len(chatter.llm.asked)


def test_messages_that_do_not_fit_into_the_window_are_given_up_without_a_call():
    chatter = Chatter(llmaas_context_tokens=3_000)
    chatter.say("long " * 3_000)

    done = chatter.digested()

    assert done.dead_letters == [0]
    assert not chatter.llm.asked


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("llm_unreachable", None),
        ("llm_throttled", 429),
        ("llm_unavailable", 503),
        ("llm_refused_request", 401),
        ("llm_refused_request", 404),
        ("llm_not_configured", None),
        ("llm_key_unreadable", None),
        ("llm_malformed", None),
    ],
)
def test_an_outage_counts_no_try_and_the_digest_is_gone_on_with_when_it_is_over(chatter, code, status):
    chatter.say(fact(1))
    chatter.llm.default = lambda messages: (_ for _ in ()).throw(LlmError(code, "It is out.", status))

    for _ in range(5):
        (outcome,) = chatter.digest()
        assert (outcome.result, outcome.error) == ("waiting", code)
        chatter.world.clock.move(3_600)
    slot = outcome.slot or ""
    assert not [name for name in chatter.names(slot) if name.startswith(("tries", "dead"))]
    assert [one.content for one in chatter.said()] == [fact(1)]

    chatter.llm.default = notes_facts
    assert chatter.digest()[0].slot == slot
    assert chatter.memories() == [fact(1)]
    assert chatter.said() == []


def test_automatic_work_waits_after_an_outage_and_work_by_hand_does_not(chatter):
    chatter.say(fact(1))
    chatter.llm.queue.append(LlmError("llm_unreachable", "No connection."))
    slot = chatter.digest()[0].slot

    assert [(one.result, one.error) for one in chatter.digest()] == [("busy", "llm_unreachable")]
    found = digest_reading.load(chatter.process, "demo", slot)
    assert (found.status, found.error, found.messages, found.chunks, found.settled) == (
        "queued",
        "llm_unreachable",
        1,
        1,
        0,
    )
    assert chatter.digest(by_hand=True)[0].result == "done"


def test_a_wait_after_failures_is_over_when_the_next_hour_looks(chatter):
    chatter.say(fact(1))
    chatter.llm.default = lambda messages: (_ for _ in ()).throw(LlmError("llm_unavailable", "503"))
    for _ in range(9):
        assert chatter.digest()[0].result == "waiting"
        chatter.world.clock.move(3_590)


def test_a_model_that_never_answers_costs_one_try_of_a_few_chunks_an_hour(chatter):
    for number in range(6):
        chatter.say(fact(number), room=f"room-{number}")

    def hangs(messages):
        raise LlmError("llm_timeout", "The LLM did not answer within 600 s.")

    chatter.llm.default = hangs
    (outcome,) = chatter.digest()

    assert (outcome.result, outcome.error) == ("waiting", "llm_timeout")
    assert len(chatter.llm.asked) == 4
    chatter.llm.default = notes_facts
    chatter.world.clock.move(3_600)
    assert chatter.digest()[0].done.dead_letters == []
    assert len(chatter.memories()) == 6


def test_a_call_that_the_end_of_the_invocation_cut_short_is_no_try(chatter):
    chatter.say(fact(1))

    def slow(messages):
        chatter.world.pass_time(chatter.llm.timeouts[-1])
        raise LlmError("llm_timeout", "It took too long.")

    chatter.llm.default = slow
    (outcome,) = chatter.digest(seconds=120)

    assert (outcome.result, outcome.error) == ("waiting", "out_of_time")
    assert not [name for name in chatter.names(outcome.slot or "") if name.startswith("tries")]
    assert not chatter.world.queued


def test_what_is_left_at_the_end_of_an_invocation_goes_on_in_another_one(chatter):
    for number in range(12):
        chatter.say(fact(number), room=f"room-{number:02}")

    def slow(messages):
        chatter.world.pass_time(200)
        return notes_facts(messages)

    chatter.llm.default = slow
    (outcome,) = chatter.digest()

    assert outcome.result == "unfinished"
    assert len(chatter.world.queued) == 1
    chatter.world.settle()
    assert len(chatter.memories()) == 12
    assert len(chatter.llm.asked) == 12
    assert chatter.done(outcome.slot).usage.calls == 12


def test_the_days_budget_stops_it_and_counts_no_try():
    chatter = Chatter(llm_daily_token_budget_per_space=250)
    for number in range(6):
        chatter.say(fact(number), room=f"room-{number}")

    (outcome,) = chatter.digest()

    # The call that crosses the line is still made, and no other of its wave.
    assert (outcome.result, outcome.error, len(chatter.llm.asked)) == ("waiting", "token_budget_exhausted", 3)
    assert not [name for name in chatter.names(outcome.slot or "") if name.startswith(("tries", "dead"))]
    chatter.world.clock.move(24 * 3_600)
    assert chatter.digest()[0].result == "done"
    assert len(chatter.memories()) == 6


def test_by_hand_beside_another_worker_is_tried_again(chatter):
    chatter.say(fact(1))

    def meanwhile(messages):
        with pytest.raises(StillAtWork):
            chatter.digest(by_hand=True)
        return notes_facts(messages)

    chatter.llm.queue.append(meanwhile)
    assert chatter.digested().new == 1


def test_what_was_given_up_goes_back_and_is_digested_next_time(chatter):
    poisoned(chatter)
    slot = chatter.digested().slot
    assert [one.room for one in digest_reading.load(chatter.process, "demo", slot).given_up] == ["room-1"]
    chatter.llm.default = notes_facts
    chatter.world.clock.move(digest_work.WAIT.total_seconds() + 40)

    assert digest_work.retry(chatter.process, "demo", slot) == 2

    assert [one.content for one in chatter.said("room-1")] == [fact(1), POISON]
    assert digest_reading.load(chatter.process, "demo", slot).given_up == []
    assert chatter.digested().messages == 2
    assert chatter.memories() == [fact(0), fact(1), fact(2), POISON]
    assert chatter.said("room-1") == []
    assert digest_work.retry(chatter.process, "demo", slot) == 0


def test_what_was_given_up_goes_back_only_when_nobody_can_remove_it_any_more(chatter):
    poisoned(chatter)
    slot = chatter.digested().slot
    chatter.world.clock.move(60)

    with pytest.raises(Conflict) as refused:
        digest_work.retry(chatter.process, "demo", slot)
    assert -160 <= (refused.value.retry_after or 0) - digest_work.WAIT.total_seconds() <= 0
    assert len(digest_reading.load(chatter.process, "demo", slot).given_up) == 1


def test_a_retry_that_died_after_its_messages_were_digested_digests_none_twice(chatter):
    poisoned(chatter)
    slot = chatter.digested().slot
    dead = {k: v for k, v in chatter.world.inner.objects.items() if "/dead/" in k}
    chatter.llm.default = notes_facts
    chatter.world.clock.move(digest_work.WAIT.total_seconds() + 40)
    digest_work.retry(chatter.process, "demo", slot)
    chatter.world.inner.objects.update(dead)
    chatter.digested()
    chatter.world.clock.move(digest_work.WAIT.total_seconds() + 40)

    assert digest_work.retry(chatter.process, "demo", slot) == 0
    assert chatter.said("room-1") == []


def test_a_repeat_of_a_message_that_was_given_up_is_known(chatter):
    poisoned(chatter)
    chatter.digested()

    again = chatter.say(POISON, room="room-1", message_id="bad")

    assert (again.fresh, again.digested) == (False, True)
    assert chatter.said("room-1") == []


def test_a_digest_that_is_not_there_or_not_over_is_not_tried_anew(chatter):
    with pytest.raises(NotFound):
        digest_work.retry(chatter.process, "demo", "20260220T140000")
    chatter.say(fact(1))
    chatter.llm.queue.append(LlmError("llm_unavailable", "503"))
    slot = chatter.digest()[0].slot
    with pytest.raises(Conflict):
        digest_work.retry(chatter.process, "demo", slot)


def test_a_digest_that_waits_is_a_problem_of_the_space_until_it_is_done(chatter):
    chatter.say(fact(1))
    chatter.llm.queue.append(LlmError("llm_unavailable", "503"))
    chatter.digest()

    space = look_at_space(chatter.process, "demo")
    assert space
    (problem,) = maintenance.problems(chatter.process, space)
    assert (problem.code, problem.wrong) == ("digest_failing", True)
    assert "llm_unavailable" in problem.detail
    chatter.digest(by_hand=True)
    assert maintenance.problems(chatter.process, space) == []


def test_documents_are_removed_when_their_time_is_over_but_not_what_was_given_up(chatter):
    poisoned(chatter)
    with_dead = chatter.digested().slot
    chatter.llm.default = notes_facts
    chatter.world.clock.move(60)
    chatter.say("fact plain")
    plain = chatter.digested().slot
    chatter.world.clock.move(91 * 86_400)

    space = look_at_space(chatter.process, "demo", daily=True)
    assert space
    done = maintenance.maintain(chatter.process, space)

    assert done == {"room_ids_removed": 4, "digests_removed": 1}
    assert chatter.names(plain) == []
    assert "dead/0001.json" in chatter.names(with_dead)


def test_a_memory_that_the_store_refuses_is_counted_and_the_rest_is_stored(chatter, monkeypatch):
    from livemem.memories import storing

    chatter.say(fact(1))
    chatter.digested()
    monkeypatch.setattr(storing, "MOST", 1)
    chatter.world.clock.move(1)
    chatter.say("fact: a harbour has many ferries")

    done = chatter.digested()

    assert (done.new, done.refused) == (0, 1)


def test_queued_work_survives_a_function_service_that_is_out(chatter):
    chatter.say(fact(1))

    def refuse(function, payload):
        from livemem.errors import StoreUnavailable

        raise StoreUnavailable("Out.")

    chatter.world.process = chatter.world.with_parts(enqueue=refuse)
    digest_work.catch_up(chatter.process, "demo")
    assert digest_work.start_due(chatter.process, chatter.world.clock() + INVOCATION) == {}


def test_answers_are_asked_for_with_a_schema_that_providers_take_as_strict():
    from livemem.llm import contract
    from livemem.rooms.chunks import DigestAnswer

    schema = contract.schema(DigestAnswer)
    assert json.dumps(schema)
    assert schema["additionalProperties"] is False
    found = schema["$defs"]["ExtractedMemory"]
    assert sorted(found["required"]) == sorted(found["properties"])


def test_the_retry_of_a_digest_whose_worker_was_killed_fails_until_it_can_go_on(chatter):
    chatter.say(fact(1))

    def killed(messages):
        raise Killed

    chatter.llm.queue.append(killed)
    with pytest.raises(Killed):
        chatter.digest(delivery="event")
    chatter.world.new_process()
    first, second = (pause.total_seconds() for pause in timing.RETRIES)
    chatter.world.pass_time(first)
    with pytest.raises(StillAtWork):
        chatter.digest(delivery="event")
    assert [one.result for one in chatter.digest(delivery="another")] == ["busy"]
    chatter.world.pass_time(second)
    assert [one.result for one in chatter.digest(delivery="event")] == ["done"]
    assert chatter.memories() == [fact(1)]


def test_a_digest_that_fails_by_an_error_that_nobody_reckoned_with_keeps_no_retry_out(chatter):
    chatter.say(fact(1))

    def broken(messages):
        raise PydanticUserError("not fully defined", code="class-not-fully-defined")

    chatter.llm.queue.append(broken)
    with pytest.raises(PydanticUserError):
        chatter.digest(delivery="event")
    assert [one.result for one in chatter.digest(delivery="event")] == ["done"]


ALIKE = ["The api of team north keeps port 8080.", "The api of team south keeps port 9090."]


def one_for_each(messages):
    return answer(*(memory(one["content"], one["number"]) for one in shown(messages)))


def test_verdicts_in_a_digest_have_the_time_of_the_invocation(chatter):
    chatter.llm.default = one_for_each
    chatter.say_all(ALIKE)
    assert chatter.digested(seconds=200).new == 2
    assert chatter.llm.verdict_timeouts
    assert min(chatter.llm.verdict_timeouts) > 100


def test_a_model_that_takes_all_the_time_for_verdicts_holds_up_no_digest(chatter):
    def hang(seconds):
        chatter.world.pass_time(seconds)
        raise LlmError("llm_timeout", "It took too long.")

    chatter.llm.default = one_for_each
    chatter.llm.delay = hang
    for room in ("north", "south", "west"):
        chatter.say_all([f"{text} {room}" for text in ALIKE], room=room)
    results = []
    for _ in range(4):
        results += [one.result for one in chatter.digest(seconds=200)]
        chatter.world.clock.move(60)
    assert "done" in results
    assert len(chatter.memories()) == 6

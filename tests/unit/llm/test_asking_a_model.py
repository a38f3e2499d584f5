"""Asking a model under a contract: checked, corrected once, counted, and bounded by what time and budget leave."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.jobs import budget
from livemem.llm import answering, contract, window
from livemem.llm.answering import Answered, Contract, Flaw, NoAnswer, ask_model, corrected
from livemem.llm.client import LlmError, Messages, Reply
from livemem.llm.contract import Part
from livemem.llm.usage import Usage
from tests.support.cases import each
from tests.support.world import World

QUESTION = [{"role": "system", "content": "Count."}, {"role": "user", "content": "How many?"}]
ONE_CALL, TWO_CALLS = Usage(1, 100, 20), Usage(2, 200, 40)


class _Count(Part):
    """The answer of these tests."""

    count: int


def counted(text: str) -> int:
    return contract.parse(text, _Count).count


def too_high(count: int) -> list[Flaw]:
    return [Flaw("high", f"{count} is too high.", weight=count)] if count > 3 else []


WANTED = Contract(_Count, counted, too_high)


def says(count: object) -> str:
    return json.dumps({"count": count})


def asked(world: World, *script: Any, seconds: float = 600, wanted: Contract[int] = WANTED, **how) -> Answered[int]:
    world.llm.queue.extend(script)
    process = world.process
    with budget.metered(process, "demo", "Later.") as meter:
        return ask_model(process, meter, QUESTION, wanted, process.clock() + timedelta(seconds=seconds), **how)


def refusal(world: World, *script: object, **how) -> NoAnswer:
    with pytest.raises(NoAnswer) as refused:
        asked(world, *script, **how)
    return refused.value


def test_a_good_answer_takes_one_call():
    world = World()

    found = asked(world, says(2))

    assert found == Answered(2, (), ONE_CALL)
    assert world.llm.prompts == [QUESTION]
    assert world.llm.schemas == [contract.schema(_Count)]


@each(
    ("script", "value"),
    [
        (["No.", says(2)], 2),
        ([says(9), says(2)], 2),
        ([says(9), says(7)], 7),
        ([says(7), says(9)], 7),
        ([says(9), "No."], 9),
    ],
)
def test_an_answer_is_corrected_once_and_the_better_one_is_taken(script, value):
    world = World()

    found = asked(world, *script)

    assert (found.value, found.flaws, found.used) == (value, tuple(too_high(value)), TWO_CALLS)
    second = world.llm.prompts[1]
    assert second[:2] == QUESTION
    assert second[2]["content"] == script[0]
    assert ("not valid JSON" if script[0] == "No." else "is too high") in second[3]["content"]


def test_an_answer_that_breaks_the_contract_twice_is_none_and_both_calls_count():
    error = refusal(World(), "No.", says("many"))

    assert (error.code, error.used) == ("llm_contract", TWO_CALLS)
    assert "count" in error.detail, "what was wrong with the second one"


@pytest.mark.parametrize(("script", "value"), [([says(9)], 9), (["No."], None)])
def test_where_nothing_is_corrected_the_first_answer_stands_or_falls(script, value):
    world = World()

    if value is None:
        assert refusal(world, *script, corrects=False).code == "llm_contract"
    else:
        assert asked(world, *script, corrects=False).value == value
    assert len(world.llm.prompts) == 1


def test_a_correction_that_fails_leaves_the_first_answer_or_is_told_with_what_was_used():
    down = LlmError("llm_refused_request", "No.", 422)

    assert asked(World(), says(9), down) == Answered(9, tuple(too_high(9)), Usage(2, 100, 20))
    error = refusal(World(), "No.", down)
    assert (error.code, error.http_status, error.used) == ("llm_refused_request", 422, Usage(2, 100, 20))


@each(
    ("seconds", "setting", "code"),
    [(30, 600, "out_of_time"), (601, 600, "llm_timeout"), (30, 20, "llm_timeout")],
    ids=["the invocation was short", "the model was slow", "so it was"],
)
def test_a_timeout_is_told_from_an_invocation_that_had_no_more_time(seconds, setting, code):
    world = World(llm_timeout_seconds=setting)

    error = refusal(world, LlmError("llm_timeout", "Slow."), seconds=seconds)

    assert (error.code, error.used.calls) == (code, 1)
    assert error.used.estimated_tokens == window.size(QUESTION)
    assert world.llm.limits[0][1] == min(seconds, setting)


def test_nothing_is_asked_without_time_or_room_for_the_answer():
    world = World()
    room = world.process.settings.llmaas_context_tokens - window.size(QUESTION)

    late = refusal(world, seconds=answering.SHORTEST_ASK - 1)
    large = refusal(world, wanted=Contract(_Count, counted, answer_tokens=room + 1))

    assert [(one.code, one.used) for one in (late, large)] == [("out_of_time", Usage()), ("llm_window", Usage())]
    assert not world.llm.prompts
    assert asked(world, says(1), wanted=Contract(_Count, counted, answer_tokens=room)).value == 1


@pytest.mark.parametrize(("first", "value"), [(says(9), 9), ("No.", None)])
def test_a_correction_that_the_budget_forbids_leaves_the_first_answer(first, value):
    world = World(llm_daily_token_budget_per_space=10_000)
    answer = world.llm

    def beside(*question):
        # While it answers, another one uses the tokens up.
        with budget.metered(world.with_parts(), "demo", "Later.") as other:
            other.before_call(100, 100, 60)
            other.answered(Reply("", {"prompt_tokens": 10_000}))
        return answer(*question)

    process, until = world.with_parts(ask=beside), world.clock() + timedelta(seconds=600)
    answer.queue.append(first)
    with budget.metered(process, "demo", "Later.") as meter:
        if value is None:
            with pytest.raises(NoAnswer) as refused:
                ask_model(process, meter, QUESTION, WANTED, until)
            assert (refused.value.code, refused.value.used) == (budget.EXHAUSTED, ONE_CALL)
        else:
            assert ask_model(process, meter, QUESTION, WANTED, until).value == value
    assert len(world.llm.prompts) == 1


@given(st.text(), st.text())
@example("half \ud83d of a pair", "$problem ${x}")
def test_a_correction_shows_the_answer_and_the_problem_and_can_be_sent(answer: str, problem: str):
    again = corrected(QUESTION, answer or "x", problem, most=1_000_000)

    assert again is not None
    assert again[:2] == QUESTION
    assert [message["role"] for message in again[2:]] == ["assistant", "user"]
    assert problem in again[3]["content"]
    assert again[2]["content"] == (answer or "x").encode(errors="replace").decode()
    json.dumps(again, ensure_ascii=False).encode()
    assert window.size(again) > window.size(QUESTION)


@each("most", [2_050, 2_300, 3_600, 20_000, 100_000])
def test_a_correction_fits_the_window_and_leaves_room_for_the_new_answer(most: int):
    messages: Messages = QUESTION

    again = corrected(messages, "\U0001f98a" * 100_000, "problem", most=most)

    if again is None:
        assert most - window.size(messages) < window.ANSWER_TOKENS + 200
    else:
        assert window.size(again) + window.ANSWER_TOKENS <= most
        assert most - window.size(again) >= window.tokens(again[2]["content"]) - 1
        assert "\ufffd" not in again[2]["content"]


def test_each_call_has_one_log_line_in_opentelemetrys_names_and_without_a_text(caplog: pytest.LogCaptureFixture):
    world = World(llmaas_model="m-1", llmaas_max_tokens=900)

    with caplog.at_level("INFO", logger="livemem.llm.answering"):
        asked(world, "secret words", says(2))
        refusal(world, LlmError("llm_throttled", "Slow down.", 429))

    lines = [{key: one for key, one in vars(record).items() if "." in key} for record in caplog.records]
    good = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.request.max_tokens": 900,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.client.operation.duration": 0.0,
    }
    used = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
    failed = {key: one for key, one in good.items() if key not in used} | {"error.type": "llm_throttled"}
    assert lines == [good, good, failed]
    assert "secret words" not in str([vars(record) for record in caplog.records])

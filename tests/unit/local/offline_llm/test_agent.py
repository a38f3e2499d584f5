"""The offline LLM as an agent: through the real questions, and on its own."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.ask import tools as real
from livemem.llm.tool_calling import Call, Thread, Tool, ToolReply
from livemem.memories import reading
from local.offline_llm.agent import next_calls
from local.offline_llm.api import ApiError
from local.offline_llm.chat import complete_chat
from tests.support.asking import Asking
from tests.support.cases import each


def body(messages: Any, tools: Sequence[Tool], **more: Any) -> dict[str, Any]:
    offered = [
        {"type": "function", "function": {"name": one.name, "description": "", "parameters": dict(one.parameters)}}
        for one in tools
    ]
    return {"model": "offline-rules", "messages": messages, "tools": offered, **more}


def offline(messages: Thread, tools: Sequence[Tool], max_tokens: int | None, timeout: float, **more: Any) -> ToolReply:
    found = complete_chat(body(messages, tools))
    choice = found["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    told = list(choice["message"]["tool_calls"])
    calls = [Call(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in told]
    return ToolReply("", tuple(calls), {"prompt_tokens": 1, "completion_tokens": 1})


@pytest.fixture
def asking() -> Asking:
    found = Asking()
    found.world.agent = offline  # type: ignore[assignment]
    return found


def names(asked: Any) -> list[str]:
    return [one.name for one in asked.calls()]


def test_it_answers_with_sentences_of_what_it_found_and_names_them(asking: Asking):
    memory_id = asking.remember("Ines looks after the ferry timetable. She lives in Kiel.")
    asking.remember("Bread is baked on Mondays.")

    asked = asking.ask("Who looks after the ferry timetable?")

    assert (
        asked.answer.message == "No language model: fixed rules. Lines that fit: Ines looks after the ferry timetable."
    )
    assert [one.id for one in asked.answer.sources] == [memory_id]
    assert names(asked) == ["search_memories", "respond"]


def test_the_sentence_with_most_words_of_the_question_comes_first_and_one_with_half_of_them_not_at_all(asking: Asking):
    asking.remember("Two letters of the reminder are printed on paper.")
    asking.remember("Letters were squares in the dark.")
    asking.remember("Printed letters were squares, since Helvetica was not embedded.")

    said = asking.ask("Why were printed letters squares on paper?").answer.message.partition("fit: ")[2]

    assert said.startswith("Printed letters were squares, since Helvetica was not embedded.")
    assert asking.ask("Which Helvetica was embedded?").answer.message.endswith(
        "fit: Printed letters were squares, since Helvetica was not embedded."
    )


def test_it_answers_in_french_where_it_is_asked_in_french(asking: Asking):
    asking.remember("Inès s'occupe des horaires du ferry.")

    assert asking.ask("Qui s'occupe des horaires du ferry ?").answer.message == (
        "Pas de modèle de langue. Lignes : Inès s'occupe des horaires du ferry."
    )
    assert asking.ask("Où est le phare de Brest ?").answer.message == "Je n'ai rien trouvé à ce sujet en mémoire."


def test_where_memories_have_nothing_it_looks_into_notes_and_conversations_and_says_if_there_is_nothing(asking: Asking):
    asked = asking.ask("Which crane broke?")

    assert names(asked)[:3] == ["search_memories", "search_notes", "search_conversations"]
    assert asked.answer.message == "I found nothing about that in memory."
    asking.world.note("The third crane broke on Monday.")

    again = asking.ask("Which crane broke?")

    assert again.answer.message == "No language model: fixed rules. Lines that fit: The third crane broke on Monday."
    assert [one.kind for one in again.answer.sources] == ["note"]


@pytest.mark.parametrize(
    ("message", "content", "subjects", "answer"),
    [
        ("Remember that Jonas sails the Merle.", "Jonas sails the Merle.", ["jonas", "merle"], "I will remember that."),
        ("Please note: the ferry is blue", "The ferry is blue", [], "I will remember that."),
        ("Retiens que Zoé habite à Brest.", "Zoé habite à Brest.", ["zoé", "brest"], "Je m'en souviendrai."),
        ("Souviens-toi qu'Élie part lundi.", "Élie part lundi.", ["élie"], "Je m'en souviendrai."),
    ],
)
def test_what_it_is_told_to_remember_it_stores(asking: Asking, message: str, content: str, subjects, answer: str):
    asked = asking.ask(message, expression=True)

    (memory,) = reading.all_of(asking.process, "demo", "fact")
    assert (memory.content, memory.subjects) == (content, subjects)
    assert (asked.answer.message, asked.answer.expression) == (answer, "happy")
    assert [one.id for one in asked.answer.sources] == [memory.memory_id]


@pytest.mark.parametrize(
    "message", ["Do you remember that Jonas sails?", "Te souviens-tu de Jonas ?", "Show me the note on Jonas."]
)
def test_what_only_asks_stores_nothing(asking: Asking, message: str):
    asking.ask(message)

    assert asking.names("memories/") == []


def test_it_forgets_nothing(asking: Asking):
    kept = asking.remember("The ferry is blue.")

    asked = asking.ask("Forget that the ferry is blue because it sank.")

    assert "delete_memory" not in names(asked)
    assert [one.memory_id for one in reading.all_of(asking.process, "demo", "fact")] == [kept]


def test_what_it_may_not_store_it_says(asking: Asking):
    stored = asking.ask("Remember that Kiel has cranes.", may_write=False)

    assert stored.answer.message == "I may not change memories here."
    assert asking.names("memories/") == []


def test_the_same_question_gets_the_same_answer():
    messages = [{"role": "user", "content": "Who looks after it?"}]
    offered = real.offered(may_write=True, only_respond=False)

    first, second = (complete_chat(body(messages, offered))["choices"] for _ in range(2))

    assert first == second


def test_where_only_the_answer_is_left_it_gives_that():
    offered = real.offered(may_write=True, only_respond=True)

    found = complete_chat(body([{"role": "user", "content": "Remember that it rains."}], offered))

    (call,) = found["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "respond"


def test_an_answer_that_is_longer_than_it_may_be_is_cut_off():
    offered = real.offered(may_write=True, only_respond=True)

    found = complete_chat(body([{"role": "user", "content": "x"}], offered, max_tokens=2))

    assert found["choices"][0]["finish_reason"] == "length"


@each("tools", ["x", [1], [{"function": {}}], [{"function": {"name": "search"}}]])
def test_tools_that_are_none_are_refused(tools: Any):
    with pytest.raises(ApiError):
        complete_chat({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools})


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "stored", "id", "text", "score", "error", "name"]), inner)
    ),
    max_leaves=8,
)


@given(st.text(max_size=200), st.sampled_from(list(real.OFFERS)), JSON, JSON)
def test_whatever_it_is_given_it_answers_with_a_call_of_what_is_offered(
    question: str, name: str, result: Any, call: Any
):
    offered = real.offered(may_write=True, only_respond=False)
    called = [{"id": "a", "function": {"name": name}}, call]
    messages: list[Any] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": called},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps(result)},
    ]

    calls = next_calls(messages, [one.name for one in offered])

    assert calls
    assert {one[0] for one in calls} <= set(real.OFFERS)
    for one in calls:
        json.dumps(one[1])

"""The offline LLM as an agent: through the real questions, and on its own."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.ask import tools as real
from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
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
    found = complete_chat(body(messages, tools), "c", 0)
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

    assert asked.answer.message == "From what I know: Ines looks after the ferry timetable."
    assert [one.id for one in asked.answer.sources] == [memory_id]
    assert names(asked) == ["search_memories", "respond"]


def test_it_answers_in_french_where_it_is_asked_in_french(asking: Asking):
    asking.remember("Inès s'occupe des horaires du ferry.")

    assert asking.ask("Qui s'occupe des horaires du ferry ?").answer.message == (
        "D'après ce que je sais : Inès s'occupe des horaires du ferry."
    )
    assert asking.ask("Où est le phare de Brest ?").answer.message == "Je n'ai rien trouvé à ce sujet en mémoire."


def test_where_memories_have_nothing_it_looks_into_notes_and_conversations_and_says_if_there_is_nothing(asking: Asking):
    asked = asking.ask("Which crane broke?")

    assert names(asked) == ["search_memories", "search_notes", "search_conversations", "respond"]
    assert asked.answer.message == "I found nothing about that in memory."
    asking.world.note("The third crane broke on Monday.")

    again = asking.ask("Which crane broke?")

    assert again.answer.message == "From what I know: The third crane broke on Monday."
    assert [one.kind for one in again.answer.sources] == ["note"]


def test_the_words_of_a_question_suggest_where_it_looks_first(asking: Asking):
    begun = conversations.create(asking.process, "demo", "bob", NewConversation())
    log.append(asking.process, "demo", begun.conversation_id, "bob", Draft("", "The crane costs nine million."))

    said = asking.ask("What was said about the crane?")
    decided = asking.ask("What was decided in the notes?")
    who = asking.ask("Qui es-tu, et quels sont tes objectifs ?")

    assert names(said)[:2] == ["search_memories", "search_conversations"]
    assert "nine million" in said.answer.message
    assert names(decided)[:2] == ["search_memories", "search_notes"]
    assert names(who)[:3] == ["search_memories", "search_self", "search_goals"]


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


def test_what_holds_for_a_while_is_stored_for_a_while(asking: Asking):
    asking.ask("Remember that the lift is out of order for 3 days.")

    (memory,) = reading.all_of(asking.process, "demo", "fact")
    assert memory.expires_at == "2026-02-23T14:00:00.000Z"


@pytest.mark.parametrize(
    "message", ["Do you remember that Jonas sails?", "Te souviens-tu de Jonas ?", "Show me the note on Jonas."]
)
def test_what_only_asks_stores_nothing(asking: Asking, message: str):
    asking.ask(message)

    assert asking.names("memories/") == []


def test_it_forgets_only_with_a_reason_that_is_in_the_message(asking: Asking):
    asking.remember("The ferry is blue.")
    kept = asking.remember("Ines bakes bread.")

    asked = asking.ask("Forget that the ferry is blue.")
    assert asked.answer.message == "I only delete a memory with a reason: say why."
    assert names(asked) == ["respond"]

    gone = asking.ask("Oublie que the ferry est blue parce qu'il est vert maintenant.")

    assert gone.answer.message == "Je l'ai oublié."
    deleted = next(one for one in gone.calls() if one.name == "delete_memory")
    assert deleted.arguments["reason"] == "il est vert maintenant."
    assert [one.memory_id for one in reading.all_of(asking.process, "demo", "fact")] == [kept]


def test_what_it_may_not_do_it_says(asking: Asking):
    asking.remember("The ferry is blue.")
    bobs = asking.remember("The tower is red.", author="bob")

    stored = asking.ask("Remember that Kiel has cranes.", may_write=False)
    forgotten = asking.ask("Forget the ferry because it sank.", may_write=False)
    refused = asking.ask("Forget the tower because it fell.")

    assert stored.answer.message == forgotten.answer.message == "I may not change memories here."
    assert refused.answer.message.startswith("I could not delete that: ")
    assert bobs in [one.memory_id for one in reading.all_of(asking.process, "demo", "fact")]


def test_the_same_question_gets_the_same_answer():
    messages = [{"role": "user", "content": "Who looks after it?"}]
    offered = real.offered(may_write=True, only_respond=False)

    first, second = (complete_chat(body(messages, offered), "c", 0) for _ in range(2))

    assert first == second


def test_where_only_the_answer_is_left_it_gives_that():
    offered = real.offered(may_write=True, only_respond=True)

    found = complete_chat(body([{"role": "user", "content": "Remember that it rains."}], offered), "c", 0)

    (call,) = found["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "respond"


def test_an_answer_that_is_longer_than_it_may_be_is_cut_off():
    offered = real.offered(may_write=True, only_respond=True)

    found = complete_chat(body([{"role": "user", "content": "x"}], offered, max_tokens=2), "c", 0)

    assert found["choices"][0]["finish_reason"] == "length"


@each("tools", ["x", [1], [{"function": {}}], [{"function": {"name": "search"}}]])
def test_tools_that_are_none_are_refused(tools: Any):
    with pytest.raises(ApiError):
        complete_chat({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools}, "c", 0)


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

    calls = next_calls(messages, body([], offered)["tools"])

    assert calls
    assert {one[0] for one in calls} <= set(real.OFFERS)
    for one in calls:
        json.dumps(one[1])

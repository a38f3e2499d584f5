from tests.support.agent import calls, responds, results
from tests.support.asking import Asking


def test_a_question_is_answered_from_what_a_tool_has_shown():
    asking = Asking()
    memory_id = asking.remember("Ines looks after the ferry timetable.")
    asking.script(calls(("search_memories", {"query": "ferry timetable"})), responds("Ines.", "happy", [memory_id]))

    asked = asking.ask()

    assert asked.status == "done"
    assert (asked.answer.message, asked.answer.expression) == ("Ines.", "happy")
    assert [(one.kind, one.id, one.excerpt) for one in asked.answer.sources] == [
        ("fact", memory_id, "Ines looks after the ferry timetable.")
    ]
    assert results(asking.agent.asked[1])[0]["results"][0]["text"] == "Ines looks after the ferry timetable."
    assert [(one.name, one.arguments, one.count, one.error) for one in asked.calls()] == [
        ("search_memories", {"query": "ferry timetable"}, 1, None),
        ("respond", {"expression": "happy", "message": "Ines.", "sources": [memory_id]}, 0, None),
    ]
    assert (asked.usage.calls, asked.usage.prompt_tokens, asked.usage.completion_tokens) == (2, 200, 40)

import json
from typing import Any

import pytest
from pydantic import ValidationError

from livemem.ask import question as questions
from livemem.llm.client import LlmError
from livemem_http.views.ask import NewQuestion
from livemem_http.views.jobs import JobView
from tests.support.agent import calls, responds
from tests.support.asking import Asking


def shown(asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(JobView.of(questions.of_question(asked)).model_dump_json())
    return found


def test_an_answered_question_is_shown_with_what_it_rests_on_and_what_was_called():
    asking = Asking()
    memory_id = asking.remember("Ines looks after the ferry.")
    asking.script(
        calls(("search_memories", {"query": "ferry"}), ("nothing", "{")), responds("Ines.", "happy", [memory_id])
    )
    asked = asking.ask()

    result = {
        "kind": "question",
        "question": "Who looks after it?",
        "user": "ann",
        "message": "Ines.",
        "sources": [
            {"kind": "fact", "id": memory_id, "excerpt": "Ines looks after the ferry.", "at": asked.created_at}
        ],
        "tool_calls": [
            {"name": "search_memories", "arguments": {"query": "ferry"}, "results": 1, "ms": 0},
            {
                "name": "nothing",
                "arguments": "{",
                "results": 0,
                "ms": 0,
                "error": shown(asked)["result"]["tool_calls"][1]["error"],
            },
            {
                "name": "respond",
                "arguments": {"message": "Ines.", "sources": [memory_id]},
                "results": 0,
                "ms": 0,
            },
        ],
        "session": asked.conversation_id,
    }
    assert shown(asked) == {
        "job": f"demo.question.{asked.job_id}",
        "kind": "question",
        "space_id": "demo",
        "subject": asked.conversation_id,
        "status": "done",
        "usage": {
            "calls": 2,
            "prompt_tokens": 200,
            "completion_tokens": 40,
            "estimated_tokens": 0,
            "prompts_cut": 0,
        },
        "created_at": "2026-02-20T14:00:00.000Z",
        "started_at": "2026-02-20T14:00:00.000Z",
        "ended_at": "2026-02-20T14:00:00.000Z",
        "result": result,
    }


def test_a_question_that_failed_tells_why_and_one_that_goes_on_has_no_answer():
    asking = Asking()
    asking.script(LlmError("llm_unavailable", "It answered with 503."))
    failed = shown(asking.ask())
    asking.script(LlmError("llm_timeout", "Slow."))
    goes_on = shown(asking.ask())

    assert (failed["status"], failed["error"]) == (
        "failed",
        {"code": "llm_unavailable", "detail": "It answered with 503."},
    )
    assert goes_on["status"] == "running"
    assert not {"message", "expression", "sources", "error", "ended_at"} & {**goes_on, **goes_on["result"]}.keys()


def test_a_misspelt_field_of_a_question_is_an_error():
    assert NewQuestion(message="Who?").wanted().user is None
    with pytest.raises(ValidationError):
        NewQuestion.model_validate({"message": "Who?", "sesion": "x"})

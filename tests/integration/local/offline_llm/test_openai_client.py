"""The offline LLM as any OpenAI client sees it: the real server on loopback, the real `openai` package."""

import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from local.front.httpd import Server
from local.offline_llm.server import base_url
from tests.support.cases import each
from tests.unit.local.offline_llm.support import STANDARD, fold, make_note, prompt

NOTES = [make_note(1, "decision", "Use S3 alone."), make_note(2, "todo", "Write the guide.\u2028Soon.")]
BANK = {"progress.md": "# Progress\n\n## What works\n\n- All. ✓\n"}
PROMPT = prompt(STANDARD, BANK, NOTES)


def ask(client: Any, content: Any = PROMPT, **more: Any) -> Any:
    messages = [{"role": "system", "content": "You keep a bank."}, {"role": "user", "content": content}]
    return client.chat.completions.create(**{"model": "any", "messages": messages, **more})


def post(server: Server, path: str, data: bytes | None, method: str = "POST") -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(base_url(server) + path, data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_completion_in_json_mode_holds_the_answer_of_the_fold(client: Any) -> None:
    completion = ask(client, response_format={"type": "json_object"}, temperature=0.3, max_tokens=100_000)
    assert json.loads(completion.choices[0].message.content) == fold(STANDARD, BANK, NOTES)
    assert completion.choices[0].finish_reason == "stop"
    assert completion.model == "offline-rules"
    assert completion.object == "chat.completion"


def test_usage_counts_prompt_and_answer(client: Any) -> None:
    completion = ask(client)
    usage = completion.usage
    assert usage.prompt_tokens >= len(PROMPT) // 4
    assert usage.completion_tokens == -(-len(completion.choices[0].message.content) // 4)
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_an_answer_beyond_max_tokens_is_cut_and_says_so(client: Any) -> None:
    completion = ask(client, max_tokens=10)
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage.completion_tokens == 10


def test_a_content_in_parts_is_understood(client: Any) -> None:
    whole = ask(client).choices[0].message.content
    parts = ask(client, [{"type": "text", "text": PROMPT}]).choices[0].message.content
    assert parts == whole


def test_a_retry_is_answered_from_the_first_user_message(client: Any) -> None:
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": "Your answer was not JSON."},
    ]
    assert ask(client, messages=messages).choices[0].message.content == ask(client).choices[0].message.content


def test_models_are_listed(client: Any) -> None:
    assert [model.id for model in client.models.list()] == ["offline-rules", "offline-fuse"]


@each(
    ("more", "param"),
    [
        ({"messages": [{"role": "user", "content": "Hello!"}]}, "messages"),
        ({"messages": [{"role": "system", "content": PROMPT}]}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages"),
        ({"messages": ["x"]}, "messages"),
        ({"stream": True}, "stream"),
    ],
)
def test_what_it_cannot_answer_is_a_400_that_names_the_parameter(client: Any, more: dict[str, Any], param: str) -> None:
    import openai

    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, **more)
    assert caught.value.param == param
    assert caught.value.type == "invalid_request_error"


@each(
    ("name", "value"),
    [
        ("Rules", "5"),
        ("Bank files", "[]"),
        ("Bank files", '{"a.md": 1}'),
        ("Live notes", "{}"),
        ("Live notes", '[["1", "", "", "", "x"]]'),
        ("Live notes", "[[1]]"),
        ("Live notes", "[" * 100_000),
        ("Bank files", None),
    ],
)
def test_a_prompt_of_another_form_is_a_400(client: Any, name: str, value: str | None) -> None:
    values = {"Rules": '"Be brief."', "Bank files": "{}", "Live notes": "[]", name: value}
    import openai

    with pytest.raises(openai.BadRequestError, match="offline-rules only answers"):
        ask(client, "\n".join(f"# {heading}\n{text}" for heading, text in values.items() if text))


def test_a_malformed_note_is_folded_as_plain_text(client: Any) -> None:
    note = '[[4, null, 7, [], "Odd.", {"tags": "x"}]]'
    content = ask(client, f'# Rules\n"Be brief."\n# Bank files\n{{}}\n# Live notes\n{note}').choices[0].message.content
    assert "- Odd. (undated)" in json.loads(content)["bank_files"][0]["edits"][0]["content"]


@each(
    ("path", "data", "method", "status"),
    [
        ("/chat/completions", b"{", "POST", 400),
        ("/chat/completions", b"[" * 100_000, "POST", 400),
        ("/chat/completions", b"\xff", "POST", 400),
        ("/chat/completions", b"[]", "POST", 400),
        ("/chat/completions", None, "GET", 404),
        ("/models", b"{}", "POST", 404),
        ("/nothing", None, "GET", 404),
        ("/nothing", b"{}", "POST", 404),
    ],
)
def test_bad_requests_get_an_openai_error_object(
    server: Server, path: str, data: bytes | None, method: str, status: int
) -> None:
    found, body = post(server, path, data, method)
    assert found == status
    assert set(body["error"]) == {"message", "type", "param", "code"}
    # And the server goes on.
    assert post(server, "/models", None, "GET")[0] == 200


def test_requests_are_answered_side_by_side(client: Any) -> None:
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(client).model)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["offline-rules"] * 6

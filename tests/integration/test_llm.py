"""The LLM client against a real HTTP server: each failure becomes its own code, and nothing is asked twice."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from livemem.llm import client as llm
from livemem.llm.client import LlmError, Reply
from livemem.settings import Settings
from tests.support.llm_server import (
    LlmServer,
    Step,
    answer,
    completion,
    hang_up,
    hang_up_half_way,
    not_http,
    serving,
    silent,
    trickling,
    unused_url,
)

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fold — 🦊"}]


def ask(url: str | None, *, max_tokens: int | None = 500, timeout: float = 10, **settings: Any) -> Reply:
    found = Settings(**{"llmaas_api_url": url, "llmaas_api_key": "secret-key", "llmaas_model": "m-1"} | settings)
    return llm.connect(found)(MESSAGES, max_tokens, timeout)


def test_a_reply_is_the_models_text_and_the_providers_count_of_tokens():
    with serving(answer(completion('{"text": "gefaltet — 🦊"}'))) as server:
        reply = ask(server.url)

    assert reply == Reply('{"text": "gefaltet — 🦊"}', {"prompt_tokens": 11, "completion_tokens": 7})


def test_the_request_is_the_plain_openai_one():
    with serving() as server:
        ask(server.url)

    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == "Bearer secret-key"
    assert asked.body == {
        "model": "m-1",
        "messages": MESSAGES,
        "max_tokens": 500,
        "temperature": 0.3,
        "response_format": {"type": "json_object"},
    }


def test_parameters_whose_setting_is_empty_are_left_out_for_providers_that_refuse_them():
    with serving() as server:
        ask(server.url, max_tokens=None, llmaas_temperature="", llmaas_json_mode="", llmaas_max_tokens="")

    assert server.asked[0].body == {"model": "m-1", "messages": MESSAGES}


def test_a_temperature_of_zero_is_sent():
    with serving() as server:
        ask(server.url, llmaas_temperature=0)

    assert server.asked[0].body["temperature"] == 0


def test_without_a_key_something_harmless_is_sent_and_never_another_services_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-something-else")
    with serving() as server:
        ask(server.url, llmaas_api_key="")

    assert server.asked[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, {}),
        ({}, {}),
        ({"prompt_tokens": "many"}, {}),
        ({"prompt_tokens": None, "completion_tokens": 3}, {"completion_tokens": 3}),
    ],
)
def test_usage_that_a_provider_leaves_out_is_left_out(usage: Any, counted: dict[str, int]):
    with serving(answer(completion(usage=usage))) as server:
        assert ask(server.url).usage == counted


def choice(**changes: Any) -> Step:
    return answer(completion(**changes))


REFUSAL = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
FAILURES: dict[str, tuple[Step, str]] = {
    "400": (answer({"error": {"message": "bad"}}, 400), "llm_refused_request"),
    "401": (answer({"error": {"message": "bad key"}}, 401), "llm_refused_request"),
    "404 of a wrong address": (answer(b"<html>Not Found</html>", 404, "text/html"), "llm_refused_request"),
    "413": (answer(b"", 413), "llm_refused_request"),
    "429": (answer({"error": {"message": "slow down"}}, 429), "llm_throttled"),
    "500": (answer({"error": {"message": "oops"}}, 500), "llm_unavailable"),
    "502 of a gateway": (answer(b"<html>Bad Gateway</html>", 502, "text/html"), "llm_unavailable"),
    "503": (answer(b"", 503), "llm_unavailable"),
    "529": (answer(b"overloaded", 529, "text/plain"), "llm_unavailable"),
    "hangs up": (hang_up, "llm_unreachable"),
    "hangs up half way": (hang_up_half_way, "llm_unreachable"),
    "speaks another protocol": (not_http, "llm_unreachable"),
    "html with status 200": (answer(b"<html>Welcome to nginx</html>", 200, "text/html"), "llm_malformed"),
    "no JSON": (answer(b"{", 200), "llm_malformed"),
    "empty body": (answer(b"", 200), "llm_malformed"),
    "null": (answer(b"null", 200), "llm_malformed"),
    "an array": (answer([], 200), "llm_malformed"),
    "a string": (answer(b'"ok"', 200), "llm_malformed"),
    "a number": (answer(b"1", 200), "llm_malformed"),
    "an error in a 200": (answer({"error": {"message": "quota"}}, 200), "llm_empty"),
    "no choices": (choice(choices=[]), "llm_empty"),
    "choices null": (choice(choices=None), "llm_empty"),
    "choices of another type": (choice(choices=7), "llm_malformed"),
    "choices of strings": (choice(choices=["{}"]), "llm_malformed"),
    "no message": (choice(message=None), "llm_malformed"),
    "a refusal": (choice(message=REFUSAL), "llm_refused"),
    "content null": (choice(content=None), "llm_empty"),
    "content empty": (choice(content=""), "llm_empty"),
    "content blank": (choice(content=" \n"), "llm_empty"),
    "content of parts": (choice(content=[{"type": "text", "text": "{}"}]), "llm_empty"),
    "cut off by length": (choice(finish_reason="length"), "llm_cut_off"),
    "cut off by a filter": (choice(finish_reason="content_filter"), "llm_cut_off"),
    "calls a tool": (choice(finish_reason="tool_calls"), "llm_cut_off"),
    "finish reason null": (choice(finish_reason=None), "llm_cut_off"),
    "cut off before the first character": (choice(content="", finish_reason="length"), "llm_cut_off"),
}


@pytest.mark.parametrize(("step", "code"), FAILURES.values(), ids=FAILURES)
def test_each_failure_has_its_code_is_asked_once_and_repeats_nothing_of_the_provider(step: Step, code: str):
    with serving(step) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.code == code
    assert len(server.asked) == 1
    # The detail is for users: what the provider said, its address and the key are not.
    leaks = ("secret-key", "quota", "oops", "nginx", "127.0.0.1", "SSH", "can't help")
    assert not [word for word in leaks if word in failed.value.detail]
    assert failed.value.detail.endswith(".")


def test_a_reason_for_stopping_is_shown_cut_short():
    with serving(choice(finish_reason="x" * 1_000)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert len(failed.value.detail) < 120


def test_a_model_that_says_nothing_in_time_is_a_timeout():
    with serving() as server:
        server.script.append(silent(server))
        with pytest.raises(LlmError) as failed:
            ask(server.url, timeout=0.2)
        asked = len(server.asked)

    assert (failed.value.code, asked) == ("llm_timeout", 1)


def test_an_answer_that_trickles_beyond_the_time_is_a_timeout():
    with serving() as server:
        server.script.append(trickling(server, seconds=5))
        with pytest.raises(LlmError) as failed:
            ask(server.url, timeout=0.3)

    assert failed.value.code == "llm_timeout"


def test_nobody_listening_is_unreachable():
    with pytest.raises(LlmError) as failed:
        ask(unused_url())

    assert failed.value.code == "llm_unreachable"


@pytest.mark.parametrize("url", ["not a url", "http://", "ftp://127.0.0.1/v1", "http://127.0.0.1:99999/v1"])
def test_an_address_that_is_none_is_an_llm_error(url: str):
    with pytest.raises(LlmError) as failed:
        ask(url)

    assert failed.value.code == "llm_unreachable"


def test_without_an_address_nothing_is_configured():
    with pytest.raises(LlmError) as failed:
        ask(None)

    assert failed.value.code == "llm_not_configured"


def test_an_answer_with_half_a_surrogate_pair_is_left_to_the_check_of_the_contract():
    body = json.dumps(completion("half a pair: \ud83d")).encode()
    with serving(answer(body)) as server:
        assert ask(server.url).text == "half a pair: \ud83d"


REACHABLE: dict[str, tuple[Callable[[LlmServer], Step], bool]] = {
    "200": (lambda server: answer({"data": []}), True),
    "401": (lambda server: answer(b"", 401), True),
    "404": (lambda server: answer(b"", 404), True),
    "500": (lambda server: answer(b"", 500), False),
    "503": (lambda server: answer(b"", 503), False),
    "hangs up": (lambda server: hang_up, False),
    "speaks another protocol": (lambda server: not_http, False),
    "says nothing": (silent, False),
}


@pytest.mark.parametrize(("step", "reachable"), REACHABLE.values(), ids=REACHABLE)
def test_an_llm_is_reachable_when_it_answers_in_http_without_a_server_error(
    step: Callable[[LlmServer], Step], reachable: bool
):
    with serving() as server:
        server.script.append(step(server))
        assert llm.reachable(Settings(llmaas_api_url=server.url, llmaas_api_key="secret-key"), timeout=0.2) is reachable
        assert [(asked.method, asked.path) for asked in server.asked] == [("GET", "/v1/models")]
        assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("url", [None, "not a url", "http://", "http://127.0.0.1:99999/v1"])
def test_an_address_that_is_none_is_not_reachable(url: str | None):
    assert llm.reachable(Settings(llmaas_api_url=url)) is False


def test_nobody_listening_is_not_reachable():
    assert llm.reachable(Settings(llmaas_api_url=unused_url())) is False

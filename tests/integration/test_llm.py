"""The LLM client against a real HTTP server: each failure becomes its own code, and nothing is asked twice."""

import json
import ssl
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from livemem.llm import advice as advices
from livemem.llm import client as llm
from livemem.llm import look as looks
from livemem.llm import tool_calling
from livemem.llm.client import LlmError, Reply
from livemem.llm.look import ApiState
from livemem.llm.tool_calling import Tool
from livemem.settings import Settings
from tests.support.cases import each
from tests.support.llm_server import (
    LlmServer,
    Step,
    answer,
    completion,
    compressed,
    endless,
    hang_up,
    hang_up_half_way,
    not_http,
    redirect,
    serving,
    silent,
    trickling,
    unused_url,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
ANSWER_BYTES = 8 * 1024 * 1024
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fold — 🦊"}]


def ask(
    url: str | None, *, max_tokens: int | None = 500, timeout: float = 10, schema: Any = None, **settings: Any
) -> Reply:
    found = Settings(**{"llmaas_api_url": url, "llmaas_api_key": "secret-key", "llmaas_model": "m-1"} | settings)
    return llm.connect(found)(MESSAGES, max_tokens, timeout, schema)


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


EXTRA = {
    "reasoning_effort": "low",
    "chat_template_kwargs": {"enable_thinking": False},
    "num_ctx": 32_000,
    "think": None,
}


def test_further_parameters_of_the_settings_are_sent_with_each_call_of_either_kind():
    offered = [Tool("search", "Looks.", {"type": "object"})]
    found: dict[str, Any] = {"llmaas_api_key": "k", "llmaas_model": "m-1", "llmaas_extra": json.dumps(EXTRA)}
    with serving() as server:
        ask(server.url, **found)
        ask(server.url, **found)
        tool_calling.connect(Settings(llmaas_api_url=server.url, **found))(MESSAGES, offered, 500, 10)

    bodies = [asked.body for asked in server.asked]
    assert [{name: body[name] for name in EXTRA} for body in bodies] == [EXTRA] * 3
    # What the service sends itself stands.
    assert [(body["model"], body["messages"], body["max_tokens"]) for body in bodies] == [("m-1", MESSAGES, 500)] * 3
    assert [sorted(body.keys() - EXTRA.keys()) for body in bodies[1:]] == [
        ["max_tokens", "messages", "model", "response_format", "temperature"],
        ["max_tokens", "messages", "model", "temperature", "tools"],
    ]


def refusal(message: str, status: int = 400) -> Step:
    return answer({"error": {"message": message, "type": "BadRequestError"}}, status)


NO_SYSTEM = {
    "Gemma on vLLM": refusal("System role not supported"),
    "vLLM without `error`": answer({"object": "error", "message": "System role not supported", "code": 400}, 400),
    "Gemma on llama.cpp": refusal("Jinja Exception: System role not supported at row 1, column 89", 500),
    "Gemma by Google": refusal("Developer instruction is not enabled for models/gemma-3-27b-it"),
    "Google's list": answer([{"error": {"code": 400, "message": "Developer instruction is not enabled"}}], 400),
    "Mistral": refusal("Conversation roles must alternate user/assistant/user/assistant/..."),
    "Mistral, newer": refusal("Only user, assistant and tool roles are supported, got system."),
    "Llama 2": refusal("Only user and assistant roles are supported!", 422),
    "OpenAI o1": refusal("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    "Bedrock": refusal("This model doesn't support system messages. Try again without system messages."),
    "Anthropic": refusal('messages: Unexpected role "system". The Messages API accepts a top-level parameter'),
    "a text": answer(b"invalid message role: system", 400, "text/plain"),
    "a gateway": refusal("role 'system' is not supported by this model"),
    "a check of roles": refusal("messages[0].role: system is not a valid role"),
    "a switch": refusal("System prompt is disabled for this model"),
    "a template": refusal("The chat template does not have a system role"),
    "a proxy": refusal("The system prompt is not allowed for this model"),
}


@each("step", NO_SYSTEM.values(), ids=NO_SYSTEM)
def test_a_model_that_refuses_the_system_role_gets_its_text_before_the_users_and_is_not_asked_so_again(step: Step):
    with serving(step) as server:
        asks = llm.connect(Settings(llmaas_api_url=server.url, llmaas_model="m-1"))
        replies = [asks(MESSAGES, 500, 10) for _ in range(2)]

    assert [reply.text for reply in replies] == ['{"ok": true}'] * 2
    moved = [{"role": "user", "content": "Be brief.\n\nFold — 🦊"}]
    assert [asked.body["messages"] for asked in server.asked] == [MESSAGES, moved, moved]


NO_RETRY = {
    "another refusal": (refusal("temperature is not supported"), "llm_refused_request"),
    "a bad key": (refusal("System role not supported", 401), "llm_refused_request"),
    "overloaded": (refusal("The system is not available", 503), "llm_unavailable"),
    "the system is busy": (refusal("system error, try again", 500), "llm_unavailable"),
}


@each(("step", "code"), NO_RETRY.values(), ids=NO_RETRY)
def test_no_other_refusal_is_asked_again(step: Step, code: str):
    with serving(step) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert (failed.value.code, len(server.asked)) == (code, 1)


def test_a_refusal_without_the_system_role_is_told_and_the_role_is_tried_again():
    with serving(refusal("System role not supported"), refusal("bad schema")) as server:
        asks = llm.connect(Settings(llmaas_api_url=server.url))
        with pytest.raises(LlmError, match="bad schema"):
            asks(MESSAGES, 500, 10)
        asks(MESSAGES, 500, 10)

    assert [len(asked.body["messages"]) for asked in server.asked] == [2, 1, 2]


def test_both_tries_have_the_time_of_one_call_together():
    with serving(refusal("System role not supported")) as server:
        server.script.append(silent(server))
        with pytest.raises(LlmError) as failed:
            ask(server.url, timeout=0.3)

    assert failed.value.code == "llm_timeout"


def test_calls_of_tools_keep_their_order_where_the_system_role_is_refused():
    calls = [{"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
    thread: list[Any] = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "[]"},
        {"role": "user", "content": "Respond."},
    ]
    with serving(refusal("System role not supported")) as server:
        found = Settings(llmaas_api_url=server.url)
        tool_calling.connect(found)(thread, [Tool("search", "Looks.", {"type": "object"})], 500, 10)

    assert server.asked[1].body["messages"] == [{"role": "user", "content": "Be brief.\n\nFold — 🦊"}, *thread[2:]]


CHUNK = {
    "id": "c",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "delta": {}}],
}
LINE = json.dumps(CHUNK).encode()
STREAMS = {
    "events": answer(b"data: " + LINE + b"\n\ndata: [DONE]\n\n", 200, "text/event-stream"),
    "events that begin with a comment": answer(b": PROCESSING\n\ndata: " + LINE, 200, "text/event-stream"),
    "named events": answer(b"event: message\ndata: " + LINE, 200, "text/event-stream; charset=utf-8"),
    "events called JSON": answer(b"data: " + LINE + b"\n\n"),
    "events called text": answer(b"\ndata:" + LINE, 200, "text/plain"),
    "lines of JSON": answer(LINE + b"\n" + LINE + b"\n", 200, "application/x-ndjson"),
    "lines of JSON called text": answer(LINE + b"\r\n" + LINE, 200, "text/plain"),
    "its only part": answer(CHUNK),
}


@each("step", STREAMS.values(), ids=STREAMS)
def test_a_server_that_only_streams_is_said_so(step: Step):
    with serving(step) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.code == "llm_only_streams"
    assert "answered with a stream. It only streams" in failed.value.detail
    assert "switch streaming off" in failed.value.detail


@each(
    ("message", "advice"),
    [
        (
            "This model only support stream mode, please enable the stream parameter to access the model.",
            "It only streams",
        ),
        ("Stream must be set to true", "It only streams"),
        ("Requests with max_tokens > 4096 must have stream=true", "It only streams"),
        ("Streaming is required for operations that may take longer than 10 minutes", "It only streams"),
        ("non-streaming requests are not supported", "It only streams"),
        ("parameter.enable_thinking must be set to false for non-streaming calls", "Set LLMAAS_EXTRA"),
        ("Unrecognized request argument supplied: enable_cache", "If LLMAAS_EXTRA has the parameter"),
        ("Extra inputs are not permitted", "If LLMAAS_EXTRA has the parameter"),
        ("Unsupported parameter: 'reasoning_effort' is not supported with this model.", "If LLMAAS_EXTRA has the"),
        ("Unsupported parameter: 'temperature' is not supported with this model.", "Set LLMAAS_TEMPERATURE"),
    ],
)
def test_a_refusal_to_answer_as_a_whole_or_to_take_a_parameter_names_what_to_change(message: str, advice: str):
    with serving(refusal(message)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert (failed.value.code, advice in failed.value.detail) == ("llm_refused_request", True), failed.value.detail


def test_a_temperature_of_zero_is_sent():
    with serving() as server:
        ask(server.url, llmaas_temperature=0)

    assert server.asked[0].body["temperature"] == 0


def test_without_a_key_something_harmless_is_sent_and_never_another_services_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-something-else")
    with serving() as server:
        ask(server.url, llmaas_api_key="")

    assert server.asked[0].headers["authorization"] == "Bearer none"


@each(
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


OK_PART = {"type": "text", "text": '{"ok": true}'}
CALL = {"id": "c", "type": "function", "function": {"name": "answer", "arguments": '{"ok": true}'}}
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
    "content of no text": (choice(content=[{"type": "thinking", "thinking": []}]), "llm_empty"),
    "reasoning alone": (choice(message={"content": None, "reasoning_content": "I see: {}"}), "llm_empty"),
    "two calls": (
        choice(finish_reason="tool_calls", message={"content": None, "tool_calls": [CALL, CALL]}),
        "llm_cut_off",
    ),
    "cut off by length": (choice(finish_reason="length"), "llm_cut_off"),
    "cut off by a filter": (choice(finish_reason="content_filter"), "llm_cut_off"),
    "calls a tool": (choice(finish_reason="tool_calls"), "llm_cut_off"),
    "finish reason null": (choice(finish_reason=None), "llm_cut_off"),
    "cut off before the first character": (choice(content="", finish_reason="length"), "llm_cut_off"),
}


@each(("step", "code"), FAILURES.values(), ids=FAILURES)
def test_each_failure_has_its_code_is_asked_once_and_tells_no_key_no_page_and_no_address(step: Step, code: str):
    with serving(step) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.code == code
    assert len(server.asked) == 1
    leaks = ("secret-key", "nginx", "<html", "127.0.0.1", "SSH", "can't help")
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


def test_without_an_address_nothing_is_configured():
    with pytest.raises(LlmError) as failed:
        ask(None)

    assert failed.value.code == "llm_not_configured"


def test_an_answer_with_half_a_surrogate_pair_is_left_to_the_check_of_the_contract():
    body = json.dumps(completion("half a pair: \ud83d")).encode()
    with serving(answer(body)) as server:
        assert ask(server.url).text == "half a pair: \ud83d"


@each("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_the_error_names_its_status(status: int):
    with serving() as elsewhere, serving(redirect(f"{elsewhere.url}/chat/completions", status)) as server:
        with pytest.raises(LlmError) as failed:
            ask(server.url)

        assert elsewhere.asked == []
    assert failed.value.code == "llm_refused_request"
    assert str(status) in failed.value.detail
    assert "redirect" in failed.value.detail


@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_answer_without_end_is_read_up_to_a_bound_only(status: int):
    with serving() as server:
        server.script.append(endless(server, status=status))
        with pytest.raises(LlmError) as failed:
            ask(server.url)

        assert failed.value.code == "llm_too_large"
        # What the sockets of both sides hold comes on top.
        assert server.sent < ANSWER_BYTES + 24 * 1024 * 1024


@pytest.mark.parametrize(("status", "code"), [(200, "llm_malformed"), (503, "llm_unavailable")])
def test_nothing_is_decompressed_so_that_a_small_answer_cannot_become_a_large_one(status: int, code: str):
    bomb = b'{"error": "' + b"boom " * 6_000_000 + b'"}'
    tracemalloc.start()
    try:
        with serving(compressed(bomb, status)) as server:
            tracemalloc.reset_peak()
            with pytest.raises(LlmError) as failed:
                ask(server.url)
            peak = tracemalloc.get_traced_memory()[1] - len(bomb)
    finally:
        tracemalloc.stop()

    assert server.asked[0].headers["accept-encoding"] == "identity"
    assert failed.value.code == code
    assert "boom" not in failed.value.detail
    assert peak < ANSWER_BYTES


def test_json_nested_too_deep_is_no_completion():
    with serving(answer(b"[" * 1_000_000)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.code == "llm_malformed"


MESSAGES_OF_MODELS: dict[str, dict[str, Any]] = {
    "parts": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, OK_PART]},
    "several parts": {"content": [{"type": "text", "text": '{"ok"'}, {"type": "text", "text": ": true}"}]},
    "in_reasoning": {"content": None, "reasoning_content": '\n{"ok": true}\n'},
    "in_reasoning, as vLLM calls it": {"content": None, "reasoning": '{"ok": true}'},
    "reasoning beside the content": {"content": '{"ok": true}', "reasoning_content": '{"ok": false}'},
    "as_call": {"content": None, "tool_calls": [CALL]},
}


@each("message", MESSAGES_OF_MODELS.values(), ids=MESSAGES_OF_MODELS)
def test_an_answer_is_found_where_the_models_server_puts_it(message: dict[str, Any]):
    reason = "tool_calls" if "tool_calls" in message else "stop"
    with serving(choice(message={"role": "assistant"} | message, finish_reason=reason)) as server:
        assert ask(server.url).text.strip() == '{"ok": true}'


def test_other_words_for_the_end_of_an_answer_are_known():
    with serving(*(choice(finish_reason=word) for word in ("end_turn", "STOP", "eos"))) as server:
        assert {ask(server.url).text for _ in range(3)} == {'{"ok": true}'}


def test_a_call_that_the_server_left_in_the_text_is_a_call():
    text = '<tool_call>\n{"name": "look", "arguments": {"query": "Kiel"}}\n</tool_call>'
    with serving(choice(content=text), choice(content=text)) as server:
        converse = tool_calling.connect(Settings(llmaas_api_url=server.url))
        tools = [Tool("look", "Look.", SCHEMA)]

        (call,) = converse([{"role": "user", "content": "?"}], tools, None, 10).calls
        assert (call.name, json.loads(call.arguments)) == ("look", {"query": "Kiel"})
        # A tool that is not offered is none, and the text stays.
        assert converse([{"role": "user", "content": "?"}], [Tool("other", "x", SCHEMA)], None, 10).text == text


ADVICE: dict[str, tuple[Step, str]] = {
    "a wrong key": (answer({"error": {"message": "Incorrect API key"}}, 401), "Check LLMAAS_API_KEY"),
    "no right": (answer({"error": {"message": "Forbidden"}}, 403), "Check LLMAAS_API_KEY"),
    "no credit": (answer({"error": {"message": "Insufficient credits"}}, 402), "no credit"),
    "quota": (answer({"error": {"message": "You exceeded your current quota"}}, 429), "no credit"),
    "OpenAI: no model": (answer({"error": {"code": "model_not_found", "message": "no"}}, 404), "Check LLMAAS_MODEL"),
    "Ollama: no model": (answer({"error": 'model "m-1" not found, try pulling it first'}, 404), "Check LLMAAS_MODEL"),
    "Azure: no deployment": (
        answer({"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}}, 404),
        "Check LLMAAS_MODEL",
    ),
    "LiteLLM: no model": (answer({"error": {"message": "Invalid model name passed in model=m"}}, 400), "LLMAAS_MODEL"),
    "LiteLLM: a wrong key": (answer({"error": {"message": "No connected db."}}, 400), "Check LLMAAS_API_KEY"),
    "no such path": (answer(b"404 page not found", 404, "text/plain"), "LLMAAS_API_URL"),
    "a page that is not there": (answer(b"<html>Not Found</html>", 404, "text/html"), "LLMAAS_API_URL"),
    "a page": (answer(b"<!DOCTYPE html><html>Welcome</html>", 200, "text/html"), "which mostly ends in /v1"),
    "something else": (answer(b"Ollama is running", 200, "text/plain"), "LLMAAS_API_URL"),
    "too often": (answer({"error": {"message": "Rate limit reached"}}, 429), "limit of LLMAAS_API_KEY"),
    "OpenAI: window": (
        answer({"error": {"code": "context_length_exceeded", "message": "too long"}}, 400),
        "LLMAAS_CONTEXT_TOKENS",
    ),
    "vLLM: window": (
        answer({"message": "This model's maximum context length is 8192 tokens. However, you requested 9000"}, 400),
        "LLMAAS_CONTEXT_TOKENS",
    ),
    "llama.cpp: window": (
        answer({"error": {"message": "the request exceeds the available context size"}}, 400),
        "LLMAAS_CONTEXT_TOKENS",
    ),
    "temperature": (
        answer({"error": {"message": "Unsupported value: 'temperature' does not support 0.3"}}, 400),
        "LLMAAS_TEMPERATURE",
    ),
    "response format": (
        answer({"error": "'response_format.type' must be 'json_schema' or 'text'"}, 400),
        "LLMAAS_JSON_MODE",
    ),
    "tools": (answer({"error": "registry/gemma3 does not support tools"}, 400), "call tools"),
    "longest answer": (answer({"error": {"message": "max_tokens is too large: 99999"}}, 400), "LLMAAS_MAX_TOKENS"),
    "an answer that is too long": (choice(finish_reason="length"), "Raise LLMAAS_MAX_TOKENS"),
    "only reasoning": (
        choice(finish_reason="length", message={"content": "", "reasoning_content": "x" * 40}),
        "40 characters of reasoning and no answer. Raise LLMAAS_MAX_TOKENS",
    ),
}


@each(("step", "advice"), ADVICE.values(), ids=ADVICE)
def test_an_error_names_the_setting_to_change(step: Step, advice: str):
    with serving(step) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert advice in failed.value.detail


@each(
    ("url", "advice"),
    [
        (unused_url(), "Nothing listens at LLMAAS_API_URL"),
        ("http://nowhere.invalid/v1", "host name in LLMAAS_API_URL is unknown"),
    ],
)
def test_an_address_without_a_server_is_named(url: str, advice: str):
    with pytest.raises(LlmError) as failed:
        ask(url)

    assert advice in failed.value.detail


def test_https_where_the_server_speaks_http_is_named():
    with serving() as server, pytest.raises(LlmError) as failed:
        ask(server.url.replace("http:", "https:"))

    assert "does not speak TLS" in failed.value.detail


def test_a_certificate_that_nobody_vouches_for_is_named():
    assert "SSL_CERT_FILE" in advices.unreachable("LLMAAS", ssl.SSLCertVerificationError("self-signed certificate"))


@each("status", [400, 401, 404, 422, 429, 500, 503])
@each(
    "body",
    [
        {"error": {"message": "The model `m-1` does not exist", "type": "invalid_request_error"}},
        {"error": "The model `m-1` does not exist"},
        {"object": "error", "message": "The model `m-1` does not exist"},
        {"detail": "The model `m-1` does not exist"},
        b"The model `m-1` does not exist\n",
    ],
)
def test_what_the_provider_says_of_its_refusal_is_told_with_the_status(status: int, body: Any):
    with serving(answer(body, status)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    said = f'The LLM\'s API answered with status {status}. It says: "The model `m-1` does not exist".'
    assert failed.value.detail.startswith(said)
    assert failed.value.http_status == status


def test_an_error_in_an_answer_of_status_200_is_told_too():
    with serving(answer({"error": {"message": "quota exceeded"}})) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.detail == 'The LLM\'s answer holds no choice. It says: "quota exceeded".'


def test_the_providers_message_is_told_without_the_key():
    said = "Incorrect API key provided: secret-key. Send `Authorization: Bearer secret-key`."
    with serving(answer({"error": {"message": said}}, 401)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert "Incorrect API key provided: [removed]." in failed.value.detail
    assert "secret-key" not in failed.value.detail


def test_a_schema_is_sent_where_the_settings_say_so():
    with serving() as server:
        ask(server.url, llmaas_json_mode="schema", schema=SCHEMA)

    assert server.asked[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }


@each(
    "changes",
    [
        {"required": []},
        {"additionalProperties": True},
        {"properties": {"a": {"oneOf": [{"type": "null"}, {"type": "string"}]}}},
        {"properties": {"a": {"type": "string", "default": ""}}},
        {"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {}}]}}},
    ],
)
def test_a_schema_that_openai_would_not_take_as_strict_is_not_called_strict(changes: dict[str, Any]):
    with serving() as server:
        ask(server.url, llmaas_json_mode="schema", schema=SCHEMA | changes)

    assert server.asked[0].body["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize(("mode", "schema"), [("object", SCHEMA), ("schema", None)])
def test_without_a_schema_or_where_none_is_wanted_an_object_is_asked_for(mode: str, schema: Any):
    with serving() as server:
        ask(server.url, llmaas_json_mode=mode, schema=schema)

    assert server.asked[0].body["response_format"] == {"type": "json_object"}


def test_no_form_is_asked_for_where_json_mode_is_off():
    with serving() as server:
        ask(server.url, llmaas_json_mode="off", schema=SCHEMA)

    assert "response_format" not in server.asked[0].body


@each(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.openai.com.example.org/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("http://[broken/v1", "max_tokens"),
    ],
)
def test_the_most_tokens_are_called_as_the_provider_calls_them(url: str, name: str):
    assert llm._limit_name(url) == name


def test_a_key_loses_the_line_break_of_the_file_that_it_came_from():
    with serving() as server:
        ask(server.url, llmaas_api_key="secret-key\n")

    assert server.asked[0].headers["authorization"] == "Bearer secret-key"


@each("key", ["two\nlines", "schlüssel", "tab\tinside", "nul\x00"])
def test_a_key_that_no_header_can_carry_is_told_and_not_sent(key: str):
    with serving() as server:
        with pytest.raises(LlmError) as failed:
            ask(server.url, llmaas_api_key=key)

        assert server.asked == []
    assert failed.value.code == "llm_key_unreadable"
    assert key not in failed.value.detail


def test_a_prompt_that_the_provider_cut_is_marked():
    long = [{"role": "user", "content": "word " * 5_000}]
    with serving(*(answer(completion(usage={"prompt_tokens": count})) for count in (4_096, 5_010))) as server:
        ask_it = llm.connect(Settings(llmaas_api_url=server.url))

        assert [ask_it(long, None, 10).cut for _ in range(2)] == [True, False]


def test_a_property_may_be_called_like_a_word_of_the_schema_language():
    schema = {**SCHEMA, "properties": {"default": {"type": "string"}}, "required": ["default"]}
    with serving() as server:
        ask(server.url, llmaas_json_mode="schema", schema=schema)

    assert server.asked[0].body["response_format"]["json_schema"]["strict"] is True


def test_an_answer_that_ended_because_the_prompt_was_too_long_says_so():
    body = completion(finish_reason="length", usage={"prompt_tokens": 2})
    with serving(answer(body)) as server, pytest.raises(LlmError) as failed:
        ask(server.url)

    assert failed.value.code == "llm_cut_off"
    assert "It read 2 tokens of a longer prompt" in failed.value.detail


def models(*names: str) -> Step:
    return answer({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def owned(by: str, *names: str) -> Step:
    return answer({"data": [{"id": name, "owned_by": by} for name in names]})


def look(url: str | None, **changes: Any) -> ApiState:
    found = Settings(**{"llmaas_api_url": url, "llmaas_api_key": "secret-key", "llmaas_model": "m-1"} | changes)
    return looks.look(llm.api(found), found.llmaas_model, timeout=changes.pop("timeout", 5))


LOOKS: dict[str, tuple[Step, str, str | None]] = {
    "lists the model": (models("m-0", "m-1"), "ok", None),
    "lists it as Ollama does": (models("m-1:latest"), "ok", None),
    "lists it as Google does": (models("models/m-1"), "ok", None),
    "lists others": (models("m-0"), "ok", "does not list the model 'm-1'"),
    "lists none": (models(), "ok", None),
    "llama.cpp, which serves its one model under any name": (owned("llamacpp", "weights.gguf"), "ok", None),
    "llama.cpp's router": (owned("llamacpp", "a", "b"), "ok", "does not list the model 'm-1'"),
    "vLLM, which reads the name": (owned("vllm", "weights"), "ok", "does not list the model 'm-1'"),
    "a bare list": (answer([{"id": "m-0"}]), "ok", "does not list the model 'm-1'"),
    "a list of something else": (answer({"data": [1, "m", {"id": 7}, {}]}), "ok", None),
    "another form": (answer({"models": {}}), "ok", None),
    "null": (answer(b"null"), "ok", None),
    "no list of models": (answer({"detail": "Not Found"}, 404), "ok", "404"),
    "another method": (answer(b"", 405), "ok", "405"),
    "a page": (answer(b"<html>Welcome</html>", 200, "text/html"), "refused", "did not answer in OpenAI's format"),
    "no JSON": (answer(b"{"), "refused", "did not answer in OpenAI's format"),
    "a wrong key": (answer({"error": {"message": "bad key secret-key"}}, 401), "refused", "bad key [removed]"),
    "no right": (answer(b"", 403), "refused", "403"),
    "too many": (answer({"error": {"message": "quota"}}, 429), "refused", "quota"),
    "a redirect": (redirect("http://127.0.0.1:1/"), "refused", "A redirect is not followed"),
    "a failure": (answer({"error": {"message": "oops"}}, 500), "unreachable", "oops"),
    "overloaded": (answer(b"", 503), "unreachable", "503"),
    "hangs up": (hang_up, "unreachable", "could not be reached"),
    "hangs up half way": (hang_up_half_way, "unreachable", "could not be reached"),
    "speaks another protocol": (not_http, "unreachable", "could not be reached"),
    "compressed": (compressed(b"[]"), "refused", "did not answer in OpenAI's format"),
}


@each("name", ["any", "ANY", "default", "local-model", "none"])
def test_a_name_that_stands_for_whatever_the_server_has_is_not_blamed_for_missing_in_its_list(name: str):
    with serving(models("qwen3-8b", "weights.gguf")) as server:
        assert look(server.url, llmaas_model=name) == ApiState("ok")


@each(("step", "status", "detail"), LOOKS.values(), ids=LOOKS)
def test_a_look_at_the_models_is_one_request_with_the_key_and_tells_what_is_wrong(
    step: Step, status: str, detail: str | None
):
    with serving(step) as server:
        seen = look(server.url)

    assert seen.status == status
    assert detail in seen.detail if detail and seen.detail else seen.detail is detail, seen.detail
    assert "secret-key" not in (seen.detail or "")
    assert [(asked.method, asked.path) for asked in server.asked] == [("GET", "/v1/models")]
    assert server.asked[0].headers["authorization"] == "Bearer secret-key"


def test_a_look_goes_nowhere_else():
    with serving() as elsewhere, serving(redirect(f"{elsewhere.url}/models")) as server:
        look(server.url)

        assert elsewhere.asked == []


def test_a_look_reads_a_list_without_end_up_to_the_bound_only():
    with serving() as server:
        server.script.append(endless(server))
        seen = look(server.url)

        assert seen.status == "refused"
        assert server.sent < ANSWER_BYTES + 24 * 1024 * 1024


@pytest.mark.parametrize("step", [silent, lambda server: trickling(server, seconds=5)])
def test_a_look_at_what_says_nothing_in_time_is_unreachable(step: Callable[[LlmServer], Step]):
    with serving() as server:
        server.script.append(step(server))
        assert looks.look(llm.api(Settings(llmaas_api_url=server.url)), "m-1", timeout=0.2).status == "unreachable"


def test_nobody_listening_is_unreachable_for_a_look_too():
    assert look(unused_url()).status == "unreachable"


def test_without_an_address_or_with_a_key_that_is_none_the_llm_is_not_configured():
    assert look(None).status == "not_configured"
    assert look(unused_url(), llmaas_api_key="two\nlines").status == "not_configured"

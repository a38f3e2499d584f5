"""A chat completion in the form of OpenAI's API, from the parsed body of a request. Pure: no sockets, no clock."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from local.offline_llm.agent import RESPOND, next_calls
from local.offline_llm.api import CHARACTERS_PER_TOKEN, ApiError, count_tokens
from local.offline_llm.digest_prompt import read_digest_request
from local.offline_llm.extract import summarise
from local.offline_llm.fold import fold
from local.offline_llm.listening import listen
from local.offline_llm.named_notes import named_notes
from local.offline_llm.prompt import PromptError, read_request
from local.offline_llm.summary_prompt import read_summary_request
from local.offline_llm.verdict_prompt import judge, read_verdict_request

MODEL = "offline-rules"


def complete_chat(body: object, completion_id: str, created: int) -> dict[str, Any]:
    """The answer to `POST /v1/chat/completions`; `created` in seconds since 1970.

    Sampling parameters are accepted and have no effect. Raises ApiError for what this server cannot answer.
    """
    request = _checked(body)
    prompt_tokens = sum(count_tokens(_all_text(message)) for message in request["messages"])
    message, reason, completion_tokens = (_call_tools if request.get("tools") else _write)(request)
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": created,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "refusal": None, **message},
                "logprobs": None,
                "finish_reason": reason,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _write(request: Mapping[str, Any]) -> tuple[dict[str, Any], str, int]:
    """The message of an answer in words, why it ends, and its tokens."""
    content = json.dumps(_answer(request["messages"]), ensure_ascii=False)
    limit = _limit(request) or count_tokens(content)
    finished = count_tokens(content) <= limit
    content = content[: limit * CHARACTERS_PER_TOKEN]
    return {"content": content}, "stop" if finished else "length", count_tokens(content)


def _call_tools(request: Mapping[str, Any]) -> tuple[dict[str, Any], str, int]:
    """The same for an answer that calls tools. What would be cut off is not called."""
    calls = next_calls(request["messages"], request["tools"])
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    told = [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for place, (name, arguments) in enumerate(calls)
    ]
    tokens, limit = count_tokens(json.dumps(told, ensure_ascii=False)), _limit(request)
    if limit and tokens > limit:
        return {"content": None}, "length", limit
    return {"content": None, "tool_calls": told}, "tool_calls", tokens


def _limit(request: Mapping[str, Any]) -> int | None:
    return request.get("max_completion_tokens") or request.get("max_tokens")


def _answer(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer of the first kind of prompt that the messages are."""
    problem = ""
    for answer in _KINDS:
        try:
            return answer(messages)
        except PromptError as error:
            # The last kind is the usual one: what it misses tells most.
            problem = str(error)
    answers = "requests of Live Memory, for a consolidation, a summary, a digest or a verdict on two memories"
    raise ApiError(400, f"{MODEL} only answers {answers}. {problem}", "messages")


def _consolidate(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    read = read_request(messages)
    return fold(read.rules, read.bank, read.notes, read.language)


def _summarise(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    read = read_summary_request(messages)
    return {**summarise(read), **({"notes": named_notes(read)} if read.with_notes else {})}


def _listen(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return listen(read_digest_request(messages))


def _judge(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return judge(read_verdict_request(messages))


# Each takes messages to an answer, or raises PromptError: they are of another kind.
_KINDS: tuple[Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]], ...] = (
    _summarise,
    _judge,
    _listen,
    _consolidate,
)


def _checked(body: object) -> Mapping[str, Any]:
    """The body, if this server can honour its parameters. Any model name will do: there is only one here."""
    if not isinstance(body, dict):
        raise ApiError(400, "The body must be a JSON object.")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise ApiError(400, "You must provide a model parameter.", "model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "'messages' must be an array with at least one message.", "messages")
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    if body.get("stream"):
        raise ApiError(400, "Streaming is not supported here.", "stream", "unsupported_parameter")
    if body.get("n") not in (None, 1):
        raise ApiError(400, "Only one choice is supported here.", "n", "unsupported_value")
    _check_format(body.get("response_format"))
    _check_tools(body.get("tools"))
    for name in ("max_tokens", "max_completion_tokens"):
        limit = body.get(name)
        if limit is not None and (type(limit) is not int or limit < 1):
            raise ApiError(400, f"{name} must be a positive integer.", name, "invalid_value")
    return body


def _check_message(message: object, where: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ApiError(400, "Each message must be an object with a role.", f"{where}.role")
    if not isinstance(message.get("content"), str | list | None):
        raise ApiError(400, "The content of a message must be a string or an array of parts.", f"{where}.content")


def _check_format(wanted: object) -> None:
    """Every answer is a JSON object of the contract, so JSON mode and the contract's schema need nothing more."""
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in ("text", "json_object", "json_schema"):
        supported = "Supported values are 'text', 'json_object' and 'json_schema'."
        raise ApiError(400, supported, "response_format.type", "invalid_value")


def _check_tools(tools: object) -> None:
    """Check that the tools are functions with names, `respond` among them: without it there is no answer."""
    if not tools:
        return
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    names = [one.get("name") for one in functions if isinstance(one, dict)]
    if not isinstance(tools, list) or len(names) < len(tools) or not all(isinstance(name, str) for name in names):
        raise ApiError(400, "'tools' must be an array of functions with names.", "tools")
    if RESPOND not in names:
        raise ApiError(400, f"{MODEL} only plays an agent that has the tool {RESPOND!r}.", "tools")


def _all_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content or "")
    return text + (json.dumps(message["tool_calls"]) if message.get("tool_calls") else "")

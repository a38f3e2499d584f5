"""A chat completion in the form of OpenAI's API, from the parsed body of a request. No sockets."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from local.offline_llm.agent import RESPOND, next_calls
from local.offline_llm.api import CHARACTERS_PER_TOKEN, MODEL, ApiError, completion, count_tokens
from local.offline_llm.digest import judge, listen
from local.offline_llm.fold import fold
from local.offline_llm.prompt import Prompt, PromptError, read_prompts, text_of
from local.offline_llm.summary import summarise

DUTIES: Mapping[str, Callable[[Prompt], dict[str, Any]]] = {
    "Live notes": fold,
    "Turns": summarise,
    "Summaries": summarise,
    "Messages of the room": listen,
    "Pairs": judge,
}
"""What answers a prompt, by a value that prompts of its kind alone have. Each raises PromptError."""


def complete_chat(body: object) -> dict[str, Any]:
    """The answer to `POST /v1/chat/completions`. Raises ApiError for what this server cannot answer.

    Sampling parameters are accepted and have no effect.
    """
    request = _checked(body)
    messages, tools = request["messages"], request.get("tools")
    limit = request.get("max_completion_tokens") or request.get("max_tokens")
    if tools:
        message, reason, completion_tokens = _call_tools(messages, tools, limit)
    else:
        message, reason, completion_tokens = _write(messages, limit)
    prompt_tokens = sum(count_tokens(text_of(one) + json.dumps(one.get("tool_calls", ""))) for one in messages)
    return completion(MODEL, message, reason, prompt_tokens, completion_tokens)


def is_consolidation(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the messages ask for a bank or a part of one: they have the values of no other request."""
    others = DUTIES.keys() - {"Live notes"}
    return not any(others & prompt.values.keys() for prompt in read_prompts(messages))


def _write(messages: Sequence[Mapping[str, Any]], limit: int | None) -> tuple[dict[str, Any], str, int]:
    """The message of an answer in words, why it ends, and its tokens."""
    whole = json.dumps(_answer(messages), ensure_ascii=False)
    content = whole[: limit * CHARACTERS_PER_TOKEN] if limit else whole
    return {"content": content}, "stop" if content == whole else "length", count_tokens(content)


def _call_tools(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], limit: int | None
) -> tuple[dict[str, Any], str, int]:
    """The same for an answer that calls tools. What would be cut off is not called."""
    turn = sum(message["role"] == "assistant" for message in messages)
    calls = [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for place, (name, arguments) in enumerate(next_calls(messages, [tool["function"]["name"] for tool in tools]))
    ]
    tokens = count_tokens(json.dumps(calls, ensure_ascii=False))
    if limit and tokens > limit:
        return {"content": None}, "length", limit
    return {"content": None, "tool_calls": calls}, "tool_calls", tokens


def _answer(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer to the first prompt that one of the duties can answer."""
    problem = ""
    for prompt in read_prompts(messages):
        for name, answer in DUTIES.items():
            try:
                if name in prompt.values:
                    return answer(prompt)
            except PromptError as error:
                problem = f" {error}"
    answers = "requests of Live Memory, for a consolidation, a summary, a digest or a verdict on two memories"
    raise ApiError(400, f"{MODEL} only answers {answers}.{problem}", "messages")


def _checked(body: object) -> Mapping[str, Any]:
    """The body, if this server can answer it. Any model name will do: there is only one here."""
    if not isinstance(body, dict):
        raise ApiError(400, "The body must be a JSON object.")
    messages, tools = body.get("messages"), body.get("tools") or []
    if not isinstance(messages, list) or not all(isinstance(one, dict) and "role" in one for one in messages):
        raise ApiError(400, "'messages' must be an array of objects with a role.", "messages")
    if body.get("stream"):
        raise ApiError(400, "Streaming is not supported here.", "stream", "unsupported_parameter")
    try:
        named = not tools or RESPOND in [tool["function"]["name"] for tool in tools]
    except (TypeError, KeyError):
        named = False
    if not named:
        raise ApiError(400, f"'tools' must be an array of functions with names, {RESPOND!r} among them.", "tools")
    # Every answer is a JSON object of the contract, so JSON mode and the contract's schema need nothing more.
    return body

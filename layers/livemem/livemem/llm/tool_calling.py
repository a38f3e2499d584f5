"""Conversations with an LLM that may call tools, in the form of OpenAI's API: one answer, with the calls in it.

A call is data: its name may be of no tool, and its arguments no JSON. The caller, which offers the tools, checks both.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from livemem.llm import habits
from livemem.llm.api import Headers, call, key_of
from livemem.llm.client import LlmError, api, choice, completions, empty, parameters
from livemem.settings import Settings

if TYPE_CHECKING:
    import openai

Thread = list[dict[str, Any]]
"""Messages as the API takes them: `role`, `content`, and `tool_calls` or `tool_call_id` where a tool has its part."""

CALLS = 32
"""Most calls of one answer. Further ones are left out."""
ID_CHARACTERS = 200
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
FINISHED = ("stop", "tool_calls")
"""OpenAI ends with `tool_calls`, others with `stop` although tools are called."""


@dataclass(frozen=True)
class Tool:
    """What the model may call: `parameters` is the JSON schema of its arguments, `strict` (llm/contract.py)."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """A call as the model wrote it. `id` is unique in its answer, `arguments` a text that should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolReply:
    """One answer: text, calls of tools, or both. `usage` and `cut` as in a reply."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: dict[str, int] = field(default_factory=dict, hash=False)
    cut: bool = False

    @property
    def written(self) -> int:
        """Characters that the model wrote."""
        return sum(len(call.arguments) for call in self.calls) + len(self.text)


class Converse(Protocol):
    """One turn of a conversation with the LLM."""

    def __call__(
        self, messages: Thread, tools: Sequence[Tool], max_tokens: int | None, timeout: float, *, required: bool = False
    ) -> ToolReply:
        """The answer to `messages`; raises LlmError.

        `required`: the answer should be a call (`tool_choice`). Not every provider heeds that, and one that refuses it
        gives llm_refused_request. `max_tokens` and `timeout` as in Ask.
        """
        ...


def connect(settings: Settings, headers: Headers = dict) -> Converse:
    """A function that asks the settings' LLM, once per call and without retries of its own: calls are counted."""
    complete = completions(settings)

    def converse(
        messages: Thread, tools: Sequence[Tool], max_tokens: int | None, timeout: float, *, required: bool = False
    ) -> ToolReply:
        # No response_format: providers take it for a rule about all that is answered, calls included.
        optional = parameters(settings, max_tokens) | ({"tool_choice": "required"} if required else {})
        offered = [_function(tool, strict=settings.llmaas_json_mode == "schema") for tool in tools]

        def request(client: "openai.OpenAI") -> object:
            return complete(client, messages, {"tools": offered, **optional})

        target = api(settings, headers)
        key = key_of(target)
        names = {tool.name for tool in tools}
        return call(target, key, timeout, request, lambda completion: _said(completion, key, messages, names))

    return converse


def texts(messages: Thread) -> list[dict[str, str]]:
    """The same messages with all that the model reads in them as text, by which their tokens are counted."""
    return [
        {
            "role": message["role"],
            "content": " ".join(
                [
                    message.get("content") or "",
                    *(
                        f"{call['function']['name']} {call['function']['arguments']}"
                        for call in message.get("tool_calls", ())
                    ),
                ]
            ),
        }
        for message in messages
    ]


def as_message(reply: ToolReply) -> dict[str, Any]:
    """The answer as a message, to continue the conversation.

    Invalid tool names, and arguments that are no JSON, are changed to what providers accept.
    """
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": _UNFIT.sub("_", call.name)[:64] or "unnamed", "arguments": _sendable(call.arguments)},
        }
        for call in reply.calls
    ]
    return {"role": "assistant", "content": reply.text or None, **({"tool_calls": calls} if calls else {})}


def _sendable(arguments: str) -> str:
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _function(tool: Tool, *, strict: bool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function | ({"strict": True} if strict else {})}


def _said(completion: Any, key: str, messages: Thread, names: Collection[str]) -> ToolReply:
    # A cut prompt is detected by its words: those of the content alone, because providers count calls differently.
    plain = [{"role": message["role"], "content": message.get("content") or ""} for message in messages]
    chosen = choice(completion, key, plain, FINISHED)
    text = habits.body_text(chosen.message)
    calls = _calls(chosen.message, chosen.usage)
    if not calls and (written := habits.written_calls(text, names)):
        # The server did not read them, so they are no text for a person.
        calls, text = _numbered(written), ""
    reply = ToolReply(_storable(text), calls, chosen.usage, chosen.cut)
    if not reply.text.strip() and not reply.calls:
        raise empty(chosen)
    return reply


def _numbered(written: Sequence[habits.WrittenCall]) -> tuple[Call, ...]:
    numbered = enumerate(written[:CALLS])
    return tuple(Call(f"call_{place}", call.name, _storable(call.arguments)) for place, call in numbered)


def _calls(message: Any, usage: Mapping[str, int]) -> tuple[Call, ...]:
    result: list[Call] = []
    ids: set[str] = set()
    for place, call_data in enumerate((getattr(message, "tool_calls", None) or [])[:CALLS]):
        name, arguments = call_data.function.name, call_data.function.arguments
        # Some give arguments as an object, or none to a tool that needs none.
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        if not isinstance(name, str):
            raise LlmError("llm_malformed", "The LLM called a tool without a name.", usage=usage)
        own_id = call_data.id if isinstance(call_data.id, str) and 0 < len(call_data.id) <= ID_CHARACTERS else ""
        own = own_id if own_id and own_id not in ids else f"call_{place}"
        while own in ids:
            own += "x"
        ids.add(own)
        result.append(Call(_storable(own), _storable(name), _storable(arguments)))
    return tuple(result)


def _storable(text: str) -> str:
    """Text without half surrogate pairs, which JSON can spell and UTF-8 can't."""
    return text.encode(errors="replace").decode()

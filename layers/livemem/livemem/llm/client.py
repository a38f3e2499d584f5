"""The LLM behind any OpenAI-compatible API: one question, one reply.

The chat templates of Gemma and of older Mistral models refuse the system role, and so do some providers. Then its text
goes before the first message of the user. A refusal has no code: it is known by words of its message, those of these
templates (behind vLLM, llama.cpp, SGLang, TGI), Google, OpenAI, Anthropic, Bedrock and Mistral.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from livemem.llm import advice, habits
from livemem.llm.api import ApiError, Headers, LlmApi, call, key_of, provider_message
from livemem.settings import Settings
from livemem.text.excerpt import excerpt

if TYPE_CHECKING:
    import openai

Messages = list[dict[str, str]]
"""A conversation as the API takes it: `role` and `content` of each message."""

MOST_BYTES_PER_TOKEN = 16
"""More bytes of letters and digits than a token has on average, in any script: 4 to 10. For texts without spaces."""
MOST_ADDED_TOKENS = 50_000
"""Tokens that a provider may count for a prompt beyond its text: tools, their calls, its own instructions."""
MOST_ANSWER_TOKENS = 1_000_000
"""Of one answer with the reasoning before it. Models end far earlier."""
LETTERS = re.compile(r"\w+")
NOT_STRICT = {"allOf", "default", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
"""Words of JSON Schema that OpenAI's strict schemas may not have."""
_NO_SYSTEM_ROLE = re.compile(
    r"""
    system['"`]?\ (?:role|message|prompt|instruction)s?\b.{0,40}
      (?:not\ (?:be\ )?(?:support|allow|enable|accept)|unsupported|disabled)
    | \bsystem['"`]?\ is\ (?:invalid|unsupported
      |not\ (?:support|allow|accept|(?:an?\ )?(?:valid|known|allowed|supported)))
    | \b(?:not|n't)\ have\ an?\ system\ role | \bno\ system\ role
    | (?:not|n't)\ (?:support|allow|accept)\b.{0,40}\bsystem\b
    | (?:unsupported|invalid|unknown|unrecognized|unexpected)\b.{0,30}\brole\b.{0,20}\bsystem\b
    | \bonly\b.{0,50}\broles?\ (?:are|is)\ (?:supported|allowed)
    | roles\ must\ alternate
    | developer\ instruction\ is\ not\ enabled
    | first\ message\ (?:must|should)\ be\b.{0,20}\buser
    | should\ be\ ['"`]user['"`](?:,|\ or)\ ['"`]assistant
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_REFUSALS = (400, 422, 500)
"""llama.cpp answers 500 where a template raises an error."""
REFUSAL_CHARACTERS = 20_000
"""Of an error's body that are looked at."""


@dataclass(frozen=True)
class Reply:
    """The model's text, and the provider's count of tokens (`prompt_tokens`, `completion_tokens`).

    `cut`: by that count the model has read only a part of the prompt (`was_cut`).
    """

    text: str
    usage: dict[str, int] = field(default_factory=dict)
    cut: bool = False

    @property
    def written(self) -> int:
        """Characters that the model wrote."""
        return len(self.text)


MAY_COST = ("llm_timeout", "llm_malformed", "llm_only_streams", "llm_too_large")
"""Failures of calls that may have cost tokens. The provider does not return how many."""


class LlmError(ApiError):
    """The LLM gave no usable answer. `usage` is the provider's count of tokens, if it still returned one."""

    def __init__(
        self,
        code: str,
        detail: str,
        status: int | None = None,
        usage: Mapping[str, int] | None = None,
        *,
        wait: float | None = None,
    ) -> None:
        super().__init__(code, detail, status, wait=wait)
        self.usage = dict(usage or {})


class Ask(Protocol):
    """One question to the LLM."""

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        """The reply to `messages`. Raises LlmError.

        `max_tokens` is for the answer (None: the provider decides), `timeout` in seconds for the whole call. `schema`
        is the JSON schema of the answer. It is sent if the settings say that the provider takes one.
        """
        ...


def api(settings: Settings, headers: Headers = dict) -> LlmApi:
    """The LLM's API as the settings define it."""
    return LlmApi("llm", "LLM", "LLMAAS", LlmError, settings.llmaas_api_url, settings.llmaas_api_key, headers)


def connect(settings: Settings, headers: Headers = dict) -> Ask:
    """A function that asks the settings' LLM, once per call and without retries of its own: calls are counted.

    `headers` gives those that a call gets beside the SDK's own.
    """
    complete = completions(settings)

    def ask(messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None) -> Reply:
        optional = parameters(settings, max_tokens)
        if settings.llmaas_json_mode != "off":
            optional["response_format"] = _format(schema if settings.llmaas_json_mode == "schema" else None)

        def request(client: "openai.OpenAI") -> object:
            return complete(client, messages, optional)

        target = api(settings, headers)
        key = key_of(target)
        return call(target, key, timeout, request, lambda completion: _reply(completion, key, messages))

    return ask


def completions(settings: Settings) -> Callable[["openai.OpenAI", Sequence[dict[str, Any]], dict[str, Any]], object]:
    """A function that asks for one completion of `messages`, with the parameters of the call and those of the settings.

    A model that refuses the system role is asked once more without it, and from then on always so. What a refusal
    costs: a request, and no tokens.
    """
    takes_system = True

    def complete(client: "openai.OpenAI", messages: Sequence[dict[str, Any]], optional: dict[str, Any]) -> object:
        nonlocal takes_system
        import openai  # noqa: PLC0415 - it is loaded by now

        def create(thread: Sequence[dict[str, Any]]) -> object:
            send: Callable[..., object] = client.chat.completions.create
            return send(model=settings.llmaas_model, messages=thread, extra_body=settings.llmaas_extra, **optional)

        moved = without_system_role(messages)
        if takes_system:
            try:
                return create(messages)
            except openai.APIStatusError as error:
                if moved == messages or not refuses_system_role(error.status_code, error.body):
                    raise
        answer = create(moved)
        takes_system = False
        return answer

    return complete


def parameters(settings: Settings, max_tokens: int | None) -> dict[str, Any]:
    """The parameters of every question, as the settings define them. `max_tokens` is for the answer."""
    optional: dict[str, Any] = {}
    if max_tokens is not None:
        optional[_limit_name(settings.llmaas_api_url or "")] = max_tokens
    if settings.llmaas_temperature is not None:
        optional["temperature"] = settings.llmaas_temperature
    return optional


def was_cut(messages: Messages, prompt_tokens: int | None) -> bool:
    """Whether the provider counted fewer tokens than the messages must have. Then the model has not read all of them.

    Ollama cuts a prompt to its own context length without saying so. With the tokenizers in use no token reaches from
    one word into the next, so there are at least as many tokens as words. No count, or 0, says nothing.
    """
    if not prompt_tokens or prompt_tokens < 0:
        return False
    texts = [message["content"] for message in messages]
    words = sum(len(text.split()) for text in texts)
    size = sum(len(run.encode(errors="replace")) for text in texts for run in LETTERS.findall(text))
    return prompt_tokens < max(words, size // MOST_BYTES_PER_TOKEN)


def _limit_name(url: str) -> str:
    """The provider's name for the most tokens of an answer.

    OpenAI's newer models refuse `max_tokens`, its older ones take both names. Ollama knows `max_tokens` alone and skips
    the other. vLLM knows both.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    openai_itself = host.endswith((".openai.com", ".openai.azure.com"))
    return "max_completion_tokens" if openai_itself else "max_tokens"


def _format(schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": _is_strict(schema)},
    }


def _is_strict(schema: object) -> bool:
    """Whether OpenAI takes the schema as strict: each object requires all of its properties and allows no others."""
    if isinstance(schema, list):
        return all(_is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and set(schema.get("required", [])) == set(properties)
    if NOT_STRICT & schema.keys() or (schema.get("type") == "object" and not closed):
        return False
    return all(
        _is_strict(list(part.values()) if name in ("properties", "$defs") else part) for name, part in schema.items()
    )


@dataclass(frozen=True)
class Choice:
    """The message of a finished answer, as the API gave it. `usage` and `cut` are as in a reply."""

    message: Any
    usage: dict[str, int]
    cut: bool


def choice(completion: Any, key: str, messages: Messages, finished: Collection[str] = ("stop",)) -> Choice:
    """The one answer of a completion. `finished` are the accepted finish reasons. Raises LlmError."""
    if getattr(completion, "object", None) == "chat.completion.chunk":
        raise LlmError("llm_only_streams", f"The LLM's API answered with a stream.{advice.streams('LLMAAS')}")
    choices = completion.choices
    if not choices:
        message = provider_message(getattr(completion, "error", None), key)
        raise LlmError("llm_empty", f"The LLM's answer holds no choice.{message}")
    first = choices[0]
    usage = _usage(completion, messages)
    if getattr(first.message, "refusal", None):
        raise LlmError("llm_refused", "The LLM refused to answer.", usage=usage)
    cut = was_cut(messages, usage.get("prompt_tokens"))
    reason = str(first.finish_reason)
    if reason not in finished and not ("stop" in finished and reason in habits.END_WORDS):
        # A window that is too small for the prompt has no room for the answer either.
        how = f" It read {usage['prompt_tokens']} tokens of a longer prompt: raise its context length." if cut else ""
        if reason == "length" and not cut:
            how = f"{_only_thought(first.message)} Raise LLMAAS_MAX_TOKENS, or the server's limit of an answer."
        told_reason = excerpt(reason, key)[:40]
        raise LlmError(
            "llm_cut_off", f"The LLM did not finish its answer (finish_reason {told_reason}).{how}", usage=usage
        )
    return Choice(first.message, usage, cut)


def empty(reply: Choice) -> LlmError:
    """The error of an answer without a text."""
    thought = _only_thought(reply.message)
    how = f"{thought} Raise LLMAAS_MAX_TOKENS, or switch the model's reasoning off (LLMAAS_EXTRA)." if thought else ""
    return LlmError("llm_empty", f"The LLM's answer is empty.{how}", usage=reply.usage)


def _only_thought(message: Any) -> str:
    thought = habits.reasoning(message)
    return f" It wrote {len(thought)} characters of reasoning and no answer." if thought else ""


def _reply(completion: Any, key: str, messages: Messages) -> Reply:
    # No tool is offered, but a model may call one that it made up for its answer.
    called = habits.is_call(completion)
    reply = choice(completion, key, messages, ("stop", "tool_calls") if called else ("stop",))
    text = habits.content(reply.message)
    if not text.strip():
        raise empty(reply)
    return Reply(text, reply.usage, reply.cut)


def _usage(completion: Any, messages: Messages) -> dict[str, int]:
    """The provider's count. Impossible numbers are cut to possible ones: sums and budgets rest on them."""
    usage = getattr(completion, "usage", None)
    counted = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    # A token has at least one byte.
    prompt = sum(len(message["content"].encode(errors="replace")) for message in messages)
    most = {"prompt_tokens": prompt + MOST_ADDED_TOKENS, "completion_tokens": MOST_ANSWER_TOKENS}
    return {
        name: min(count, most[name])
        for name, count in counted.items()
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0
    }


def refuses_system_role(status: int, body: object) -> bool:
    """Whether an error of the API, its status and body, says that the model takes no message of the system."""
    return status in _REFUSALS and bool(_NO_SYSTEM_ROLE.search(str(body)[:REFUSAL_CHARACTERS]))


def without_system_role(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same messages without a system role: its texts stand before the first message of the user.

    Neighbours of the user become one message, for templates that want user and assistant by turns.
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    first = next((place for place, message in enumerate(rest) if message["role"] == "user"), 0)
    merged = [*rest[:first], *({"role": "user", "content": text} for text in system), *rest[first:]]
    joined: list[dict[str, Any]] = []
    for message in merged:
        if joined and message["role"] == joined[-1]["role"] == "user":
            joined[-1] = message | {"content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined

"""The LLM behind any OpenAI-compatible API, and the one place where its failures become own ones."""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from livemem.errors import LiveMemoryError
from livemem.llm.excerpt import excerpt
from livemem.settings import Settings

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)

Messages = list[dict[str, str]]
"""A conversation as the API takes it: `role` and `content` of each message."""

T = TypeVar("T")

KEY_SECONDS = 300
"""How long a key read from its parameter is kept, so that a new one is taken up without a deployment."""
MOST_BYTES_PER_TOKEN = 16
"""More bytes of letters and digits than a token has on average, in any script: 4 to 10. For texts without spaces."""
LETTERS = re.compile(r"\w+")
NOT_STRICT = {"allOf", "default", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
"""Words of JSON Schema that OpenAI's strict schemas may not have."""


@dataclass(frozen=True)
class Reply:
    """The model's text, and the provider's count of tokens (`prompt_tokens`, `completion_tokens`).

    `cut`: by that count the model has read a part of the prompt only (`was_cut`).
    """

    text: str
    usage: dict[str, int] = field(default_factory=dict)
    cut: bool = False


MAY_COST = ("llm_timeout", "llm_malformed", "llm_too_large")
"""Failures of calls that the model may have worked for, and nobody tells how much."""


class LlmError(LiveMemoryError):
    """The LLM gave no usable answer. `code` is stable; `detail` is for the user; `status` is HTTP's, if any.

    `usage` is the provider's count of tokens, where it told that all the same.
    """

    def __init__(
        self, code: str, detail: str, status: int | None = None, usage: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.http_status = status
        self.usage = dict(usage or {})


class Ask(Protocol):
    """One question to the LLM."""

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        """The reply to `messages`; raises LlmError.

        `max_tokens` of the answer (None: left to the provider), `timeout` in seconds for all of it. `schema` is the
        JSON schema of the answer; it is sent where the settings say that the provider takes one.
        """
        ...


def connect(settings: Settings) -> Ask:
    """A function that asks the settings' LLM, once per call and without retries of its own: calls are counted."""

    def ask(messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None) -> Reply:
        optional: dict[str, Any] = {}
        if max_tokens is not None:
            optional[_limit_name(settings.llmaas_api_url or "")] = max_tokens
        if settings.llmaas_temperature is not None:
            optional["temperature"] = settings.llmaas_temperature
        if settings.llmaas_json_mode != "off":
            optional["response_format"] = _format(schema if settings.llmaas_json_mode == "schema" else None)

        def request(client: "openai.OpenAI") -> object:
            create: Callable[..., object] = client.chat.completions.create
            return create(model=settings.llmaas_model, messages=messages, **optional)

        key = key_of(settings)
        return call(settings, key, timeout, request, lambda completion: _reply(completion, key, messages))

    return ask


def was_cut(messages: Messages, prompt_tokens: int | None) -> bool:
    """Whether the provider counted fewer tokens than the messages must have: then the model has not read all of them.

    Ollama cuts a prompt to its own context length without saying so. With the tokenizers in use no token reaches from
    one word into the next, so there are at least as many tokens as words. No count, or 0, says nothing.
    """
    if not prompt_tokens or prompt_tokens < 0:
        return False
    texts = [message["content"] for message in messages]
    words = sum(len(text.split()) for text in texts)
    size = sum(len(run.encode(errors="replace")) for text in texts for run in LETTERS.findall(text))
    return prompt_tokens < max(words, size // MOST_BYTES_PER_TOKEN)


def call(
    settings: Settings, key: str, timeout: float, request: Callable[["openai.OpenAI"], object], read: Callable[[Any], T]
) -> T:
    """What `read` makes of the answer to one request; whatever goes wrong becomes an LlmError here."""
    # Imported here: the package takes a second to load, and few functions need it.
    import openai  # noqa: PLC0415

    from livemem.llm import outbound  # noqa: PLC0415

    http = outbound.http_client(timeout)
    try:
        client = openai.OpenAI(
            base_url=settings.llmaas_api_url, api_key=key, max_retries=0, timeout=timeout, http_client=http
        )
        return read(_within(timeout, lambda: request(client)))
    except (openai.APITimeoutError, TimeoutError) as error:
        raise LlmError("llm_timeout", f"The LLM did not answer within {timeout:.0f} s.") from error
    except outbound.TooMuch as error:
        most = outbound.ANSWER_BYTES
        raise LlmError("llm_too_large", f"The LLM's API answered with more than {most} bytes.") from error
    except openai.APIConnectionError as error:
        raise LlmError("llm_unreachable", "The LLM could not be reached.") from error
    except openai.APIStatusError as error:
        raise _refusal(error.status_code, _told(error.body, key)) from error
    # A body of nothing but brackets ends the parser's recursion.
    except (openai.OpenAIError, AttributeError, TypeError, ValueError, LookupError, RecursionError) as error:
        raise LlmError("llm_malformed", "The LLM's API answered with something other than OpenAI's form.") from error
    finally:
        http.close()


def _told(body: object, key: str) -> str:
    said = excerpt(body, key)
    return f' It says: "{said}".' if said else ""


def _refusal(status: int, told: str) -> LlmError:
    """The error for an answer that is none; `told` is what the provider says of it."""
    code = "llm_throttled" if status == 429 else "llm_refused_request"
    code = "llm_unavailable" if status >= 500 else code
    if status < 400:
        told = " A redirect is not followed: set LLMAAS_API_URL to the address that it leads to."
    return LlmError(code, f"The LLM's API answered with status {status}.{told}", status)


def _limit_name(url: str) -> str:
    """How the provider calls the most tokens of an answer.

    OpenAI's newer models refuse `max_tokens`, its older ones take both; Ollama knows `max_tokens` alone and skips the
    other; vLLM knows both.
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


def _within(seconds: float, request: Callable[[], object]) -> object:
    """What the request gives; raises TimeoutError if that takes longer, all in all.

    The client's own limit is one for each read: an answer that trickles, or a provider that sends blanks to keep the
    connection, would never reach it.
    """
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(request())
        except Exception as error:  # noqa: BLE001 - it is raised below
            outcome.set_exception(error)

    # Nobody waits for a thread that is late: the client is closed, and its next read fails.
    threading.Thread(target=run, daemon=True).start()
    return outcome.result(seconds)


def _reply(completion: Any, key: str, messages: Messages) -> Reply:
    choices = completion.choices
    if not choices:
        told = _told(getattr(completion, "error", None), key)
        raise LlmError("llm_empty", f"The LLM's answer holds no choice.{told}")
    choice = choices[0]
    usage = _usage(completion)
    if getattr(choice.message, "refusal", None):
        raise LlmError("llm_refused", "The LLM refused to answer.", usage=usage)
    cut = was_cut(messages, usage.get("prompt_tokens"))
    if choice.finish_reason != "stop":
        reason = excerpt(str(choice.finish_reason), key)[:40]
        # A window that is too small for the prompt has no room for the answer either.
        told = f" It read {usage['prompt_tokens']} tokens of a longer prompt: raise its context length." if cut else ""
        raise LlmError("llm_cut_off", f"The LLM did not finish its answer (finish_reason {reason}).{told}", usage=usage)
    text = choice.message.content
    if not isinstance(text, str) or not text.strip():
        raise LlmError("llm_empty", "The LLM's answer is empty.", usage=usage)
    return Reply(text, usage, cut)


def _usage(completion: Any) -> dict[str, int]:
    usage = getattr(completion, "usage", None)
    counted = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    return {name: count for name, count in counted.items() if isinstance(count, int)}


def key_of(settings: Settings) -> str:
    """The key of the settings' LLM; raises LlmError where it can't be read, or can't be one, or there is no LLM."""
    if not settings.llmaas_api_url:
        raise LlmError("llm_not_configured", "LLMAAS_API_URL is not set.")
    configured = settings.llmaas_api_key
    # On AWS the setting is the name of a SecureString parameter; names that matter begin with a slash, keys never do.
    named = configured.startswith("/")
    # A file's last line break is no part of the key in it.
    key = (_parameter(configured) if named else configured).strip()
    if (named and not key) or not (key.isascii() and key.isprintable()):
        raise LlmError("llm_key_unreadable", "The LLM's key is empty, or has characters that no key can have.")
    return key or "none"


def _parameter(name: str) -> str:
    from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        return str(_provider().get(name, max_age=KEY_SECONDS, decrypt=True))
    except (parameters.exceptions.GetParameterError, BotoCoreError) as error:
        raise LlmError("llm_key_unreadable", "The parameter with the LLM's key can't be read.") from error


@lru_cache(maxsize=1)
def _provider() -> Any:
    from aws_lambda_powertools.utilities.parameters import SSMProvider  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    # Health waits for it: with botocore's own limits (a minute, several times) the function would end first.
    return SSMProvider(boto_config=Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2}))

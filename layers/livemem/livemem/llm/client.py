"""The LLM behind any OpenAI-compatible API, and the one place where its failures become own ones."""

import http.client
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from livemem.errors import LiveMemoryError
from livemem.settings import Settings

logger = logging.getLogger(__name__)

Messages = list[dict[str, str]]
"""A conversation as the API takes it: `role` and `content` of each message."""

KEY_SECONDS = 300
"""How long a key read from its parameter is kept, so that a new one is taken up without a deployment."""


@dataclass(frozen=True)
class Reply:
    """The model's text, and the provider's count of tokens (`prompt_tokens`, `completion_tokens`)."""

    text: str
    usage: dict[str, int] = field(default_factory=dict)


class LlmError(LiveMemoryError):
    """The LLM gave no usable answer. `code` is stable; `detail` is for the user."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


Ask = Callable[[Messages, int | None, float], Reply]
"""Messages, the most tokens of the answer (None: left to the provider) and seconds -> the reply; raises LlmError."""


def connect(settings: Settings) -> Ask:
    """A function that asks the settings' LLM, once per call and without retries of its own: calls are counted."""

    def ask(messages: Messages, max_tokens: int | None, timeout: float) -> Reply:
        # Imported here: the package takes a second to load, and only this function needs it.
        import openai  # noqa: PLC0415

        if not settings.llmaas_api_url:
            raise LlmError("llm_not_configured", "LLMAAS_API_URL is not set.")
        client = openai.OpenAI(
            base_url=settings.llmaas_api_url, api_key=_api_key(settings.llmaas_api_key), max_retries=0, timeout=timeout
        )
        optional: dict[str, Any] = {}
        if max_tokens is not None:
            optional["max_tokens"] = max_tokens
        if settings.llmaas_temperature is not None:
            optional["temperature"] = settings.llmaas_temperature
        if settings.llmaas_json_mode:
            optional["response_format"] = {"type": "json_object"}
        try:
            create: Callable[..., object] = client.chat.completions.create
            request = partial(create, model=settings.llmaas_model, messages=messages, **optional)
            return _reply(_within(timeout, request))
        except (openai.APITimeoutError, TimeoutError) as error:
            raise LlmError("llm_timeout", f"The LLM did not answer within {timeout:.0f} s.") from error
        except openai.APIConnectionError as error:
            raise LlmError("llm_unreachable", "The LLM could not be reached.") from error
        except openai.APIStatusError as error:
            code = "llm_throttled" if error.status_code == 429 else "llm_refused_request"
            code = "llm_unavailable" if error.status_code >= 500 else code
            raise LlmError(code, f"The LLM's API answered with status {error.status_code}.") from error
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, LookupError) as error:
            raise LlmError("llm_malformed", "The LLM's API answered with something that is no completion.") from error
        finally:
            client.close()

    return ask


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


def _reply(completion: Any) -> Reply:
    choices = completion.choices
    if not choices:
        raise LlmError("llm_empty", "The LLM's answer holds no choice.")
    choice = choices[0]
    if getattr(choice.message, "refusal", None):
        raise LlmError("llm_refused", "The LLM refused to answer.")
    if choice.finish_reason != "stop":
        reason = str(choice.finish_reason)[:40]
        raise LlmError("llm_cut_off", f"The LLM did not finish its answer (finish_reason {reason}).")
    text = choice.message.content
    if not isinstance(text, str) or not text.strip():
        raise LlmError("llm_empty", "The LLM's answer is empty.")
    usage = getattr(completion, "usage", None)
    counted = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    return Reply(text, {name: count for name, count in counted.items() if isinstance(count, int)})


def _api_key(configured: str) -> str:
    # On AWS the setting is the name of a SecureString parameter; names that matter begin with a slash, keys never do.
    if configured.startswith("/"):
        from aws_lambda_powertools.utilities import parameters  # noqa: PLC0415

        try:
            return parameters.get_parameter(configured, decrypt=True, max_age=KEY_SECONDS)
        except parameters.exceptions.GetParameterError as error:
            raise LlmError("llm_key_unreadable", "The parameter with the LLM's key can't be read.") from error
    return configured or "none"


def reachable(settings: Settings, *, timeout: float = 3) -> bool:
    """Whether something that speaks HTTP answers at the LLM's address; asks without the key, so it costs nothing."""
    url = f"{(settings.llmaas_api_url or '').rstrip('/')}/models"
    try:
        with urllib.request.urlopen(url, timeout=timeout):  # noqa: S310 - the operator's own setting
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, ValueError, http.client.HTTPException):
        return False

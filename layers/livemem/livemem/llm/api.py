"""One request to an OpenAI-compatible API. This is the one place where its failures become the service's errors."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from livemem.background import within
from livemem.errors import LiveMemoryError
from livemem.llm import advice
from livemem.outbound import secret_parameter
from livemem.outbound.secret_parameter import SecretUnreadable
from livemem.text.excerpt import excerpt

if TYPE_CHECKING:
    from types import ModuleType

    import openai

T = TypeVar("T")

Headers = Callable[[], Mapping[str, str]]
"""The headers that a request of this moment gets beside the SDK's own."""

ANSWER_BYTES = 8 * 1024 * 1024
"""Most bytes of one answer's body. 100,000 tokens of an answer are about 400 kB, and 2.4 MB if all is escaped."""


class ApiError(LiveMemoryError):
    """The API gave no usable answer. `code` is stable; `detail` is for the user.

    `http_status` is the status of an error response, and `wait` the seconds that it asks to wait.
    """

    def __init__(self, code: str, detail: str, status: int | None = None, *, wait: float | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.http_status = status
        self.wait = wait


@dataclass(frozen=True, repr=False)
class LlmApi:
    """An API as the settings define it, and how errors name it.

    `name` begins its errors' codes, `title` is for sentences, `variable` begins its settings' names. `key` is the key,
    or the name of the parameter that holds it.
    """

    name: str
    title: str
    variable: str
    error: type[ApiError]
    url: str | None
    key: str
    headers: Headers = dict

    def failed(self, kind: str, detail: str, status: int | None = None, *, wait: float | None = None) -> ApiError:
        """The API's own error of this kind."""
        return self.error(f"{self.name}_{kind}", detail, status, wait=wait)


def call(
    api: LlmApi,
    key: str,
    timeout: float,
    request: Callable[["openai.OpenAI"], object],
    read: Callable[[Any], T],
    *,
    most: int = ANSWER_BYTES,
) -> T:
    """What `read` makes of the answer to one request. Every failure becomes the API's own error here.

    `timeout` is in seconds, for the whole call. At most `most` bytes of the answer's body are read.
    """
    openai = sdk(api.name)

    from livemem.outbound import http_client  # noqa: PLC0415

    http = http_client.http_client(timeout, most)
    try:
        client = openai.OpenAI(
            base_url=api.url,
            api_key=key,
            max_retries=0,
            timeout=timeout,
            http_client=http,
            default_headers=api.headers(),
        )
        answer = within(timeout, lambda: request(client))
        if isinstance(answer, str):
            raise _foreign(api, answer)
        return read(answer)
    except (openai.APITimeoutError, TimeoutError) as error:
        raise api.failed(
            "timeout", f"The {api.title} did not answer within {timeout:.{int(timeout < 2)}f} s."
        ) from error
    except http_client.TooMuch as error:
        raise api.failed("too_large", f"The {api.title}'s API answered with more than {most} bytes.") from error
    except openai.APIConnectionError as error:
        how = advice.unreachable(api.variable, error)
        raise api.failed("unreachable", f"The {api.title} could not be reached.{how}") from error
    except openai.APIStatusError as error:
        raise _refusal(api, error, key) from error
    except json.JSONDecodeError as error:
        raise _foreign(api, error.doc) from error
    # A body of nothing but brackets ends the parser's recursion.
    except (
        openai.OpenAIError,
        ArithmeticError,
        AttributeError,
        TypeError,
        ValueError,
        LookupError,
        RecursionError,
    ) as error:
        raise _foreign(api) from error
    finally:
        http.close()


def _foreign(api: LlmApi, body: str = "") -> ApiError:
    """The error for an answer of another form, of which `body` is the text."""
    if advice.STREAM.match(body):
        return api.failed(
            "only_streams", f"The {api.title}'s API answered with a stream.{advice.streams(api.variable)}"
        )
    how = advice.page(api.variable) if advice.PAGE.match(body) else advice.malformed(api.variable)
    return api.failed("malformed", f"The {api.title}'s API did not answer in OpenAI's format.{how}")


def sdk(name: str) -> "ModuleType":
    """The SDK. The answer models of the API that errors call `name` are built.

    The SDK builds them when an answer is first read. If several threads do that at once, one may meet a model that
    another has half built: PydanticUserError, or AttributeError. So the first thread reads an answer that needs all of
    them, in some 0.2 s, and the others wait for it. Nothing is sent.
    """
    with _LOADING:
        # Imported here: the package takes a second to load, and few functions need it.
        import openai  # noqa: PLC0415

        if name not in _READ:
            _read_answer(openai, name)
            _READ.add(name)
    return openai


def _read_answer(openai: "ModuleType", name: str) -> None:
    import httpx2  # noqa: PLC0415

    embedded = name == "embedding"
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=_EMBEDDED if embedded else _SAID))
    with httpx2.Client(transport=transport) as http:
        client = openai.OpenAI(base_url="http://nowhere.invalid/v1", api_key="none", max_retries=0, http_client=http)
        if embedded:
            client.embeddings.create(model="none", input="", encoding_format="float")
        else:
            client.chat.completions.create(model="none", messages=[])


_LOADING = threading.Lock()
_READ: set[str] = set()
"""Of the interpreter, as the SDK is."""
_CALL = {"id": "x", "type": "function", "function": {"name": "x", "arguments": "{}"}}
_TOKENS = {"prompt_tokens": 1, "total_tokens": 1}
_SAID = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "none",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "x", "tool_calls": [_CALL]},
        }
    ],
    "usage": {**_TOKENS, "completion_tokens": 0},
}
_EMBEDDED = {
    "object": "list",
    "model": "none",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    "usage": _TOKENS,
}


def provider_message(body: object, key: str) -> str:
    """The provider's message in an error's body, as a sentence to add; "" if there is none."""
    message = excerpt(body, key)
    return f' It says: "{message}".' if message else ""


def _refusal(api: LlmApi, error: "openai.APIStatusError", key: str) -> ApiError:
    """The error for an error response."""
    status = error.status_code
    kind = "throttled" if status == 429 else "refused_request"
    kind = "unavailable" if status >= 500 else kind
    message = provider_message(error.body, key)
    if status >= 400:
        message += advice.refused(api.variable, status, f"{excerpt(error.body, key)} {_code_of(error.body)}")
    else:
        message = f" A redirect is not followed: set {api.variable}_API_URL to the address that it leads to."
    detail = f"The {api.title}'s API answered with status {status}.{message}"
    return api.failed(kind, detail, status, wait=_wait(error.response.headers.get("retry-after")))


def _code_of(body: object) -> str:
    """The code that an error's body names, such as `model_not_found`; "" if it names none."""
    code = body.get("code") if isinstance(body, dict) else None
    return code if isinstance(code, str) else ""


def _wait(value: str | None) -> float | None:
    """The seconds of a Retry-After header. None if it is absent or a date, which needs two clocks to agree."""
    text = (value or "").strip()
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else None


def key_of(api: LlmApi) -> str:
    """The API's key. Raises the API's error if the key can't be read, is invalid, or there is no API."""
    if not api.url:
        raise api.failed("not_configured", f"{api.variable}_API_URL is not set.")
    try:
        key = secret_parameter.read(api.key, f"{api.title}'s key")
    except SecretUnreadable as error:
        raise api.failed("key_unreadable", str(error)) from error
    return key or "none"

"""Reads an answer of the service, or of another server that answered instead."""

import importlib
import json
from http import HTTPStatus
from typing import Any

import httpx

from live_memory._building import MARKDOWN, Request
from live_memory.errors import FieldProblem, LiveMemoryError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_SHOWN = 200
_REQUEST_IDS = ("apigw-requestid", "x-amzn-requestid")


def read(response: httpx.Response, request: Request) -> Any:
    """The body of a success: JSON, or Markdown where that was asked for. Raises LiveMemoryError."""
    if not response.is_success:
        raise problem(response)
    in_markdown = request.headers.get("Accept") == MARKDOWN
    # A search may find nothing: the empty text is Markdown too.
    if not response.content and not (in_markdown and response.headers.get("Content-Type", "").startswith(MARKDOWN)):
        if request.operation.answer is None:
            return None
        raise _unexpected(response, "it is empty")
    if in_markdown:
        # A sign-in page is no memory: hooks would give it to a model.
        if not response.headers.get("Content-Type", "").startswith(MARKDOWN):
            raise _unexpected(response, "it is not Markdown")
        return response.content.decode("utf-8", "replace")
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        raise _unexpected(response, "it is not JSON") from None


def as_model(request: Request, answer: Any) -> Any:
    """The answer as the operation's model; raises LiveMemoryError."""
    if request.operation.answer is None:
        return None
    # A program that needs no models does not load them.
    from pydantic import ValidationError  # noqa: PLC0415

    models = importlib.import_module("live_memory.models")
    try:
        return getattr(models, request.operation.answer).model_validate(answer)
    except ValidationError as error:
        # Its own text would show the values.
        where = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False)[:3])
        detail = (
            f"The answer does not have the form of {request.operation.name} ({where}). Update the client if "
            "it is older than the service."
        )
        raise LiveMemoryError("unexpected_answer", detail) from None


def problem(response: httpx.Response) -> LiveMemoryError:
    """The error of an answer that is no success."""
    status = response.status_code
    if response.is_redirect:
        detail = (
            "The answer is a redirect, which is not followed, because the token would be sent along. Check the URL."
        )
        return LiveMemoryError("redirected", detail, status=status)
    told = _problem_document(response)
    code = told.get("code")
    return LiveMemoryError(
        code if isinstance(code, str) else _code_of(status),
        str(told.get("detail") or told.get("message") or _described(response)),
        status=status,
        fields=tuple(_fields(told.get("errors"))),
        request_id=_request_id(response, told),
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def broken(error: httpx.HTTPError) -> LiveMemoryError:
    """The error for a request that had no answer. It names the address if no server was reached."""
    # These fail before the first byte is sent.
    before = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError))
    reason = str(error) or type(error).__name__
    if before:
        return LiveMemoryError("no_connection", f"No connection{_whereto(error)}: {reason}{_local(error)}")
    return LiveMemoryError("no_answer", f"There was no answer: {reason}")


def _url(error: httpx.HTTPError) -> httpx.URL | None:
    try:
        return error.request.url
    except RuntimeError:
        return None


def _whereto(error: httpx.HTTPError) -> str:
    url = _url(error)
    return f" to {url.scheme}://{url.netloc.decode()}" if url else ""


def _local(error: httpx.HTTPError) -> str:
    """The advice if nothing listens on this machine."""
    url = _url(error)
    if not url or url.host not in LOOPBACK:
        return ""
    return ". Is the service running? In the folder of Live Memory, `make run` starts it"


def _unexpected(response: httpx.Response, why: str) -> LiveMemoryError:
    detail = f"The answer is not from the service: {why} ({_described(response)})."
    return LiveMemoryError("unexpected_answer", detail, status=response.status_code)


def _problem_document(response: httpx.Response) -> dict[str, Any]:
    try:
        told = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _code_of(status: int) -> str:
    """The code of an answer that a proxy or gateway before the service gives."""
    return "throttled" if status == HTTPStatus.TOO_MANY_REQUESTS else "not_the_service"


def _described(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "no content type")[:_SHOWN]
    return f"{response.status_code} {response.reason_phrase[:_SHOWN]}, {kind}"


def _fields(told: Any) -> list[FieldProblem]:
    items = told if isinstance(told, list) else []
    return [
        FieldProblem(str(one.get("field", "")), str(one.get("message", ""))) for one in items if isinstance(one, dict)
    ]


def _request_id(response: httpx.Response, told: dict[str, Any]) -> str | None:
    found = told.get("request_id") or next(
        (response.headers[name] for name in _REQUEST_IDS if name in response.headers), None
    )
    return str(found) if found else None


def _seconds(told: str | None) -> int | None:
    """The seconds of Retry-After. The service does not use its form with a date."""
    return int(told) if told and told.isascii() and told.isdigit() and len(told) < 10 else None

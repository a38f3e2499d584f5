"""Reads an answer of the service, or of another server that answered instead."""

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from live_memory._building import MARKDOWN, Request
from live_memory.errors import FieldProblem, LiveMemoryError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_SHOWN = 200
_REQUEST_IDS = ("apigw-requestid", "x-amzn-requestid")
_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP, also of a request that httpx did not send. The names of headers are in small letters."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


def read(response: Reply, request: Request) -> Any:
    """The body of a success: JSON, or Markdown where that was asked for. Raises LiveMemoryError."""
    if not 200 <= response.status < 300:
        raise problem(response)
    in_markdown = request.headers.get("Accept") == MARKDOWN
    # A search may find nothing: the empty text is Markdown too.
    if not response.content and not (in_markdown and response.headers.get("content-type", "").startswith(MARKDOWN)):
        if request.operation.answer is None:
            return None
        raise _unexpected(response, "it is empty")
    if in_markdown:
        # A sign-in page is no memory: hooks would give it to a model.
        if not response.headers.get("content-type", "").startswith(MARKDOWN):
            raise _unexpected(response, "it is not Markdown")
        return response.content.decode("utf-8", "replace")
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        raise _unexpected(response, "it is not JSON") from None


def as_model(request: Request, answer: Any) -> Any:
    """The answer as the operation's model; raises LiveMemoryError."""
    if request.answer is None:
        return None
    # A program that needs no models does not load them.
    from pydantic import ValidationError  # noqa: PLC0415

    models = importlib.import_module("live_memory.models")
    try:
        return getattr(models, request.answer).model_validate(answer)
    except ValidationError as error:
        # Its own text would show the values.
        where = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False)[:3])
        detail = (
            f"The answer does not have the form of {request.operation.name} ({where}). Update the client if "
            "it is older than the service."
        )
        raise LiveMemoryError("unexpected_answer", detail) from None


def problem(response: Reply) -> LiveMemoryError:
    """The error of an answer that is no success."""
    status = response.status
    if 300 <= status < 400:
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


def no_connection(reason: str, whereto: str | None) -> LiveMemoryError:
    """The error for a request of which nothing was sent. `whereto` is scheme, host and port, if they are known."""
    to = f" to {whereto}" if whereto else ""
    local = urlsplit(whereto or "").hostname in LOOPBACK
    advice = ". Is the service running? `livemem serve --background` starts it" if local else ""
    return LiveMemoryError("no_connection", f"No connection{to}: {reason}{advice}")


def no_answer(reason: str) -> LiveMemoryError:
    """The error for a request that was sent, or partly, and had no answer."""
    return LiveMemoryError("no_answer", f"There was no answer: {reason}")


def _unexpected(response: Reply, why: str) -> LiveMemoryError:
    detail = f"The answer is not from the service: {why} ({_described(response)})."
    return LiveMemoryError("unexpected_answer", detail, status=response.status)


def _problem_document(response: Reply) -> dict[str, Any]:
    try:
        told = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _code_of(status: int) -> str:
    """The code of an answer that a proxy or gateway before the service gives."""
    return "throttled" if status == _TOO_MANY_REQUESTS else "not_the_service"


def _described(response: Reply) -> str:
    kind = response.headers.get("content-type", "no content type")[:_SHOWN]
    return f"{response.status} {response.reason[:_SHOWN]}, {kind}"


def _fields(told: Any) -> list[FieldProblem]:
    items = told if isinstance(told, list) else []
    return [
        FieldProblem(str(one.get("field", "")), str(one.get("message", ""))) for one in items if isinstance(one, dict)
    ]


def _request_id(response: Reply, told: dict[str, Any]) -> str | None:
    found = told.get("request_id") or next(
        (response.headers[name] for name in _REQUEST_IDS if name in response.headers), None
    )
    return str(found) if found else None


def _seconds(told: str | None) -> int | None:
    """The seconds of Retry-After. The service does not use its form with a date."""
    return int(told) if told and told.isascii() and told.isdigit() and len(told) < 10 else None

"""Errors as RFC 9457 problem documents: the one place where an error becomes an HTTP answer."""

import json
import logging
import traceback
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import BaseModel

from livemem.errors import FieldError, InvalidRequest, LiveMemoryError

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
LOCATIONS = ("body", "query", "path", "header", "form")


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """A problem document. `code` is stable (docs/errors.md); `errors` names fields where there are any."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldProblem] | None = None


def own(error: Exception) -> LiveMemoryError:
    """Any error as one of ours. What is unexpected is logged by type and place, never by text: that may hold data."""
    if isinstance(error, LiveMemoryError):
        return error
    if isinstance(error, RequestValidationError) and not any(_is_ours(item) for item in error.errors()):
        return _validation(error)
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    where = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    logger.error("unexpected error", extra={"error": type(error).__name__, "where": where})
    return LiveMemoryError("The service failed unexpectedly; the log has the request id.")


def response(error: Exception, request_id: str) -> Response[str]:
    """The answer for an error."""
    known = own(error)
    problem = Problem(
        title=HTTPStatus(known.status).phrase,
        status=known.status,
        detail=known.detail,
        code=known.code,
        request_id=request_id,
        errors=[FieldProblem(field=item.field, message=item.message) for item in known.fields] or None,
    )
    headers: dict[str, str | list[str]] = {}
    if known.retry_after is not None:
        headers["Retry-After"] = str(known.retry_after)
    if known.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(known.status, MEDIA_TYPE, json.dumps(problem.model_dump(exclude_none=True)), headers)


def _is_ours(item: dict[str, Any]) -> bool:
    # The resolver reports an answer that breaks its own model in the same way as a bad request.
    return bool(item.get("loc")) and item["loc"][0] == "response"


def _validation(error: RequestValidationError) -> InvalidRequest:
    fields = [FieldError(_field(item), str(item.get("msg", "is not valid"))) for item in error.errors()]
    return InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in fields[:3]), fields=fields)


def _field(item: dict[str, Any]) -> str:
    parts = [str(part) for part in item.get("loc", ())]
    return ".".join(parts[1:] if parts and parts[0] in LOCATIONS and len(parts) > 1 else parts) or "body"

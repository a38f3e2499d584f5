"""Errors as RFC 9457 problem documents: the one place where an error becomes an HTTP answer."""

import json
import logging
import traceback
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field

from livemem.errors import FieldError, InvalidRequest, LiveMemoryError, ObjectUnreadable, plain_reason
from livemem.text.redaction import redact
from livemem_http import bodies, texts

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
SHOWN_ERRORS = 20
SHOWN_CHARACTERS = 500
"""Characters of one text of a problem document: it repeats names and values that the client sent."""
READ_CHARACTERS = 20_000
"""Characters of such a text that are searched for secrets. The rest of the text is not shown."""
LOCATIONS = ("body", "query", "path", "header", "form")


class FieldProblem(BaseModel):
    """The error in one field."""

    field: Annotated[str, Field(description="The field in the body, the path or the query.", examples=["category"])]
    message: Annotated[str, Field(description="The error in this field.", examples=["must not be empty"])]


class Problem(BaseModel):
    """A problem document. `code` is stable (docs/errors.md); `errors` names fields where there are any."""

    type: Annotated[str, Field(description="Always `about:blank`. `code` identifies the error.")] = "about:blank"
    title: Annotated[str, Field(description="The name of the status.")]
    status: Annotated[int, Field(description="The status of the answer.")]
    detail: Annotated[str, Field(description="The error, and how to resolve it.")]
    code: Annotated[str, Field(description="The error code; stable. errors.md lists all codes.")]
    request_id: Annotated[str, Field(description="The id of the request. The log can be searched by it.")]
    key: Annotated[
        str | None,
        Field(description="The key of the unreadable object. Only if an object cannot be read."),
    ] = None
    errors: Annotated[
        list[FieldProblem] | None,
        Field(description="The errors in single fields, at most 20. Only if there are any."),
    ] = None


def own(error: Exception, request_id: str) -> LiveMemoryError:
    """Any error as one of ours; every one with a 5xx leaves a log line with the request's id.

    An unexpected error is logged by type and place. Its text is never logged: it may hold data.
    """
    known = _known(error)
    if known:
        if known.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # Unavailability is a fault of another service. Only a 500 is a defect.
            level = logging.ERROR if known.status == HTTPStatus.INTERNAL_SERVER_ERROR else logging.WARNING
            logger.log(level, "request failed", extra={"code": known.code, "request_id": request_id})
        return known
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    where = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    logger.error("unexpected error", extra={"error": type(error).__name__, "where": where, "request_id": request_id})
    return LiveMemoryError("The service failed unexpectedly. Its log has the request id.")


def response(error: Exception, request_id: str) -> Response[str]:
    """The answer for an error."""
    known = own(error, request_id)
    fields = [FieldProblem(field=shown(item.field), message=shown(item.message)) for item in known.fields]
    problem = Problem(
        title=HTTPStatus(known.status).phrase,
        status=known.status,
        detail=shown(known.detail),
        code=known.code,
        request_id=request_id,
        key=known.key if isinstance(known, ObjectUnreadable) else None,
        errors=fields[:SHOWN_ERRORS] or None,
    )
    headers: dict[str, str | list[str]] = {}
    if known.retry_after is not None:
        headers["Retry-After"] = str(known.retry_after)
    if known.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps(problem.model_dump(exclude_none=True), ensure_ascii=False)
    return Response(known.status, MEDIA_TYPE, texts.sendable(body), headers)


def as_event_answer(error: Exception, request_id: str) -> dict[str, Any]:
    """The same as an HTTP API takes it from a function."""
    answer = response(error, request_id)
    headers = {"Content-Type": MEDIA_TYPE, **{name: str(value) for name, value in answer.headers.items()}}
    return {"statusCode": answer.status_code, "headers": headers, "body": answer.body, "isBase64Encoded": False}


def _known(error: Exception) -> LiveMemoryError | None:
    if isinstance(error, LiveMemoryError):
        return error
    if isinstance(error, RequestValidationError) and not any(_is_ours(item) for item in error.errors()):
        return _validation(error)
    return None


def shown(text: str) -> str:
    """A text of an error as the answer shows it: shortened, and without secrets."""
    # Names and values of the client's come back in it.
    text = redact(text[:READ_CHARACTERS])[0]
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _is_ours(item: dict[str, Any]) -> bool:
    # The resolver reports an answer that breaks its own model in the same way as a bad request.
    return bool(item.get("loc")) and item["loc"][0] == "response"


def _validation(error: RequestValidationError) -> InvalidRequest:
    items = error.errors()
    fields = [FieldError(_field(item), plain_reason(item.get("msg", "is not valid"))) for item in items[:SHOWN_ERRORS]]
    more = f" (and {len(items) - 3} more)" if len(items) > 3 else ""
    return InvalidRequest("; ".join(f"{shown(i.field)}: {shown(i.message)}" for i in fields[:3]) + more, fields=fields)


def _field(item: dict[str, Any]) -> str:
    # Which form of a body was sent is no field.
    parts = [part for part in map(str, item.get("loc", ())) if part not in bodies.FORMS]
    return ".".join(parts[1:] if parts and parts[0] in LOCATIONS and len(parts) > 1 else parts) or "body"

"""The HTTP side of a function: routes with what they need, access, bodies, and errors as problem documents.

Order for every request: size of the body, access, JSON, model. So nobody without access learns what a body should be,
and nothing is parsed that is too large.
"""

import base64
import binascii
import json
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from livemem import limits
from livemem.access import decision
from livemem.access.principal import Permission, Principal
from livemem.errors import AnswerTooLarge, LiveMemoryError, MalformedBody, NotConfigured, TooLarge
from livemem.store import keys
from livemem_http import environment, problems

logger = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

Needs = Permission | Literal["any", "nothing"]
"""What a route asks of the token: a permission, any valid token, or none at all."""

PROBLEMS = {
    400: "Body is not JSON",
    401: "No or bad token",
    403: "No permission, or the space is not in the token's list",
    404: "Something in the path does not exist",
    409: "Exists already, busy, or somebody else was faster",
    413: "The body, or the answer, is too large",
    422: "Does not fit the model",
    500: "A defect",
    503: "The store did not answer, or can't be used",
}


class RouteNotFound(LiveMemoryError):
    """No route of this function matches."""

    status = 404
    code = "route_not_found"


class Api:
    """The routes of one function."""

    def __init__(self) -> None:
        self.resolver = APIGatewayHttpResolver(enable_validation=True)
        self.needs: dict[str, Needs] = {}
        self.also: dict[str, HTTPStatus] = {}
        self.resolver.exception_handler(Exception)(self._answer_error)
        self.resolver.not_found(self._answer_not_found)

    def route(
        self,
        method: str,
        path: str,
        *,
        needs: Needs,
        status: int = HTTPStatus.OK,
        also: HTTPStatus | None = None,
        summary: str,
    ) -> Callable[[F], F]:
        """Declare a route. `path` as in the template, `{name}` for one part, `{name+}` for the rest of the path.

        `also` is another status of the same answer, for OpenAPI.
        """
        self.needs[f"{method} {path}"] = needs
        if also:
            self.also[f"{method} {path}"] = also
        rule = path.replace("{path+}", ".+").replace("{", "<").replace("}", ">")
        described: dict[int, Any] = {
            code: {"description": text, "content": {problems.MEDIA_TYPE: {"model": problems.Problem}}}
            for code, text in PROBLEMS.items()
            if (code != HTTPStatus.NOT_FOUND or "{" in path) and (code != HTTPStatus.CONFLICT or method != "GET")
        }
        return self.resolver.route(
            rule,
            method,
            status_code=int(status),
            summary=summary,
            responses={int(status): {"description": HTTPStatus(status).phrase}, **described},
            operation_id=summary.lower().replace(" ", "_").replace("'", ""),
        )

    def handle(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one HTTP API event (payload 2.0)."""
        try:
            event = self._admitted(event)
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
            return self._plain(error, event)
        answer = self.resolver.resolve(event, context)
        if _is_too_large(answer.get("body") or ""):
            # Lambda would refuse it, and API Gateway would answer for us, without a word of help.
            read = str(event.get("routeKey")).startswith("GET ")
            answer_is = "The answer is" if read else "The request was carried out, but the answer is"
            detail = f"{answer_is} larger than {limits.ANSWER_BYTES} bytes: ask for its parts one by one."
            return self._plain(AnswerTooLarge(detail), event)
        return answer

    def _admitted(self, event: dict[str, Any]) -> dict[str, Any]:
        body = _body(event)
        needs = self.needs.get(str(event.get("routeKey")), "any")
        # API Gateway hands names over in lower case; `sam local` capitalises them.
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        space_id = (event.get("pathParameters") or {}).get("space_id")
        principal: Principal | None = None
        authorization = headers.get("authorization")
        if needs != "nothing" or authorization:
            if space_id is not None:
                keys.check_space_id(space_id)
            principal = self._authorised(authorization, needs, space_id)
        self.resolver.context["principal"] = principal
        if body is None:
            return event
        _check_json(body)
        # Whatever the client calls it, a body is JSON: curl says form data unless told otherwise.
        return {
            **event,
            "body": body,
            "isBase64Encoded": False,
            "headers": {**headers, "content-type": "application/json"},
        }

    @staticmethod
    def _authorised(authorization: str | None, needs: Needs, space_id: str | None) -> Principal | None:
        try:
            return decision.authorise(
                environment.process(),
                authorization,
                needs=None if needs in ("any", "nothing") else needs,  # type: ignore[arg-type]
                space_id=space_id,
            )
        except NotConfigured:
            # Nobody's token can be trusted; what is told to anybody (health says why) is told to this caller too.
            if needs != "nothing":
                raise
            return None

    def principal(self) -> Principal:
        """Who sent the request that is being answered."""
        found: Principal = self.resolver.context["principal"]
        return found

    def caller(self) -> Principal | None:
        """Who sent the request, or None on a route that needs no token."""
        return self.resolver.context.get("principal")

    def json(self, status: int, body: BaseModel, headers: dict[str, str] | None = None) -> Response[Any]:
        """An answer with a status or headers of its own."""
        return Response(int(status), "application/json", body, dict(headers or {}))

    def empty(self) -> Response[None]:
        """204."""
        return Response(int(HTTPStatus.NO_CONTENT))

    def path_rest(self) -> str:
        """The `{path+}` of the request, decoded."""
        return str(self.resolver.current_event.path_parameters["path"])

    def _plain(self, error: Exception, event: dict[str, Any]) -> dict[str, Any]:
        answer = problems.response(error, self._request_id(event))
        headers = {"Content-Type": problems.MEDIA_TYPE, **{name: str(value) for name, value in answer.headers.items()}}
        return {"statusCode": answer.status_code, "headers": headers, "body": answer.body, "isBase64Encoded": False}

    def _answer_error(self, error: Exception) -> Response[str]:
        return problems.response(error, self._request_id(self.resolver.current_event.raw_event))

    def _answer_not_found(self, _: Exception) -> Response[str]:
        return self._answer_error(RouteNotFound("There is no such route."))

    @staticmethod
    def _request_id(event: dict[str, Any]) -> str:
        return str((event.get("requestContext") or {}).get("requestId", ""))


def _body(event: dict[str, Any]) -> str | None:
    """The event's body as text, or None; raises TooLarge before anything is decoded, MalformedBody."""
    body = event.get("body")
    if not body:
        return None
    size = len(body) * 3 // 4 if event.get("isBase64Encoded") else len(body.encode(errors="replace"))
    if size > limits.BODY_BYTES:
        raise TooLarge.of("body", size, limits.BODY_BYTES)
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode()
    except (ValueError, binascii.Error):
        raise MalformedBody("The body is not JSON in UTF-8.") from None


def _is_too_large(body: str) -> bool:
    # Quick for all usual bodies: a character takes at most 4 bytes.
    return (
        len(body) * 4 > limits.ANSWER_BYTES
        and len(json.dumps(body, ensure_ascii=False).encode(errors="replace")) > limits.ANSWER_BYTES
    )


def _check_json(body: str) -> None:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedBody("The body is not JSON.") from None
    if not isinstance(parsed, dict):
        raise MalformedBody("The body must be a JSON object.")

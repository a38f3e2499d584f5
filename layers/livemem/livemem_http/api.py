"""The HTTP side of a function: routes with their permissions, access, bodies, and errors as problem documents.

Order for every request: route, size of the body, access, query, JSON, model. So a caller without access does not learn
the form of a query or body. A body that is too large is never parsed.
"""

import inspect
import json
import logging
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.openapi.compat import get_missing_field_error
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.params import Dependant
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from livemem import limits
from livemem.access import decision, request_rate, secret
from livemem.access.principal import PERMISSIONS, Permission, Principal
from livemem.errors import AnswerTooLarge, NotConfigured
from livemem.jobs.job import ENDED
from livemem.store import keys
from livemem.text import code_version
from livemem.text.code_version import CodeVersion
from livemem.text.invisible import visible
from livemem.text.language import Lang
from livemem_http import bodies, cost, environment, negotiation, problems, queries, routing, sending, texts
from livemem_http.routing import Match

logger = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

Needs = Permission | Literal["any", "rotation", "nothing"]
"""What a route asks of the token: a permission, any valid token, one that may be rotated (any valid one, and one whose
rotation is repeated with its key), or none at all.
"""
Renderer = Callable[[Any], str]
"""Makes Markdown of what a handler returns."""

ASK_AGAIN = "5"
"""Seconds after which to look at a job again."""

PROBLEMS = {
    400: "Body is not JSON",
    401: "No or bad token",
    403: "No permission, or the space is not in the token's list",
    404: "Something in the path does not exist",
    409: "Exists already, busy, or another request was faster",
    413: "The body, or the answer, is too large",
    422: "Does not fit the model",
    429: "Too soon after the last one, or too many",
    500: "A defect",
    503: "The store did not answer, or can't be used",
}


@dataclass
class _Request:
    """The request that a thread answers. `began` is set where a token is needed."""

    match: Match
    headers: Mapping[str, str]
    principal: Principal | None = None
    began: datetime | None = None
    varies: str = "Accept"


_REQUEST: ContextVar[_Request] = ContextVar("request")
"""Of each thread its own: the functions of a desk's service run in one process."""


def _rule(key: str) -> str:
    """A route's path as Powertools writes it."""
    return key.partition(" ")[2].replace("{path+}", ".+").replace("{", "<").replace("}", ">")


class Declarations(APIGatewayHttpResolver):
    """Powertools' record of the routes, for OpenAPI and for the fields that a request is checked with.

    Requests are not given to it. It matches `rawPath` with a regular expression, which may find another route than API
    Gateway did, keeps one request at a time, and looks at its records again for each: a fifth of an append.
    """

    def __init__(self) -> None:
        super().__init__(enable_validation=True)
        self._by_key: dict[str, Route] = {}

    def registered(self, key: str) -> Route:
        """Powertools' record of a declared route."""
        if key not in self._by_key:
            method, rule = key.partition(" ")[0], _rule(key)
            candidates = (*self._static_routes, *self._dynamic_routes)
            self._by_key[key] = next(route for route in candidates if (route.method, route.path) == (method, rule))
        return self._by_key[key]


class Api:
    """The routes of one function."""

    def __init__(self) -> None:
        self.declared = Declarations()
        self.needs: dict[str, Needs] = {}
        self.also: dict[str, tuple[HTTPStatus, ...]] = {}
        self.in_markdown: dict[str, Renderer] = {}

    def route(
        self,
        method: str,
        path: str,
        *,
        needs: Needs,
        status: int = HTTPStatus.OK,
        also: Collection[HTTPStatus] = (),
        markdown: Renderer | None = None,
        tag: str | None = None,
        refuses: Collection[int] = (),
        summary: str,
    ) -> Callable[[F], F]:
        """Declare a route. `path` as in the template, `{name}` for one part, `{path+}` for the rest of the path.

        `also`: other statuses of the same answer, for OpenAPI. `markdown` makes the Markdown form of what the handler
        returns, for clients that prefer `text/markdown`.
        OpenAPI has the handler's name as the operation's id, its docstring as the description, and puts it under `tag`.
        `refuses`: statuses of errors beyond those that its path and method imply.

        The answer to every GET has an ETag, and is not sent again to a client that names it (304).
        """
        key = f"{method} {path}"
        self.needs[key] = needs
        self.also[key] = tuple(also)
        described: dict[int, Any] = {
            code: {"description": text, "content": {problems.MEDIA_TYPE: {"model": problems.Problem}}}
            for code, text in PROBLEMS.items()
            if code in refuses
            or ((code != HTTPStatus.NOT_FOUND or "{" in path) and (code != HTTPStatus.CONFLICT or method != "GET"))
        }
        if markdown is not None:
            self.in_markdown[key] = markdown

        def register(handler: F) -> F:
            declare = self.declared.route(
                _rule(key),
                method,
                status_code=int(status),
                summary=summary,
                description=inspect.getdoc(handler),
                tags=[tag] if tag else None,
                responses={int(status): {"description": HTTPStatus(status).phrase}, **described},
                operation_id=handler.__name__,
            )
            declare(handler)
            return handler

        return register

    def handle(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG002
        """Answer one HTTP API event (payload 2.0)."""
        begun = cost.begin()
        try:
            # A context of its own, which ends with the request.
            answer = copy_context().run(self._answer, event)
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
            request_id = str(routing.request_context(event).get("requestId", ""))
            answer = problems.as_event_answer(error, request_id)
        return {**answer, "headers": {**answer["headers"], **cost.header(begun)}}

    def _answer(self, event: dict[str, Any]) -> dict[str, Any]:
        match = routing.match(event, self.needs)
        body = bodies.read_text(event)
        # API Gateway hands names over in lower case; `sam local` capitalises them.
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        _REQUEST.set(request := _Request(match, headers))
        request.principal = self._authorise(request, grants=routing.INVOKED_BY in event)
        query = event.get("queryStringParameters") or {}
        for given in (match.parameters, query, headers):
            texts.check(given)
        fields = self.declared.registered(match.key).dependant
        queries.check_names(event, {field.alias for field in fields.query_params})
        parsed = None
        if body is not None:
            # Whatever the client calls it, a body is JSON: curl says form data unless told otherwise.
            parsed = bodies.parse(body)
            texts.check(parsed)
        sent: dict[str, Any] = {"path": match.parameters, "query": query, "header": headers, "body": parsed}
        answer = self._call(request, _arguments(fields, sent))
        answer["body"] = texts.sendable(answer["body"] or "")
        if match.reads and answer["statusCode"] == HTTPStatus.OK:
            answer = sending.revalidated(answer, headers.get("if-none-match"))
        answer = sending.compressed(answer, headers.get("accept-encoding"))
        # Problem documents are short, so what is too large is the answer to a request that succeeded.
        if answer["statusCode"] < HTTPStatus.BAD_REQUEST and sending.is_too_large(answer):
            # Lambda would refuse it, and API Gateway would answer instead of us, without help for the client.
            answer_is = "The answer is" if match.reads else "The request was carried out, but the answer is"
            # Compressed it may be small enough.
            how = "" if answer["isBase64Encoded"] else ", or take it compressed (Accept-Encoding: gzip)"
            raise AnswerTooLarge(
                f"{answer_is} larger than {limits.ANSWER_BYTES} bytes: ask for its parts one by one{how}."
            )
        return answer

    def _call(self, request: _Request, arguments: dict[str, Any]) -> dict[str, Any]:
        """The handler's answer as an HTTP API takes it, in the form that the client prefers."""
        route, render = self.declared.registered(request.match.key), self.in_markdown.get(request.match.key)
        answer = route.func(**arguments)
        if not isinstance(answer, Response):
            answer = Response(route.status_code, negotiation.JSON, answer)
        headers = {name: str(value) for name, value in answer.headers.items()}
        body = answer.body
        if render and negotiation.prefers_markdown(request.headers.get("accept")):
            body = visible(render(body))
            headers["Content-Type"] = f"{negotiation.MARKDOWN}; charset=utf-8"
        elif body is not None:
            form = route.dependant.return_param
            assert form
            body, wrong = form.validate(body, loc=("response",))
            if wrong:
                raise RequestValidationError(wrong)
            body = json.dumps(form.serialize(body), ensure_ascii=False)
        if render:
            headers["Vary"] = request.varies
        return {"statusCode": answer.status_code, "body": body, "isBase64Encoded": False, "headers": headers}

    def _authorise(self, request: _Request, *, grants: bool) -> Principal | None:
        needs, space_id = self.needs[request.match.key], request.match.parameters.get("space_id")
        authorization, key = request.headers.get("authorization"), request.headers.get("idempotency-key")
        if needs == "nothing" and not authorization:
            return None
        try:
            # Before the first request to the store, which may be slow.
            request.began = environment.process().clock()
            principal = decision.authorise(
                environment.process(),
                authorization,
                needs=needs if needs in PERMISSIONS else None,  # type: ignore[arg-type]
                space_id=space_id,
                rotation=secret.rotation_digest(key) if needs == "rotation" and key else None,
                # A client of sign-in acts for a token, and never gets that or another one.
                grants=grants and needs != "rotation",
            )
        except NotConfigured:
            # No token can be trusted. This caller gets what everybody gets (health says why).
            if needs != "nothing":
                raise
            return None
        if space_id is not None:
            keys.check_space_id(space_id)
        return principal

    def answer_model(self, key: str) -> type[BaseModel]:
        """The model of a declared route's answer. Its handler returns this model, or a response with it."""
        returned = get_type_hints(self.declared.registered(key).func)["return"]
        found: type[BaseModel] = next(iter(get_args(returned)), returned)
        return found

    def principal(self) -> Principal:
        """The sender of the request that is being answered."""
        found = _REQUEST.get().principal
        assert found
        return found

    def began(self) -> datetime:
        """When the request that is being answered came, on a route that needs a token."""
        began = _REQUEST.get().began
        assert began
        return began

    def count_batch(self, space_id: str, items: int) -> None:
        """Count the items of a batch as requests of their own, before any of them is written. Raises CapReached."""
        # The request itself is counted already.
        if items > 1:
            request_rate.check(environment.process(), self.principal(), space_id, items - 1, "write")

    def token(self) -> str:
        """The token of the request that is being answered, which was checked."""
        return _REQUEST.get().headers.get("authorization", "").partition(" ")[2].strip(" \t")

    def caller(self) -> Principal | None:
        """The sender of the request, or None on a route that needs no token."""
        return _REQUEST.get().principal

    def json(self, status: int, body: BaseModel, headers: dict[str, str] | None = None) -> Response[Any]:
        """An answer with a status or headers of its own."""
        return Response(int(status), negotiation.JSON, body, dict(headers or {}))

    def accepted(self, body: BaseModel) -> Response[Any]:
        """202, with the job (`body.job`) that continues the work, and when to look at it if it has not ended yet."""
        told = body.model_dump(include={"job", "status"})
        wait = {} if told.get("status") in ENDED else {"Retry-After": ASK_AGAIN}
        return self.json(HTTPStatus.ACCEPTED, body, {"Location": f"/v1/jobs/{told['job']}", **wait})

    def empty(self) -> Response[None]:
        """204."""
        return Response(int(HTTPStatus.NO_CONTENT))

    def language(self) -> Lang | None:
        """The language of headings that Accept-Language asks for; the answer says that it depends on it."""
        request = _REQUEST.get()
        request.varies = "Accept, Accept-Language"
        return negotiation.language(request.headers.get("accept-language"))

    def reader(self) -> CodeVersion:
        """The version of the code that the caller works on, by its header; the answer says that it depends on it."""
        request = _REQUEST.get()
        request.varies = f"{request.varies}, {code_version.HEADER.title()}"
        return CodeVersion.of_header(request.headers.get(code_version.HEADER))

    def path_rest(self) -> str:
        """The `{path+}` of the request, decoded."""
        return _REQUEST.get().match.parameters["path"]


def _arguments(fields: Dependant, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a handler takes, checked with the fields that it declares. Raises RequestValidationError with all errors."""
    taken: dict[str, Any] = {}
    errors: list[dict[str, Any]] = []
    for field in (*fields.path_params, *fields.query_params, *fields.header_params, *fields.body_params):
        where = getattr(field.field_info, "in_", None)
        # A body is one field, which no error names.
        loc = (where.value, field.alias) if where else ("body",)
        sent = given[loc[0]]
        value = (sent or {}).get(field.alias) if where else sent
        if value is not None:
            taken[field.name], wrong = field.validate(value, loc=loc)
            errors += wrong or ()
        elif field.required:
            errors.append(get_missing_field_error(loc))
        else:
            taken[field.name] = field.get_default()
    if errors:
        raise RequestValidationError(errors)
    return taken

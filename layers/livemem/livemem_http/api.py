"""The HTTP side of a function: routes with their permissions, access, bodies, and errors as problem documents.

Order for every request: route, size of the body, access, query, JSON, model. So a caller without access does not learn
the form of a query or body. A body that is too large is never parsed.
"""

import inspect
import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from livemem import limits
from livemem.access import decision, request_rate, secret
from livemem.access.principal import PERMISSIONS, Permission, Principal
from livemem.errors import AnswerTooLarge, NotConfigured
from livemem.jobs.job import ENDED
from livemem.store import keys
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


_EVENT: ContextVar[APIGatewayProxyEventV2] = ContextVar("event")
_CONTEXT: ContextVar[dict[str, Any]] = ContextVar("context")
"""What Powertools knows of the request that a thread answers."""


def _rule(key: str) -> str:
    """A route's path as Powertools writes it."""
    return key.partition(" ")[2].replace("{path+}", ".+").replace("{", "<").replace("}", ">")


class Resolver(APIGatewayHttpResolver):
    """Powertools' resolver, which is given the route and its parameters instead of matching the path a second time.

    Powertools itself matches `rawPath` with a regular expression, which may find another route than API Gateway did. It
    also keeps the request in the resolver, for one at a time. Here each thread has its own.
    """

    def __init__(self) -> None:
        super().__init__(serializer=partial(json.dumps, ensure_ascii=False), enable_validation=True)
        self._by_key: dict[str, Route] = {}
        self._building = threading.Lock()

    @property
    def current_event(self) -> APIGatewayProxyEventV2:  # type: ignore[override]
        """The event of the request."""
        return _EVENT.get()

    @property
    def context(self) -> dict[str, Any]:
        """Data of the request, by name."""
        return _CONTEXT.get()

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        _CONTEXT.set(value)

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer an event."""
        _EVENT.set(APIGatewayProxyEventV2(dict(event)))
        return super().resolve(event, context)

    def registered(self, key: str) -> Route:
        """Powertools' record of a declared route."""
        if key not in self._by_key:
            method, rule = key.partition(" ")[0], _rule(key)
            candidates = (*self._static_routes, *self._dynamic_routes)
            self._by_key[key] = next(route for route in candidates if (route.method, route.path) == (method, rule))
        return self._by_key[key]

    def _resolve(self) -> ResponseBuilder[BaseProxyEvent]:
        match: Match = self.context["match"]
        route = self.registered(match.key)
        self.context |= {"_route": route, "_path": self.current_event.path}
        with self._building:
            if not route._middleware_stack_built:  # noqa: SLF001
                # Of two first calls at once each would add the middleware.
                route._build_middleware_stack(router_middlewares=self._router_middlewares, app=self)  # noqa: SLF001
        return self._call_route(route, dict(match.parameters))


class Api:
    """The routes of one function."""

    def __init__(self) -> None:
        self.resolver = Resolver()
        self.needs: dict[str, Needs] = {}
        self.also: dict[str, tuple[HTTPStatus, ...]] = {}
        self.in_markdown: dict[str, Renderer] = {}
        self.resolver.exception_handler(Exception)(self._answer_error)

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
            declare = self.resolver.route(
                _rule(key),
                method,
                status_code=int(status),
                summary=summary,
                description=inspect.getdoc(handler),
                tags=[tag] if tag else None,
                responses={int(status): {"description": HTTPStatus(status).phrase}, **described},
                operation_id=handler.__name__,
                middlewares=[_negotiated(markdown)] if markdown else None,
            )
            declare(self._noting(handler) if markdown else handler)
            return handler

        return register

    def _noting(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """The handler, which also keeps its model for the renderer: a response has the model only as JSON."""

        @wraps(handler)
        def noting(**arguments: Any) -> Any:
            answer = handler(**arguments)
            self.resolver.context["model"] = answer.body if isinstance(answer, Response) else answer
            return answer

        return noting

    def handle(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one HTTP API event (payload 2.0)."""
        begun = cost.begin()
        self.resolver.context = {}
        try:
            answer = self._answer(event, context)
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
            answer = problems.as_event_answer(error, self._request_id(event))
        return {**answer, "headers": {**answer["headers"], **cost.header(begun)}}

    def _answer(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        match = routing.match(event, self.needs)
        body = bodies.read_text(event)
        # API Gateway hands names over in lower case; `sam local` capitalises them.
        headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
        principal = self._authorise(match, headers, grants=routing.INVOKED_BY in event)
        for given in (match.parameters, event.get("queryStringParameters") or {}, headers):
            texts.check(given)
        queries.check_names(event, self._query_names(match))
        if body is not None:
            texts.check(bodies.parse(body))
        self.resolver.context |= {"match": match, "principal": principal}
        # Whatever the client calls it, a body is JSON: curl says form data unless told otherwise.
        headers["content-type"] = negotiation.JSON
        answer = self.resolver.resolve({**event, "body": body, "isBase64Encoded": False, "headers": headers}, context)
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

    def _authorise(self, match: Match, headers: Mapping[str, str], *, grants: bool) -> Principal | None:
        needs, space_id = self.needs[match.key], match.parameters.get("space_id")
        authorization, key = headers.get("authorization"), headers.get("idempotency-key")
        if needs == "nothing" and not authorization:
            return None
        try:
            # Before the first request to the store, which may be slow.
            self.resolver.context["began"] = environment.process().clock()
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

    def _query_names(self, match: Match) -> set[str]:
        return {field.alias for field in self.resolver.registered(match.key).dependant.query_params}

    def answer_model(self, key: str) -> type[BaseModel]:
        """The model of a declared route's answer. Its handler returns this model, or a response with it."""
        returned = get_type_hints(self.resolver.registered(key).func)["return"]
        found: type[BaseModel] = next(iter(get_args(returned)), returned)
        return found

    def principal(self) -> Principal:
        """The sender of the request that is being answered."""
        found: Principal = self.resolver.context["principal"]
        return found

    def began(self) -> datetime:
        """When the request that is being answered came, on a route that needs a token."""
        found: datetime = self.resolver.context["began"]
        return found

    def count_batch(self, space_id: str, items: int) -> None:
        """Count the items of a batch as requests of their own, before any of them is written. Raises CapReached."""
        # The request itself is counted already.
        if items > 1:
            request_rate.check(environment.process(), self.principal(), space_id, items - 1, "write")

    def token(self) -> str:
        """The token of the request that is being answered, which was checked."""
        return str(self.resolver.current_event.headers.get("authorization", "")).partition(" ")[2].strip(" \t")

    def caller(self) -> Principal | None:
        """The sender of the request, or None on a route that needs no token."""
        return self.resolver.context.get("principal")

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
        self.resolver.context["varies"] = "Accept, Accept-Language"
        return negotiation.language(self.resolver.current_event.headers.get("accept-language"))

    def path_rest(self) -> str:
        """The `{path+}` of the request, decoded."""
        match: Match = self.resolver.context["match"]
        return match.parameters["path"]

    def _answer_error(self, error: Exception) -> Response[str]:
        return problems.response(error, self._request_id(self.resolver.current_event.raw_event))

    @staticmethod
    def _request_id(event: dict[str, Any]) -> str:
        return str(routing.request_context(event).get("requestId", ""))


def _negotiated(render: Renderer) -> Callable[..., Response[Any]]:
    """A middleware: the handler's answer in the form that the client prefers. Markdown shows invisible characters as
    escapes.
    """

    def negotiate(app: Any, next_middleware: Callable[[Any], Response[Any]]) -> Response[Any]:
        response = next_middleware(app)
        response.headers["Vary"] = app.context.get("varies", "Accept")
        if not negotiation.prefers_markdown(app.current_event.headers.get("accept")):
            return response
        headers = {**response.headers, "Content-Type": f"{negotiation.MARKDOWN}; charset=utf-8"}
        return Response(response.status_code, body=visible(render(app.context["model"])), headers=headers)

    return negotiate

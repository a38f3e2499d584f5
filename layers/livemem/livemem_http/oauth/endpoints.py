"""The endpoints of sign-in: which function answers which request, and how errors are told.

Without an issuer in the settings there are none of them. Clients get OAuth's errors in JSON, people get pages.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.signin.refusal import Refused
from livemem_http import problems, routing
from livemem_http.oauth import authorization, metadata, outside, tokens
from livemem_http.oauth.request import Answer, Request, json_answer
from livemem_http.routing import RouteNotFound

KEPT = {"Cache-Control": "public, max-age=300"}

Endpoint = Callable[[Process, str, Request], Answer]
"""Answers a request: process, issuer, request."""


def _protected_resource(_: Process, issuer: str, __: Request) -> Answer:
    return json_answer(HTTPStatus.OK, metadata.protected_resource(issuer), KEPT)


def _authorization_server(_: Process, issuer: str, __: Request) -> Answer:
    return json_answer(HTTPStatus.OK, metadata.authorization_server(issuer), KEPT)


ROUTES: Mapping[str, Endpoint] = {
    # Clients ask below the path of /mcp first (RFC 9728, 3.1), and many at the root alone.
    f"GET {metadata.PROTECTED}": _protected_resource,
    f"GET {metadata.PROTECTED}{metadata.RESOURCE_PATH}": _protected_resource,
    f"GET {metadata.SERVER}": _authorization_server,
    f"GET {metadata.SERVER}{metadata.RESOURCE_PATH}": _authorization_server,
    f"GET {metadata.AUTHORIZE}": authorization.show,
    f"POST {metadata.AUTHORIZE}": authorization.decide,
    f"POST {metadata.PROVIDER}": outside.leave,
    f"GET {metadata.CALLBACK}": outside.come_back,
    f"POST {metadata.TOKEN}": tokens.issue,
    f"POST {metadata.REFRESH_BY_DEFAULT}": tokens.issue,
    f"POST {metadata.REVOKE}": tokens.revoke,
    f"POST {metadata.REGISTER}": tokens.register,
}
"""By method and path, as in the template."""


def owns(event: Mapping[str, Any]) -> bool:
    """Whether an event is for one of these endpoints."""
    return event.get("routeKey") in ROUTES


def handle(process: Callable[[], Process], event: Mapping[str, Any]) -> Answer:
    """Answer one HTTP API event (payload 2.0)."""
    request_id, issuer = str(routing.request_context(event).get("requestId", "")), ""
    try:
        match, made = routing.match(event, ROUTES), process()
        issuer = made.settings.oauth_issuer or ""
        if not issuer:
            raise RouteNotFound("There is no such route; the OpenAPI document lists all.")
        return ROUTES[match.key](made, issuer, Request.of(event))
    except RouteNotFound as error:
        return problems.as_event_answer(error, request_id)
    except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
        known = problems.own(error, request_id)
        if event.get("routeKey", "").endswith(metadata.PAGES):
            return authorization.failed(issuer, Request.of(event), known)
        return _refused(known)


def _refused(error: LiveMemoryError) -> Answer:
    """An error as OAuth has it (RFC 6749, 5.2). A client may repeat a request that is unavailable for the moment."""
    reason = error.reason if isinstance(error, Refused) else "invalid_request"
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.retry_after is not None:
        reason = "temporarily_unavailable"
    statuses = {"invalid_client": HTTPStatus.UNAUTHORIZED, "temporarily_unavailable": HTTPStatus.SERVICE_UNAVAILABLE}
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    told = {"error": reason, "error_description": problems.shown(error.detail)}
    return json_answer(statuses.get(reason, HTTPStatus.BAD_REQUEST), told, headers)

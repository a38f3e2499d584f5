"""Connections of clients that signed in: their list, and their end."""

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from livemem import limits
from livemem.signin import connections
from livemem.store import cursors
from livemem_http.api import Api
from livemem_http.environment import process
from livemem_http.paging import Cursor, Limit
from livemem_http.routing import RouteNotFound
from livemem_http.views.connections import ConnectionPage, ConnectionView

api = Api()


@api.route("GET", "/v1/connections", needs="any", tag="connections", refuses=[404], summary="List connections")
def list_connections(limit: Limit = limits.PAGE_DEFAULT, cursor: Cursor = None) -> ConnectionPage:
    """List the clients that signed in with the caller's token and still work. An admin gets those of all tokens that it
    manages. A service without sign-in has no such route (404).
    """
    _check_sign_in()
    after = cursors.decode_run(cursor)
    found, more = connections.page(process(), api.principal(), limit=limit, after=after)
    return ConnectionPage(items=[ConnectionView.of(one) for one in found], next_cursor=cursors.encode(more))


@api.route(
    "DELETE",
    "/v1/connections/{connection_id}",
    needs="any",
    status=HTTPStatus.NO_CONTENT,
    tag="connections",
    summary="End a connection",
)
def end_connection(connection_id: str) -> Response[None]:
    """End a client's connection. Its tokens are refused within 30 seconds. The client has to sign in again. Ending it
    again changes nothing.
    """
    _check_sign_in()
    connections.end(process(), api.principal(), connection_id)
    return api.empty()


def _check_sign_in() -> None:
    if process().settings.oauth_issuer is None:
        raise RouteNotFound("This service has no sign-in, and so no connections.")

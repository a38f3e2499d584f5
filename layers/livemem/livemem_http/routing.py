"""Finds the route of an event and its parameters: once, before any other work.

API Gateway sends the path three times: `routeKey`, `pathParameters`, `rawPath`. The route is taken from the first, its
parameters from the second, and the third (like the method) must agree. Access is checked on those parameters and the
handler gets the same ones. An event that is unknown, or does not agree, has no route.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from livemem.errors import LiveMemoryError

INVOKED_BY = "invokedBy"
"""The member of an event by which one function of the service tells another one that it invokes it. API Gateway makes
all events for requests from outside, and none with this member.
"""

_PLACE = re.compile(r"\{(\w+)(\+?)\}")


class RouteNotFound(LiveMemoryError):
    """No route of this function matches."""

    status = 404
    code = "route_not_found"


@dataclass(frozen=True)
class Match:
    """A declared route (`GET /v1/spaces/{space_id}`) and the decoded values of the names in its path."""

    key: str
    parameters: Mapping[str, str]

    @property
    def reads(self) -> bool:
        """Whether the route only reads."""
        return self.key.startswith("GET ")


def match(event: Mapping[str, Any], declared: Container[str]) -> Match:
    """The one of the `declared` routes that an HTTP API event (payload 2.0) is for; raises RouteNotFound."""
    key, parameters = event.get("routeKey"), event.get("pathParameters") or {}
    if isinstance(key, str) and key in declared:
        method, _, template = key.partition(" ")
        path = _fill(template, parameters)
        if path is not None and path in _paths(event) and _method(event) == method:
            return Match(key, dict(parameters))
    raise RouteNotFound("There is no such route; the OpenAPI document lists all.")


def _fill(template: str, parameters: Mapping[str, Any]) -> str | None:
    """The path that these parameters make, or None if they are not exactly those of the template."""
    greedy = {name: plus == "+" for name, plus in _PLACE.findall(template)}
    if parameters.keys() != greedy.keys():
        return None
    for name, value in parameters.items():
        # A slash in one part of a path would let two routes, or two spaces, make the same path.
        if not isinstance(value, str) or not value or ("/" in value and not greedy[name]):
            return None
    return _PLACE.sub(lambda place: str(parameters[place[1]]), template)


def _paths(event: Mapping[str, Any]) -> set[str]:
    """The event's path as it stands and percent-decoded: HTTP APIs decode it, other front doors may not."""
    path, stage = event.get("rawPath"), request_context(event).get("stage")
    if not isinstance(path, str):
        return set()
    if stage and stage != "$default":
        path = path.removeprefix(f"/{stage}")
    return {path, unquote(path)}


def _method(event: Mapping[str, Any]) -> Any:
    http = request_context(event).get("http")
    return http.get("method") if isinstance(http, Mapping) else None


def request_context(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event's `requestContext`, empty if it has none."""
    context = event.get("requestContext")
    return context if isinstance(context, Mapping) else {}

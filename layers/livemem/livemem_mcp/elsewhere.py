"""Tools that are made of routes. The function that has the route, and the role for it, carries out each call.

So this function's own role stays as small as what it does itself: no token, no backup and no space can be removed with
it. The caller's token goes along, and is asked there as for any HTTP request.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ValidationError

from livemem.errors import FieldError, InvalidRequest, LiveMemoryError, StoreUnavailable
from livemem.recall import short_ids
from livemem.settings import settings
from livemem.store import clients
from livemem.text import code_version
from livemem.text.invisible import json_escaped
from livemem_http import routing, tracing
from livemem_http.api import Api, Renderer
from livemem_mcp.session import McpSession
from livemem_mcp.tool import ToolAnswer

SUCCESS = range(200, 300)
OF_THINGS = frozenset({"conversation_id", "id", "ids", "memory_id", "memory_ids", "note_id", "note_ids"})
"""Arguments with ids that searches and contexts show in their short form."""
_PLACE = re.compile(r"\{(\w+)(\+?)\}")


def invoke(function: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Have the function (`reads`) answer an HTTP API event; raises StoreUnavailable."""
    return clients.invoke(settings().function_name(function), tracing.onto_request(event))


def call(session: McpSession, operation: Mapping[str, Any], arguments: Mapping[str, Any]) -> ToolAnswer:
    """Carry out an operation of `operations.json`; raises what its route answers as an error.

    A note or turn alone gets the version of the code that the request names.
    """
    if operation["fields"].keys() > set(code_version.FIELDS) and "items" not in arguments:
        arguments = {**session.code.fields(), **arguments}
    answer = session.invoke(operation["function"], event_of(session, operation, arguments))
    status, body = answer.get("statusCode"), answer.get("body") or ""
    if status not in SUCCESS:
        raise _problem(status, body, answer.get("headers"))
    data = _object(body) if body else {}
    if data is None:
        raise _no_answer(status)
    return ToolAnswer(f"{_text(operation, data).rstrip()}\n", data)


def _text(operation: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    if operation.get("markdown"):
        # Another release of the function may answer a little more or less: then the JSON has to do.
        with suppress(ValidationError):
            return rendering(operation)(data)
    return json_escaped(json.dumps(data, ensure_ascii=False)) if data else "Done."


def event_of(session: McpSession, operation: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The HTTP API event (payload 2.0) of a call: each argument where the route looks for it. Raises InvalidRequest."""
    fields = operation["fields"]
    _check_full(arguments)

    def of(place: str) -> dict[str, Any]:
        return {name: value for name, value in arguments.items() if fields[name]["in"] == place}

    parameters = {name: str(value) for name, value in of("path").items()}
    query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in of("query").items()}
    headers = {name.replace("_", "-"): value for name, value in of("header").items()}
    body = arguments.get("lines")
    if any(field["in"] == "body" for field in fields.values()):
        body = json.dumps(of("body"), ensure_ascii=False)
    path = _PLACE.sub(lambda place: _segment(place, parameters[place[1]]), f"/v1{operation['path']}")
    event: dict[str, Any] = {
        "version": "2.0",
        routing.INVOKED_BY: "mcp",
        "routeKey": _route(operation),
        "rawPath": path,
        "rawQueryString": urlencode(query),
        "headers": {"authorization": session.authorization, **_language(session), **headers},
        "requestContext": {
            "http": {"method": operation["method"], "path": quote(path)},
            "requestId": session.request_id,
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }
    event |= {"pathParameters": parameters} if parameters else {}
    event |= {"queryStringParameters": query} if query else {}
    return event | ({"body": body} if body is not None else {})


def _check_full(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a short id. What changes or removes something must name it whole."""
    for name in OF_THINGS & arguments.keys():
        value = arguments[name]
        for one in value.split(",") if isinstance(value, str) else value or ():
            if short_ids.is_short(one.strip()):
                raise InvalidRequest.of(name, "is a short id. read, which takes it, tells the full one")


def _language(session: McpSession) -> dict[str, str]:
    return {"accept-language": session.accept_language} if session.accept_language else {}


def _route(operation: Mapping[str, Any]) -> str:
    return f"{operation['method']} /v1{operation['path']}"


def _segment(place: re.Match[str], value: str) -> str:
    """The text of an argument in a path. A slash in it, or no text, would make it the path of another operation."""
    if not value or ("/" in value and not place[2]):
        raise InvalidRequest.of(place[1], "must not be empty, nor hold a slash")
    return value


class ToldElsewhere(LiveMemoryError):
    """The error that the route answered, in its own words."""


def _problem(status: Any, body: Any, headers: Any) -> LiveMemoryError:
    try:
        problem = json.loads(body)
        fields = [FieldError(str(one["field"]), str(one["message"])) for one in problem.get("errors") or ()]
        told = ToldElsewhere(str(problem["detail"]), fields=fields)
        told.status, told.code = int(problem["status"]), str(problem["code"])
        seconds = (headers or {}).get("Retry-After")
        told.retry_after = int(seconds) if seconds else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return _no_answer(status)
    return told


def _no_answer(status: Any) -> StoreUnavailable:
    """The answer came not from the route but from its runtime: a function that was stopped, or none of ours."""
    told = status if isinstance(status, int) else "none"
    return StoreUnavailable(f"The function of this operation answered with status {told}.")


def _object(body: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def rendering(operation: Mapping[str, Any]) -> Renderer:
    """The function that makes Markdown of an operation's JSON. The routes are loaded when one is first needed: they are
    large.
    """
    render, model = _renderer(operation["module"], _route(operation))
    return lambda data: render(model.model_validate(data))


@lru_cache(maxsize=128)
def _renderer(module: str, key: str) -> tuple[Renderer, type[BaseModel]]:
    api: Api = import_module(f"livemem_http.routes.{module}").api
    return api.in_markdown[key], api.answer_model(key)

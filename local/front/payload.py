"""API Gateway's payload format 2.0: HTTP requests to events, and handlers' answers back to HTTP.

Source: "Create AWS Lambda proxy integrations for HTTP APIs" in the API Gateway developer guide. Beyond it: an HTTP API
hands `rawPath` and path parameters over percent-decoded and also routes on the decoded path, while `rawQueryString`
stays as it was sent.
"""

import base64
import json
import uuid
from typing import Any
from urllib.parse import parse_qsl, unquote

from local.front.httpd import Request, Response
from local.functions.template import DEFAULT_PATH, Route

# Bodies of these types arrive as text, all others (forms too) in base64.
_TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/xml"})


class MalformedAnswerError(ValueError):
    """The handler's answer is not what API Gateway accepts from a proxy integration."""


def decode_path(target_path: str) -> str:
    """Decode a request path as an HTTP API does before it routes."""
    return unquote(target_path, errors="replace")


def build_event(request: Request, route: Route, parameters: dict[str, str]) -> dict[str, Any]:
    """The event for a request of a route, with the decoded values of its path variables.

    Keys for what a request lacks (body, query, cookies, parameters) are absent, as on AWS. So are those that no handler
    reads.
    """
    headers = request.joined_headers
    path = decode_path(request.path)
    route_key = "$default" if route.path == DEFAULT_PATH else f"{route.method} {route.path}"
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": {name: value for name, value in headers.items() if name != "cookie"},
        "requestContext": {
            "domainName": headers.get("host", "localhost").rsplit(":", 1)[0],
            "http": {
                "method": request.method,
                "path": path,
                "sourceIp": request.client,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": base64.b64encode(uuid.uuid4().bytes).decode()[:15] + "=",
            "routeKey": route_key,
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }
    if "cookie" in headers:
        lines = [value for name, value in request.headers if name.lower() == "cookie"]
        event["cookies"] = [cookie.strip() for line in lines for cookie in line.split(";") if cookie.strip()]
    if request.query:
        joined = event["queryStringParameters"] = {}
        for name, value in parse_qsl(request.query, keep_blank_values=True, errors="replace"):
            joined[name] = f"{joined[name]},{value}" if name in joined else value
    if parameters:
        event["pathParameters"] = parameters
    if request.body:
        event["body"], event["isBase64Encoded"] = _encode_body(request.body, headers.get("content-type", ""))
    return event


def _encode_body(body: bytes, content_type: str) -> tuple[str, bool]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind in _TEXT_TYPES or not kind:
        try:
            return body.decode("utf-8"), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


def read_answer(payload: bytes) -> Response:
    """Turn a handler's answer (JSON) into the HTTP answer. Raises MalformedAnswerError."""
    answer = json.loads(payload)
    if not isinstance(answer, dict) or "statusCode" not in answer:
        # A shorthand of format 2.0: any other value is the body of a 200.
        body = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return Response(200, (("content-type", "application/json"),), body.encode())
    try:
        headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
        headers.setdefault("content-type", "text/plain;charset=UTF-8")
        cookies = [("set-cookie", str(cookie)) for cookie in answer.get("cookies") or []]
        text = answer.get("body") or ""
        content = (
            base64.b64decode(text, validate=True) if answer.get("isBase64Encoded") else text.encode("utf-8", "replace")
        )
        return Response(int(answer["statusCode"]), (*headers.items(), *cookies), content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedAnswerError(str(error)) from error

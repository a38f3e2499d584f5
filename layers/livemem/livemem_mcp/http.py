"""MCP over streamable HTTP, without a session: one HTTP API event in, its answer out.

The SDK's transport is an ASGI application that keeps its connections in tasks. Here it lives for one request: a Lambda
environment answers one at a time, and the next may come to another one. So there is no session id, no stream, and no
message from the server's own accord; answers are JSON. Protocol: https://modelcontextprotocol.io/specification.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from livemem import limits
from livemem.access import decision
from livemem.errors import AnswerTooLarge, Forbidden, InvalidRequest
from livemem.process import Process
from livemem.store import timing
from livemem.text import code_version
from livemem.text.code_version import CodeVersion
from livemem_http import bodies, problems, queries, sending, tracing
from livemem_http.routing import request_context
from livemem_mcp import challenge, envelope, server
from livemem_mcp.session import TOOLSETS, Invoke, McpSession, Toolset, default_space

QUERY = {"toolset", "space", "structured"}
STRUCTURED = {"true": True, "false": False}
LOCAL = {"localhost", "127.0.0.1", "[::1]"}
AUTHORITY = re.compile(r"(?P<host>[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
ORIGIN = re.compile(rf"https?://(?P<authority>{AUTHORITY.pattern})")
"""The origin of a page, as a browser sends it (RFC 6454, 6.1): neither a user nor a path, and nothing that another
parser reads otherwise. A page of no such origin is answered as little as one without (`null`).
"""


def handle(
    process: Process, event: Mapping[str, Any], invoke: Invoke, *, pause: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """Answer one HTTP API event (payload 2.0) for `/mcp`; `invoke` reaches the functions that other tools run in, and
    `pause` waits so many seconds.
    """
    request_id = str(request_context(event).get("requestId", ""))
    issuer = process.settings.oauth_issuer
    try:
        answer = _answer(process, event, invoke, pause, request_id)
        answer = sending.compressed(answer, _headers(event).get("accept-encoding"))
        if sending.is_too_large(answer):
            raise AnswerTooLarge(
                f"The answer is larger than {limits.ANSWER_BYTES} bytes: ask for its parts one by one."
            )
    except Exception as error:  # noqa: BLE001 - the edge: every error becomes an answer here
        answer = problems.as_event_answer(error, request_id)
        return challenge.added(answer, issuer, error, _headers(event)) if issuer else answer
    return answer


def _answer(
    process: Process, event: Mapping[str, Any], invoke: Invoke, pause: Callable[[float], None], request_id: str
) -> dict[str, Any]:
    headers = _headers(event)
    _check_origin(event, headers)
    principal = decision.authorise(process, headers.get("authorization"), needs=None, space_id=None, grants=True)
    if principal.connection:
        # A service without sign-in never loads it.
        from livemem.signin import connections  # noqa: PLC0415

        connections.note_use(process, principal.connection)
    method = _method(event)
    if method != "POST":
        # Neither a stream of the server's own (GET) nor a session to end (DELETE) is offered.
        return {"statusCode": 405, "headers": {"Allow": "POST"}, "body": "", "isBase64Encoded": False}
    body = bodies.read_text(event) or ""
    toolset, space = _wanted(event)
    try:
        message = envelope.check(body)
    except envelope.NoMessage as none:
        return none.answer
    tracing.adopt(envelope.named_in_meta(message, tracing.NAME))
    session = McpSession(
        request_id=request_id,
        process=process,
        authorization=headers.get("authorization", ""),
        principal=principal,
        toolset=toolset,
        space=default_space(principal, space),
        until=process.clock() + timing.REQUEST,
        invoke=invoke,
        pause=pause,
        structured=_structured(event),
        accept_language=headers.get("accept-language", ""),
        code=CodeVersion.of_header(headers.get(code_version.HEADER)),
    )
    challenge.check_scope(session, message)
    mcp = server.build(session)
    answer = asyncio.run(_exchange(mcp, method, headers, body.encode(errors="replace")))
    if session.ended:
        raise session.ended[0]
    return answer


def _wanted(event: Mapping[str, Any]) -> tuple[Toolset, str | None]:
    """The toolset and the space that the URL asks for; raises InvalidRequest."""
    queries.check_names(event, QUERY)
    query = event.get("queryStringParameters") or {}
    for toolset in TOOLSETS:
        if toolset == query.get("toolset", "core"):
            return toolset, query.get("space")
    raise InvalidRequest.of("toolset", f"must be one of {', '.join(TOOLSETS)}")


def _structured(event: Mapping[str, Any]) -> bool:
    """Whether answers come as JSON too; raises InvalidRequest.

    Some clients hand their model the JSON in the place of the Markdown, which costs more and reads worse; with
    `structured=false` they have the Markdown alone.
    """
    wanted = (event.get("queryStringParameters") or {}).get("structured", "true")
    if wanted not in STRUCTURED:
        raise InvalidRequest.of("structured", f"must be one of {', '.join(STRUCTURED)}")
    return STRUCTURED[wanted]


def _headers(event: Mapping[str, Any]) -> dict[str, str]:
    # API Gateway hands names over in lower case, and values without the blanks around them; `sam local` does neither.
    return {name.lower(): str(value).strip(" \t") for name, value in (event.get("headers") or {}).items()}


def _method(event: Mapping[str, Any]) -> str:
    return str((request_context(event).get("http") or {}).get("method", ""))


def _check_origin(event: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    """Raise Forbidden for a web page of another host, as the specification asks of every server.

    A page on this machine may ask, and one of the service's own host. A name that was made to point here is no help to
    an attacker: on this machine only its own names are answered.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is None:
        return
    page, own = ORIGIN.fullmatch(origin), AUTHORITY.fullmatch(host)
    if page and page["host"] in LOCAL and ((own and own["host"] in LOCAL) or not _is_local(event)):
        return
    if not page or page["authority"] != host or _is_local(event):
        raise Forbidden("Requests from web pages are answered only for pages of the service's own host.")


def _is_local(event: Mapping[str, Any]) -> bool:
    source = str((request_context(event).get("http") or {}).get("sourceIp", ""))
    return source in ("127.0.0.1", "::1")


async def _exchange(mcp: Any, method: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """One request through the SDK's transport."""
    manager = StreamableHTTPSessionManager(
        mcp, json_response=True, stateless=True, max_request_body_size=limits.BODY_BYTES
    )
    sent: list[dict[str, Any]] = []
    incoming = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        # The client is there until the answer is.
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "https",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return _collected(sent)


def _collected(sent: list[dict[str, Any]]) -> dict[str, Any]:
    start = sent[0]
    headers = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in start["headers"]}
    headers.pop("Content-Length", None)
    body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return {"statusCode": start["status"], "headers": headers, "body": body, "isBase64Encoded": False}

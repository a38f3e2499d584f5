"""How `/mcp` tells a client to sign in, or to ask for more: `WWW-Authenticate` (RFC 6750, 3; RFC 9728, 5.1).

Both are statuses of the answer and never a part of a result: clients look nowhere else for them.
"""

from collections.abc import Mapping
from typing import Any

from livemem.errors import Forbidden, Unauthenticated
from livemem_mcp import toolsets
from livemem_mcp.session import McpSession

SCOPES = ("read", "write")
"""What a client can ask for. Never `admin`."""
METADATA = "/.well-known/oauth-protected-resource/mcp"
UNAUTHORIZED = Unauthenticated.status


class InsufficientScope(Forbidden):
    """The connection lacks a right that a person could allow it."""

    code = "insufficient_scope"


def check_scope(session: McpSession, message: Mapping[str, Any]) -> None:
    """Raise InsufficientScope for a call of a tool that needs a right which the client could ask for, and has not."""
    name = (message.get("params") or {}).get("name")
    if session.principal.connection is None or message["method"] != "tools/call" or not isinstance(name, str):
        return
    needs = toolsets.needs_of(session, name)
    if needs in SCOPES and not session.may(needs):
        raise InsufficientScope(f"The connection lacks the right {needs!r}. Sign in again and allow it.")


def added(answer: dict[str, Any], issuer: str, error: Exception, headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a refused request, with what the client has to do. `headers` are those of the request."""
    if answer["statusCode"] == UNAUTHORIZED:
        # Without a token nothing is wrong with one.
        wrong = 'error="invalid_token", ' if headers.get("authorization") else ""
    elif isinstance(error, InsufficientScope):
        wrong = 'error="insufficient_scope", '
    else:
        return answer
    told = f'Bearer {wrong}scope="{" ".join(SCOPES)}", resource_metadata="{issuer}{METADATA}"'
    return {**answer, "headers": {**answer["headers"], "WWW-Authenticate": told}}

"""Which tools a caller sees: those of the toolset that the URL asks for, and that the token may use at all."""

from collections.abc import Iterator

from livemem_mcp import catalog
from livemem_mcp.core import CORE
from livemem_mcp.session import McpSession, Needs
from livemem_mcp.tool import McpTool

ASKS_ONLY = frozenset({"ask"})
"""Core tools that write nothing but their own record, and so count as reading."""

OF_TOKENS = frozenset({"rotate_token"})
"""Tools that give out a token. A client of sign-in acts for one, and never gets it."""


def of(session: McpSession) -> list[McpTool]:
    """The tools of a session. Tools for which the token lacks the permission are left out: they could only fail, and
    cost tokens.
    """
    return [tool for tool in _wanted(session) if session.may(tool.needs) and not _is_withheld(session, tool.name)]


def needs_of(session: McpSession, name: str) -> Needs | None:
    """What a tool of the session's toolset asks of the token, whether it has it or not. None: there is no such tool."""
    return next((tool.needs for tool in _wanted(session) if tool.name == name), None)


def _is_withheld(session: McpSession, name: str) -> bool:
    return session.principal.connection is not None and name in OF_TOKENS


def _wanted(session: McpSession) -> Iterator[McpTool]:
    if session.toolset == "core":
        yield from CORE.values()
        return
    reading = session.toolset == "read"
    for tool in (*catalog.widened(CORE), *catalog.tools().values()):
        if not reading or tool.reads or tool.name in ASKS_ONLY:
            yield tool

"""Which tools a caller sees: those of the toolset that the URL asks for, and that the token may use at all."""

from collections.abc import Iterator

from livemem_mcp import catalog
from livemem_mcp.core import CORE
from livemem_mcp.session import McpSession
from livemem_mcp.tool import McpTool

ASKS_ONLY = frozenset({"ask"})
"""Core tools that write nothing but their own record, and so count as reading."""


def of(session: McpSession) -> list[McpTool]:
    """The tools of a session. Tools for which the token lacks the permission are left out: they could only fail, and
    cost tokens.
    """
    return [tool for tool in _wanted(session) if session.may(tool.needs)]


def _wanted(session: McpSession) -> Iterator[McpTool]:
    if session.toolset == "core":
        yield from CORE.values()
        return
    reading = session.toolset == "read"
    for tool in (*catalog.widened(CORE), *catalog.tools().values()):
        if not reading or tool.reads or tool.name in ASKS_ONLY:
            yield tool

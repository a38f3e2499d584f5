"""The tools that are made of routes: one for each operation that no core tool does as well.

`make openapi` writes `catalog.json` from the OpenAPI document and the words of `scripts/mcp_tools.toml`; so a new route
has its tool, and listing them loads no route.
"""

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any

from livemem_mcp import elsewhere
from livemem_mcp.session import Session
from livemem_mcp.tool import Answer, Tool


@lru_cache(maxsize=1)
def tools() -> Mapping[str, Tool]:
    """All of them by name, in the order of the document."""
    written = json.loads(files("livemem_mcp").joinpath("catalog.json").read_text("utf-8"))
    return {operation["name"]: _tool(operation) for operation in written}


def _tool(operation: Mapping[str, Any]) -> Tool:
    return Tool(
        name=operation["name"],
        title=operation["title"],
        description=operation["description"],
        schema=operation["schema"],
        needs=operation["needs"],
        call=partial(_call, operation),
        reads=operation["reads"],
        destroys=operation["destroys"],
        repeats=operation["repeats"],
    )


def _call(operation: Mapping[str, Any], session: Session, arguments: dict[str, Any]) -> Answer:
    places = operation["places"]
    if "space_id" in places and "space_id" not in arguments and session.space is not None:
        # Of a search in several spaces it is no argument, so this one is about one space.
        arguments = {**arguments, "space_id": session.space}
    return elsewhere.call(session, operation, {**operation["defaults"], **arguments})

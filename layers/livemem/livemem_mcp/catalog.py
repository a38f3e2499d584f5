"""The tools that are made of routes: one for each operation that no core tool does as well.

Their routes and arguments stand in `operations.json`, which is made of the API document (`scripts/generated.py`). So a
new route has its tool, and listing the tools loads no route. The texts for models stand in `words.toml`.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

from livemem_mcp import elsewhere
from livemem_mcp.session import McpSession
from livemem_mcp.tool import McpTool, ToolAnswer

NUMBERS = frozenset({"number", "turn_index"})
"""Parts of paths that are numbers. Their routes read them from the text of the path."""


@cache
def operations() -> Mapping[str, Mapping[str, Any]]:
    """All operations of the API by name, in the order of the API document (`scripts/operation_table.py`)."""
    found: dict[str, Any] = json.loads(files("livemem_mcp").joinpath("operations.json").read_text("utf-8"))
    return found


@cache
def words() -> Mapping[str, Any]:
    """The texts for models: `core` (operations without a tool), `former` (names of tools elsewhere), `wide` (core tools
    with more arguments), `tools`, `arguments` and `errors`.
    """
    return tomllib.loads(files("livemem_mcp").joinpath("words.toml").read_text("utf-8"))


@cache
def tools() -> Mapping[str, McpTool]:
    """All of them by name, in the order of the document."""
    core = words()["core"]
    named = {name: name for name in operations() if name not in core}
    named |= {name: told["of"] for name, told in words()["tools"].items() if "of" in told}
    return {name: _tool(name, operations()[of]) for name, of in named.items()}


def _tool(name: str, operation: Mapping[str, Any]) -> McpTool:
    told = words()["tools"].get(name, {})
    method = operation["method"]
    reads = method == "GET"
    destroys = told.get("destroys", method == "DELETE") and not reads
    return McpTool(
        name=name,
        title=told.get("title", operation["summary"]),
        description=told.get("description", operation["description"]),
        schema=_schema(operation["fields"], told),
        needs="any" if operation["needs"] == "nothing" else operation["needs"],
        call=partial(_call, operation, {**told.get("defaults", {}), **told.get("sends", {})}),
        reads=reads,
        destroys=destroys,
        repeats=told.get("repeats", method in ("PUT", "DELETE")) and not reads,
        exact=told.get("exact", destroys),
        null_clears=method == "PATCH",
    )


def _schema(fields: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, with the descriptions and defaults that `words.toml` has for them."""
    fields = {name: fields[name] for name in told.get("takes", fields) if name not in told.get("without", ())}
    properties = described({name: field["schema"] for name, field in fields.items()}, words()["arguments"])
    for name in NUMBERS & fields.keys():
        properties[name]["type"] = "integer"
    if fields.get("space_id", {}).get("in") == "path":
        # Every session tells what a space is.
        properties["space_id"] = {"type": "string"}
    for name, description in told.get("arguments", {}).items():
        properties[name]["description"] = description
    for name, value in told.get("defaults", {}).items():
        properties[name]["default"] = value
    for name in told.get("bare", ()):
        del properties[name]["description"]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    # A model may give `items` in the place of the other fields of the body.
    optional = {"body"} if "items" in fields else set()
    required = sorted(name for name, field in fields.items() if field.get("required") and field["in"] not in optional)
    return {**schema, "required": required} if required else schema


def described(properties: Mapping[str, Any], by: Mapping[str, str]) -> dict[str, Any]:
    """The same properties, described by `by` as far as they are named there, also those inside."""
    named = {name: {**schema, "description": by[name]} if name in by else schema for name, schema in properties.items()}
    return {name: _described_inside(schema, by) for name, schema in named.items()}


def _described_inside(schema: Mapping[str, Any], by: Mapping[str, str]) -> dict[str, Any]:
    part = dict(schema)
    if "properties" in part:
        part["properties"] = described(part["properties"], by)
    if "items" in part:
        part["items"] = _described_inside(part["items"], by)
    if "anyOf" in part:
        part["anyOf"] = [_described_inside(form, by) for form in part["anyOf"]]
    return part


def widened(core: Mapping[str, McpTool]) -> list[McpTool]:
    """Core tools as the larger toolsets have them: some take more arguments there, those of the routes for which they
    stand, since nobody pays for them in `core`.
    """
    wide = words()["wide"]
    return [_wider(tool, wide[name]) if name in wide else tool for name, tool in core.items()]


def _wider(tool: McpTool, told: Mapping[str, Any]) -> McpTool:
    found: dict[str, Mapping[str, Any]] = {}
    for one in told["of"]:
        for name, field in operations()[one]["fields"].items():
            # Where the routes differ, as in a default, the schema promises neither.
            schema = found.get(name, field["schema"])
            found[name] = {key: value for key, value in schema.items() if field["schema"].get(key) == value}
    properties = {**tool.schema["properties"], **found, "space_id": tool.schema["properties"]["space_id"]}
    fields = {name: {"schema": schema} for name, schema in properties.items() if name not in told["without"]}
    return replace(
        tool, description=told["description"], schema={**_schema(fields, told), "required": told["required"]}
    )


def _call(
    operation: Mapping[str, Any], defaults: Mapping[str, Any], session: McpSession, arguments: dict[str, Any]
) -> ToolAnswer:
    if "space_id" in operation["fields"] and "space_id" not in arguments and session.space is not None:
        # Of a search in several spaces it is no argument, so this one is about one space.
        arguments = {**arguments, "space_id": session.space}
    return elsewhere.call(session, operation, {**defaults, **arguments})

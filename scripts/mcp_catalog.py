"""The MCP tools that are made of routes (`livemem_mcp/catalog.json`), from the OpenAPI document and mcp_tools.toml.

Written and checked with the OpenAPI document (scripts/openapi.py). An operation has a tool unless mcp_tools.toml says
which core tool does the same.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "layers" / "livemem" / "livemem_mcp" / "catalog.json"
WORDS = ROOT / "scripts" / "mcp_tools.toml"
MODULES = {
    **{name: name for name in ("reads", "search", "conversations", "memories", "rooms", "admin", "archives")},
    "consolidations": "start",
}
"""Modules of routes, and the function that has them. Those of core tools alone (`ingest`, `questions`) are not here."""
METHODS = ("get", "post", "put", "patch", "delete")
DROPPED = {"title", "example", "examples", "pattern", "writeOnly"}
"""Of a schema: what costs a model tokens and tells it little. The route checks the patterns."""


def text(document: Mapping[str, Any]) -> str:
    """The file as it should be."""
    return json.dumps(build(document), indent=1, ensure_ascii=False) + "\n"


def build(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All tools, in the order of the document; raises ValueError if mcp_tools.toml does not fit it."""
    words = tomllib.loads(WORDS.read_text("utf-8"))
    core: dict[str, str] = words["core"]
    told: dict[str, dict[str, Any]] = words["tools"]
    of_all: dict[str, str] = words["arguments"]
    modules = _modules()
    found = []
    names = set()
    for path, operations in document["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                names.add(operation["operationId"])
                if operation["operationId"] not in core:
                    key = f"{method.upper()} {path.replace('{path}', '{path+}')}"
                    tool = _tool(document, key, operation, modules[key], told.get(operation["operationId"], {}))
                    found.append(_worded(tool, of_all, told.get(tool["name"], {})))
    if unknown := {*core, *told} - names:
        raise ValueError(f"{WORDS.name} names operations that there are not: {', '.join(sorted(unknown))}")
    return found


def _modules() -> dict[str, str]:
    """The module of each route."""
    return {key: name for name in MODULES for key in import_module(f"livemem_http.routes.{name}").api.needs}


def _tool(
    document: Mapping[str, Any], key: str, operation: Mapping[str, Any], module: str, words: Mapping[str, Any]
) -> dict[str, Any]:
    method, _, path = key.partition(" ")
    places, properties, required = _parameters(document, operation)
    kind = _add_body(document, operation, places, properties, required)
    reads = method == "GET"
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = sorted(required)
    return {
        "name": operation["operationId"],
        "title": words.get("title", operation["summary"]),
        "description": words.get("description", operation.get("description", "")),
        "method": method,
        "path": path,
        "module": module,
        "function": MODULES[module],
        "needs": "any" if operation["x-needs"] == "nothing" else operation["x-needs"],
        "reads": reads,
        "destroys": words.get("destroys", method == "DELETE") and not reads,
        "repeats": words.get("repeats", method in ("PUT", "DELETE")) and not reads,
        "markdown": _in_markdown(operation),
        "body": kind,
        "places": places,
        "schema": schema,
    }


def _worded(tool: dict[str, Any], of_all: Mapping[str, str], words: Mapping[str, Any]) -> dict[str, Any]:
    """The tool with the descriptions and defaults of its arguments that mcp_tools.toml has."""
    schema = tool["schema"]
    own: Mapping[str, str] = words.get("arguments", {})
    defaults: Mapping[str, Any] = words.get("defaults", {})
    if unknown := {*own, *defaults} - set(schema["properties"]):
        raise ValueError(f"{WORDS.name}: {tool['name']} has no argument {', '.join(sorted(unknown))}")
    schema["properties"] = _described(schema["properties"], of_all)
    for name, description in own.items():
        schema["properties"][name]["description"] = description
    for name, value in defaults.items():
        schema["properties"][name]["default"] = value
    return {**tool, "defaults": dict(defaults)}


def _described(properties: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """The same properties, described by `words` as far as they are named there, also those inside."""
    found = {}
    for name, schema in properties.items():
        part = {**schema, "description": words[name]} if name in words else dict(schema)
        if "properties" in part:
            part["properties"] = _described(part["properties"], words)
        if "properties" in part.get("items", {}):
            part["items"] = {**part["items"], "properties": _described(part["items"]["properties"], words)}
        found[name] = part
    return found


def _in_markdown(operation: Mapping[str, Any]) -> bool:
    return any("text/markdown" in answer.get("content", {}) for answer in operation["responses"].values())


def _parameters(
    document: Mapping[str, Any], operation: Mapping[str, Any]
) -> tuple[dict[str, dict[str, str]], dict[str, Any], set[str]]:
    """Where each argument goes, its schema, and which are required."""
    places: dict[str, dict[str, str]] = {}
    properties: dict[str, Any] = {}
    required = set()
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "If-None-Match":
            continue
        name = parameter["name"].lower().replace("-", "_")
        places[name] = {"in": parameter["in"], "name": parameter["name"]}
        properties[name] = _slim(document, {**parameter["schema"], "description": parameter.get("description", "")})
        if name == "space_id" and parameter["in"] == "path":
            properties[name] = {"type": "string"}
        required |= {name} if parameter.get("required") else set()
    return places, properties, required


def _add_body(
    document: Mapping[str, Any],
    operation: Mapping[str, Any],
    places: dict[str, dict[str, str]],
    properties: dict[str, Any],
    required: set[str],
) -> str | None:
    """Put the fields of the body beside the parameters; returns how it is sent: `json`, `lines` or None."""
    body = operation.get("requestBody")
    if not body:
        return None
    if "application/json" not in body["content"]:
        ((_, content),) = body["content"].items()
        places["lines"] = {"in": "body", "name": "lines"}
        properties["lines"] = _slim(document, content["schema"])
        required.add("lines")
        return "lines"
    schema = _resolved(document, body["content"]["application/json"]["schema"])
    for name, field in schema.get("properties", {}).items():
        if name in places:
            raise ValueError(f"{operation['operationId']}: {name} is in the body and elsewhere")
        places[name] = {"in": "body", "name": name}
        properties[name] = _slim(document, field)
    required |= set(schema.get("required", ()))
    return "json"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def _slim(document: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with what it refers to put in its place, and without what a model does not need."""
    whole = {**_resolved(document, schema), **{name: value for name, value in schema.items() if name != "$ref"}}
    slim = {name: value for name, value in whole.items() if name not in DROPPED and value not in ("", None)}
    # Bounds come as floats, and an array's own words say what is in it.
    slim |= {name: int(value) for name, value in slim.items() if isinstance(value, float) and value.is_integer()}
    for name in ("items", "additionalProperties"):
        if isinstance(slim.get(name), Mapping):
            slim[name] = _slim(document, slim[name])
            if "properties" not in slim[name]:
                slim[name].pop("description", None)
    if "properties" in slim:
        slim["properties"] = {name: _slim(document, part) for name, part in slim["properties"].items()}
    if variants := slim.pop("anyOf", None):
        slim = _joined([_slim(document, variant) for variant in variants], slim)
    return slim


def _joined(variants: Iterable[Mapping[str, Any]], rest: Mapping[str, Any]) -> dict[str, Any]:
    """One of several; where one of two is null, the other's words with a second type."""
    some = list(variants)
    others = [one for one in some if one != {"type": "null"}]
    if len(others) == 1 and len(some) == 2:
        (one,) = others
        if isinstance(one.get("type"), str):
            nullable = {**one, **rest, "type": [one["type"], "null"]}
            if "enum" in one:
                nullable["enum"] = [*one["enum"], None]
            return nullable
        return {**one, **rest}
    return {**rest, "anyOf": some}

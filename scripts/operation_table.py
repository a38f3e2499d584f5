"""operations.json: the facts about each operation of the API for the client's command line and the MCP tools.

Made of the OpenAPI document (scripts/generated.py).
"""

import json
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

FUNCTIONS = {
    **{name: name for name in ("ingest", "reads", "search", "conversations", "memories", "rooms", "admin", "archives")},
    "questions": "ask",
    "connections": "signin",
    "consolidations": "start",
}
"""The modules of routes, and the function that answers theirs."""
SHORT = {
    # They name what the group is about by another word than its own.
    "get_about": "about",
    "get_health": "health",
    "get_whoami": "whoami",
    "start_consolidation": "start",
    "get_invariants": "invariants",
}
"""Names within a group that the rule of `short` does not give."""
METHODS = ("get", "post", "put", "patch", "delete")
DROPPED = {"title", "example", "examples", "pattern", "writeOnly"}
"""Fields of a schema that cost a model tokens and say little. The service checks the patterns."""
_JSON = "application/json"
_MARKDOWN = "text/markdown"


def text(document: Mapping[str, Any], modules: Mapping[str, str]) -> str:
    """The file as it should be: a line for each operation."""
    lines = (f"{_as_json(name)}: {_as_json(operation)}" for name, operation in build(document, modules).items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def build(document: Mapping[str, Any], modules: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """All operations by name, in the order of the document; `modules` says which module of the routes has each.

    False and empty values are left out. Of a field: `in` (path, query, header or body), whether it is
    `required`, and its JSON Schema, with references resolved.

    Raises ValueError if two operations of a group have one name, or one has a name that no method can have.
    """
    found = {}
    for path, methods in document["paths"].items():
        for method, told in sorted(methods.items(), key=lambda one: METHODS.index(one[0])):
            route = f"{method.upper()} {path.replace('{path}', '{path+}')}"
            found[told["operationId"]] = _operation(document, route, told, modules[told["operationId"]])
    shorts = [(one["tag"], one["short"]) for one in found.values()]
    wrong = {short for short in shorts if shorts.count(short) > 1 or keyword.iskeyword(short[1])}
    if wrong or SHORT.keys() - found:
        raise ValueError(f"SHORT does not fit the operations: {sorted(wrong)}, {sorted(SHORT.keys() - found)}")
    return found


def short(name: str, tag: str) -> str:
    """The name of an operation within the group of its tag: `append` of `append_note` in `notes`.

    Without the group's word, be it one or many; but a name is never empty.
    """
    own = {tag, f"{tag}s", tag.removesuffix("s"), f"{tag.removesuffix('ies')}y"}
    rest = [word for word in name.split("_") if word not in own]
    return SHORT.get(name) or "_".join(rest) or name


def merged(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with the fields of those that it refers to."""
    for part in schema.get("allOf", ()):
        base = merged(schemas, schemas[part["$ref"].rpartition("/")[2]])
        schema = {
            **{name: value for name, value in schema.items() if name != "allOf"},
            "properties": {**base["properties"], **schema.get("properties", {})},
            "required": [*base.get("required", ()), *schema.get("required", ())],
        }
    return schema


def _operation(document: Mapping[str, Any], route: str, told: Mapping[str, Any], module: str) -> dict[str, Any]:
    method, _, path = route.partition(" ")
    (tag,) = told["tags"]
    content = _answer(told)
    answer, *many = [name.rpartition("/")[2] for name in _forms(content.get(_JSON, {}).get("schema", {}))] or [""]
    schemas = document["components"]["schemas"]
    properties = merged(schemas, schemas.get(answer, {})).get("properties", {})
    operation = {
        "tag": tag,
        "short": short(told["operationId"], tag),
        "summary": told["summary"],
        "description": told.get("description", ""),
        "needs": told["x-needs"],
        "method": method,
        "path": path.removeprefix("/v1"),
        "module": module,
        "function": FUNCTIONS[module],
        "answer": answer,
        # The answer where the body is several things as `items`. They take the place of the fields of the body.
        "many": "".join(many),
        "markdown": _MARKDOWN in content,
        "paged": {"items", "next_cursor"} <= set(properties),
    }
    fields = dict(_fields(document, told))
    return {name: value for name, value in operation.items() if value} | {"fields": fields}


def _answer(told: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an answer that is a success."""
    good = next(answer for status, answer in sorted(told["responses"].items()) if status.startswith("2"))
    content: dict[str, Any] = good.get("content", {})
    return content


def _fields(document: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parameters of the operation, by name. Raises ValueError for a name that occurs twice."""
    seen: set[str] = set()
    for name, place, required, schema in _taken(document, told):
        if name in seen:
            raise ValueError(f"{told['operationId']}: {name} is in the body and elsewhere")
        seen.add(name)
        field: dict[str, Any] = {"in": place} | ({"required": True} if required else {})
        slim = _slim(document, schema)
        if (place, name) == ("body", "items"):
            # A model reads of them what it has read of one thing.
            slim["items"] = _undescribed(slim["items"], seen)
        yield name, field | {"schema": slim}


def _undescribed(schema: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """The schema without the descriptions of these properties."""
    part = dict(schema)
    if "anyOf" in part:
        part["anyOf"] = [_undescribed(form, names) for form in part["anyOf"]]
    for name in names & part.get("properties", {}).keys():
        field = {key: value for key, value in part["properties"][name].items() if key != "description"}
        part["properties"] = {**part["properties"], name: field}
    return part


def _taken(document: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[tuple[str, str, bool, Mapping[str, Any]]]:
    """Name, place, whether it is required, and schema of each."""
    for one in told.get("parameters", ()):
        if one["name"] != "If-None-Match":
            schema = {**one["schema"], "description": one.get("description", "")}
            yield one["name"].lower().replace("-", "_"), one["in"], one["required"], schema
    content = told.get("requestBody", {}).get("content", {})
    schema = content.get(_JSON, {}).get("schema", {})
    alone, *several = [_resolved(document, {"$ref": name}) for name in _forms(schema)] or [schema]
    for name, field in alone.get("properties", {}).items():
        yield name, "body", name in alone.get("required", ()), field
    for form in several:
        yield "items", "body", False, form["properties"]["items"]


def _forms(schema: Mapping[str, Any]) -> list[str]:
    """The schemas of a body or an answer: that of one thing, and that of several if there is one."""
    return [form["$ref"] for form in schema.get("anyOf", [schema]) if "$ref" in form]


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def _slim(document: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with references resolved, and without the fields that its readers do not need."""
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


def _joined(variants: list[dict[str, Any]], rest: Mapping[str, Any]) -> dict[str, Any]:
    """One of several; where one of two is null, the other's words with a second type."""
    others = [one for one in variants if one != {"type": "null"}]
    if len(others) == 1 and len(variants) == 2:
        (one,) = others
        if isinstance(one.get("type"), str):
            nullable = {**one, **rest, "type": [one["type"], "null"]}
            if "enum" in one:
                nullable["enum"] = [*one["enum"], None]
            return nullable
        return {**one, **rest}
    return {**rest, "anyOf": variants}

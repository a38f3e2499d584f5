"""Finds gaps in the OpenAPI document: descriptions, tags, short ids, examples that fit."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema

from scripts.api_examples import resolve

OPERATION_ID = re.compile(r"[a-z]+(_[a-z]+)+")
OPERATION_ID_CHARACTERS = 30
SCHEMA_NAME = re.compile(r"[A-Z][A-Za-z]{1,29}")


def problems(document: dict[str, Any]) -> list[str]:
    """A line for each gap that an agent or a developer would meet; empty if the document is complete."""
    found = [*_operations(document), *_schemas(document), *_responses(document)]
    ids = Counter(operation.get("operationId") for _, operation in operations(document))
    return found + [f"{name}: {count} operations have this id" for name, count in ids.items() if count > 1]


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operation with its route, such as `GET /v1/spaces`."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _operations(document: dict[str, Any]) -> Iterator[str]:
    tags = {tag["name"] for tag in document["tags"] if tag.get("description")}
    for route, operation in operations(document):
        name = operation.get("operationId", "")
        if len(name) > OPERATION_ID_CHARACTERS or not OPERATION_ID.fullmatch(name):
            yield f"{route}: the id {name!r} is not verb_noun of at most {OPERATION_ID_CHARACTERS} characters"
        for wanted in ("summary", "description"):
            if not operation.get(wanted):
                yield f"{route}: no {wanted}"
        if len(operation.get("tags", [])) != 1 or not tags.issuperset(operation["tags"]):
            yield f"{route}: no tag that is described"
        for parameter in operation.get("parameters", []):
            yield from _parameter(document, route, parameter)
        for kind, content in _contents(operation):
            yield from _example(document, f"{route}: {kind}", content)


def _parameter(document: dict[str, Any], route: str, parameter: dict[str, Any]) -> Iterator[str]:
    where = f"{route}: parameter {parameter['name']}"
    if not parameter.get("description"):
        yield f"{where}: no description"
    if "example" in parameter:
        yield from _example(document, where, parameter)
    elif parameter.get("required"):
        yield f"{where}: no example"


def _contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"body {media_type}", content
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            for media_type, content in answer.get("content", {}).items():
                yield f"{status} {media_type}", content


def _responses(document: dict[str, Any]) -> Iterator[str]:
    for name, response in document["components"]["responses"].items():
        for content in response["content"].values():
            yield from _example(document, name, content)


def _example(document: dict[str, Any], where: str, described: dict[str, Any]) -> Iterator[str]:
    if "example" not in described:
        yield f"{where}: no example"
        return
    for wrong in validator(document, described["schema"]).iter_errors(described["example"]):
        place = ".".join(str(part) for part in wrong.absolute_path)
        yield f"{where}: the example does not fit{f' at {place}' if place else ''}: {wrong.message}"


def validator(document: dict[str, Any], schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """The validator of a value against a schema of the document."""
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def _schemas(document: dict[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        if not SCHEMA_NAME.fullmatch(name):
            yield f"schema {name}: not a short name"
        for field, part in schema.get("properties", {}).items():
            if not part.get("description"):
                yield f"{name}.{field}: no description"
            for example in part.get("examples", []):
                yield from _example(
                    document, f"{name}.{field}", {"schema": resolve(document, part), "example": example}
                )

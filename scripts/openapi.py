"""Writes docs/openapi.json from the routes in the code, or checks that it is up to date.

python -m scripts.openapi           write it
python -m scripts.openapi --check   exit 1 if it is stale
"""

import importlib.util
import json
import re
import sys
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any

from livemem import __version__
from livemem.bank import paths
from livemem.store import keys
from livemem_http import negotiation

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "openapi.json"
HTTP_FUNCTIONS = ("ingest", "reads", "admin", "consolidate")
# Python's names of groups are not part of the regular expressions of JSON Schema.
PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "space_id": {"pattern": f"^{keys.SPACE_ID.pattern}$"},
    "note_id": {"pattern": "^" + re.sub(r"\?P<\w+>", "", keys.NOTE_ID.pattern) + "$"},
    "run_id": {"pattern": f"^{keys.RUN_ID.pattern}$"},
    "number": {"pattern": "^[0-9]{1,9}$"},
    "path": {"pattern": f"^{paths.ALLOWED.pattern}\\.md$", "maxLength": paths.MAX_LENGTH},
}
DESCRIPTION = (
    "Shared working memory for AI agents. Errors are RFC 9457 problem documents; their codes are in errors.md."
)


def load(function: str) -> ModuleType:
    """The handler module of a function, imported by its path: all of them are called `app`."""
    spec = importlib.util.spec_from_file_location(f"{function}_app", ROOT / "functions" / function / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document() -> dict[str, Any]:
    """One OpenAPI document for the routes of all functions."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    version = ""
    for function in HTTP_FUNCTIONS:
        api = load(function).api
        part = json.loads(api.resolver.get_openapi_json_schema(title="Live Memory", version=__version__))
        version = part["openapi"]
        for path, operations in part["paths"].items():
            public = path.replace("<", "{").replace(">", "}").replace(".+", "{path}")
            for method, operation in operations.items():
                _complete(operation, public, method, api)
            paths.setdefault(public, {}).update(operations)
        schemas.update(part.get("components", {}).get("schemas", {}))
    return {
        "openapi": version,
        "info": {"title": "Live Memory", "version": __version__, "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _complete(operation: dict[str, Any], path: str, method: str, api: Any) -> None:
    if path.endswith("{path}"):
        operation.setdefault("parameters", []).append(
            {"name": "path", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            parameter["schema"] |= PATH_PARAMETERS[parameter["name"]]
    route = f"{method.upper()} {path.replace('{path}', '{path+}')}"
    operation["x-needs"] = api.needs[route]
    if api.needs[route] == "nothing":
        operation["security"] = []
    responses = operation["responses"]
    if also := api.also.get(route):
        good = next(answer for status, answer in responses.items() if status.startswith("2"))
        responses[str(int(also))] = {**good, "description": also.phrase}
    if route in api.in_markdown:
        good = next(answer for status, answer in responses.items() if status.startswith("2"))
        good["content"][negotiation.MARKDOWN] = {"schema": {"type": "string"}}
    if empty := responses.get(str(int(HTTPStatus.NO_CONTENT))):
        empty.pop("content", None)


def main(arguments: list[str]) -> int:
    """Write or check the document; returns the exit status."""
    text = json.dumps(document(), indent=2, ensure_ascii=False) + "\n"
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        print("docs/openapi.json is up to date")
        return 0
    print("docs/openapi.json is stale: run `make openapi`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

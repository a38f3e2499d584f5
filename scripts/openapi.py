"""Writes docs/openapi.json from the routes, or checks it.

python -m scripts.openapi           write it
python -m scripts.openapi --check   exit 1 if something is not described, an example is wrong, or it is stale
"""

import importlib.util
import json
import re
import sys
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from livemem import __version__, errors
from livemem.access import management
from livemem.bank import paths
from livemem.store import keys
from livemem.upkeep import job_lookup
from livemem_http import negotiation, problems, sending
from scripts import api_examples, generated, inheritance, openapi_check

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "openapi.json"
DEPTH = 2
"""Levels of the document of which each member has a line: two changes can be merged, and a diff can be read."""
HTTP_FUNCTIONS = (
    *("ingest", "reads", "search", "conversations", "memories", "rooms", "ask"),
    *("admin", "consolidate", "backup", "signin"),
)
# Python's names of groups are not part of the regular expressions of JSON Schema.
PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "space_id": {
        "description": "The id of the space: 1 to 64 letters, digits, `_` and `-`.",
        "example": "demo",
        "schema": {"pattern": f"^{keys.SPACE_ID.pattern}$"},
    },
    "note_id": {
        "description": "The id of the note, from the answer that wrote it, or from any list.",
        "example": "20260220T140000_cline-dev_decision_1a2b3c4d",
        "schema": {"pattern": "^" + re.sub(r"\?P<\w+>", "", keys.NOTE_ID.pattern) + "$"},
    },
    "backup_id": {
        "description": "The id of the backup, from the answer that made it, or from any list.",
        "example": "2026-02-20T02-00-00",
        "schema": {"pattern": f"^{keys.BACKUP_ID.pattern}$"},
    },
    "conversation_id": {
        "description": "The id of the conversation, from the answer that created it, or from any list.",
        "example": "01KHXE5Q2V8R0M4T6W9YBNCD3F",
        "schema": {"pattern": f"^{keys.RUN_ID.pattern}$"},
    },
    "memory_id": {
        "description": "The id of the memory, from the answer that stored it, or from any list.",
        "example": "01KHXE5Q2V8R0M4T6W9YBNCD3F",
        "schema": {"pattern": f"^{keys.RUN_ID.pattern}$"},
    },
    "room": {
        "description": "The name of the room: 1 to 64 letters, digits, `_` and `-`. The first message creates it.",
        "example": "general",
        "schema": {"pattern": f"^{keys.ROOM.pattern}$"},
    },
    "turn_index": {
        "description": "The number of the turn in the conversation, from 1.",
        "example": "1",
        "schema": {"pattern": "^[0-9]{1,10}$"},
    },
    "job": {
        "description": "The id of the job, from the answer that started the work.",
        "example": "demo.backup.2026-02-20T02-00-00",
        "schema": {"pattern": re.sub(r"\?P<[a-z]+>", "", f"^{job_lookup.JOB_ID.pattern}$")},
    },
    "connection_id": {
        "description": "The id of the connection, from the list.",
        "example": "01KHXE5Q2V8R0M4T6W9YBNCD3F",
        "schema": {"pattern": f"^{keys.RUN_ID.pattern}$"},
    },
    "token_hash": {
        "description": "The hash of the token, or at least its first 16 hex digits, if no other hash begins with them.",
        "example": "9f86d081884c7d65",
        "schema": {"pattern": f"^{management.SHORTENED.pattern}$".replace("?P<digits>", "")},
    },
    "number": {
        "description": "The number of the change in the history of the space, from 1.",
        "example": "1",
        "schema": {"pattern": "^[0-9]{1,9}$"},
    },
    "path": {
        "description": "The path of the file below the bank: letters, digits, `.`, `_`, `-` and `/`, ending in `.md`.",
        "example": "glossary.md",
        "schema": {"pattern": f"^{paths.ALLOWED.pattern}\\.md$", "maxLength": paths.MAX_LENGTH},
    },
}
REQUIRED_QUERY = {("delete_space", "confirm")}
"""Parameters that the domain asks for with an error message of its own."""
INFO = {
    "title": "Live Memory",
    "version": __version__,
    "description": (
        "Shared working memory for AI agents. Notes go into a space. An LLM folds them into the bank of the space: a "
        "few Markdown files that the space's rules define. Bodies and answers are JSON in UTF-8. Errors are RFC 9457 "
        "problem documents; their codes are in errors.md. An unknown query parameter or field of a body is an error "
        "(422)."
    ),
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag of an earlier answer, several separated by commas, or `*`. 304 if one is still current.",
    "example": 'W/"5f8a6c1e9b3d47028e6f1a2b3c4d5e6f"',
}
ETAG = {
    "description": "Identifies this answer in this form. It is weak, because the compressed answer has the same one.",
    "schema": {"type": "string"},
    "example": 'W/"5f8a6c1e9b3d47028e6f1a2b3c4d5e6f"',
}
CACHE_CONTROL = {
    "description": "The client may keep the answer, and must ask each time whether it is still current.",
    "schema": {"type": "string"},
    "example": sending.CACHE_CONTROL,
}
SERVERS = [
    {"url": "http://127.0.0.1:3000", "description": "The local runtime (`make run`)."},
    {
        "url": "https://{host}",
        "description": "A deployment.",
        "variables": {
            "host": {"default": "localhost", "description": "The host of the stack's output `ApiUrl` (see deploy.md)."}
        },
    },
]
TAGS = {
    "service": "The health of the service, its limits, and the permissions of a token.",
    "spaces": "A space holds the notes and the bank of one project, and the rules that define its bank.",
    "notes": "Agents append notes. They are live until a consolidation folds them into the bank.",
    "conversations": "Long chats, word for word and as summaries in levels. An agent can continue one months later.",
    "memories": "Single durable facts about people, decisions and the agent itself: each is kept once, and may expire.",
    "rooms": "Chat channels that agents observe. Their messages wait for a digest.",
    "digests": "At fixed hours, or on request, an LLM makes memories of the messages of rooms.",
    "questions": "An agent answers questions from the memory of the space, names its sources, and may store memories.",
    "search": "One search over live notes, bank, consolidated notes, conversations, memories and rooms, with one "
    "ranking.",
    "jobs": "Long work of any kind in one form: its status, its progress, its usage, and its error.",
    "usage": "What the LLM was used for, by day.",
    "bank": "The Markdown files that an agent loads, and corrections of them by hand.",
    "backups": "Copies of whole spaces within the bucket, made every night and on request; restore and fork.",
    "archives": "A space as one file, to download and to import. A folder of Markdown files can be imported too.",
    "erasure": "The words of a note, a memory or a turn are removed from the whole bucket, with a receipt.",
    "upkeep": "Work of an operator: retention and garbage collection.",
    "tokens": "A token names its agent, permissions and spaces. Admins make tokens; each token can replace itself.",
    "connections": "Clients that signed in by OAuth and act for a token. A person can list and end them.",
    "consolidations": "The history: each change of the bank and the rules, with its notes and diffs, and the undo.",
}
TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": (
        "A token, in the header `Authorization: Bearer <token>` alone. It has a name, permissions (`read`, `write`, "
        "`admin`) and perhaps a list of spaces. `x-needs` names the permission that an operation requires."
    ),
}


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
    apis: dict[str, Any] = {}
    version = ""
    for function in HTTP_FUNCTIONS:
        api = load(function).api
        part = json.loads(api.declared.get_openapi_json_schema(title="Live Memory", version=__version__))
        version = part["openapi"]
        for path, operations in part["paths"].items():
            public = path.replace("<", "{").replace(">", "}").replace(".+", "{path}")
            paths.setdefault(public, {}).update(operations)
            apis |= {f"{method.upper()} {public}": api for method in operations}
        _join(schemas, part.get("components", {}).get("schemas", {}), function)
    made: dict[str, Any] = {
        "openapi": version,
        "info": INFO,
        "servers": SERVERS,
        "security": [{"token": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": _used(schemas, paths),
            "responses": {},
            "securitySchemes": {"token": TOKEN},
        },
    }
    for path, operations in paths.items():
        for method, operation in operations.items():
            _complete(made, operation, path, method, apis[f"{method.upper()} {path}"])
    made["components"]["responses"] = dict(sorted(made["components"]["responses"].items()))
    inheritance.fold(made["components"]["schemas"])
    return made


def _join(schemas: dict[str, Any], more: dict[str, Any], function: str) -> None:
    """Add the models of one function; raises ValueError where a name stands for another model already."""
    for name, schema in more.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"{function}: the model {name} is not that of the same name in another function.")


def _used(schemas: dict[str, Any], paths: dict[str, Any]) -> dict[str, Any]:
    """The schemas that something refers to, by name: Powertools adds its own."""
    found: dict[str, Any] = {}
    new = {"": paths}
    while new:
        names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(new))) - set(found)
        new = {name: schemas[name] for name in names}
        found |= new
    for schema in found.values():
        _tidy(schema)
    return dict(sorted(found.items()))


def _tidy(schema: dict[str, Any]) -> None:
    """Remove titles made of names, describe a value in one place, and give alternatives one form."""
    schema.pop("title", None)
    if "oneOf" in schema:
        schema["anyOf"] = schema.pop("oneOf")
    variants = schema.get("anyOf", [])
    for variant in variants:
        known = {name: variant.pop(name) for name in ("description", "examples") if name in variant}
        if {"type": "null"} in variants and "description" not in schema:
            schema |= {name: value for name, value in known.items() if name not in schema}
    nested = [*variants, *schema.get("properties", {}).values()]
    for name in ("items", "additionalProperties"):
        nested += [schema[name]] if isinstance(schema.get(name), dict) else []
    for part in nested:
        _tidy(part)


def _complete(made: dict[str, Any], operation: dict[str, Any], path: str, method: str, api: Any) -> None:
    if "description" in operation:
        operation["description"] = " ".join(operation["description"].split())
    if path.endswith("{path}"):
        operation.setdefault("parameters", []).append(
            {"name": "path", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    for parameter in operation.get("parameters", []):
        _complete_parameter(parameter, operation["operationId"])
    route = f"{method.upper()} {path.replace('{path}', '{path+}')}"
    operation["x-needs"] = "any" if api.needs[route] == "rotation" else api.needs[route]
    if api.needs[route] == "nothing":
        operation["security"] = []
    _complete_responses(made, operation, api, route)


def _complete_responses(made: dict[str, Any], operation: dict[str, Any], api: Any, route: str) -> None:
    responses = operation["responses"]
    for status in [status for status in responses if status.startswith(("4", "5"))]:
        name = f"Error{status}"
        made["components"]["responses"][name] = _problem(int(status), responses[status])
        responses[status] = {"$ref": f"#/components/responses/{name}"}
    good = next(answer for status, answer in responses.items() if status.startswith("2"))
    if empty := responses.get(str(int(HTTPStatus.NO_CONTENT))):
        empty.pop("content", None)
    for content, answers in ((good.get("content"), True), (operation.get("requestBody", {}).get("content"), False)):
        if content and negotiation.JSON in content:
            _exemplify(made, content[negotiation.JSON], answers, operation["operationId"])
    if route in api.in_markdown:
        schema = {"type": "string", "description": "The same as Markdown, if `Accept` prefers it."}
        good["content"][negotiation.MARKDOWN] = {"schema": schema, **_rendered(good, api, route)}
    if route.startswith("GET "):
        _revalidate(operation, good)
    for also in api.also.get(route, ()):
        responses[str(int(also))] = {**good, "description": also.phrase}
    operation["responses"] = dict(sorted(responses.items()))


def _revalidate(operation: dict[str, Any], good: dict[str, Any]) -> None:
    """The description of a route that has an ETag."""
    operation.setdefault("parameters", []).append(IF_NONE_MATCH)
    good["headers"] = {"ETag": ETAG, "Cache-Control": CACHE_CONTROL}
    operation["responses"]["304"] = {
        "description": "Not changed since the answer whose ETag was sent. No body.",
        "headers": good["headers"],
    }


def _complete_parameter(parameter: dict[str, Any], operation_id: str) -> None:
    schema = parameter["schema"]
    if parameter["in"] == "path":
        known = PATH_PARAMETERS.get(parameter["name"], {})
        parameter |= {name: known[name] for name in ("description", "example") if name in known}
        parameter["schema"] = {"type": schema["type"], **known.get("schema", {})}
        return
    if parameter["in"] == "header":
        # Powertools writes it in small letters, everybody else as here.
        parameter["name"] = parameter["name"].title()
    _tidy(schema)
    if variants := schema.pop("anyOf", None):
        # Neither a query nor a header can hold null.
        (present,) = [variant for variant in variants if variant != {"type": "null"}]
        schema |= present
    if told := schema.pop("description", None):
        parameter["description"] = told
    if examples := schema.pop("examples", None):
        parameter["example"] = examples[0]
    if (operation_id, parameter["name"]) in REQUIRED_QUERY:
        parameter["required"] = True


def _exemplify(made: dict[str, Any], content: dict[str, Any], answers: bool, operation_id: str) -> None:
    schema = content["schema"]
    # A body that may be missing is null to pydantic, to HTTP it is not there.
    if {"type": "null"} in (variants := schema.get("anyOf", [])):
        schema = content["schema"] = next(variant for variant in variants if variant != {"type": "null"})
    _tidy(schema)
    example = api_examples.example(made, schema, answers=answers)
    if example is not api_examples.MISSING:
        content["example"] = api_examples.as_answered(operation_id, example) if answers else example


def _rendered(good: dict[str, Any], api: Any, route: str) -> dict[str, Any]:
    """The example of an answer as Markdown, by the route's own renderer."""
    example = good["content"][negotiation.JSON].get("example")
    if example is None:
        return {}
    return {"example": api.in_markdown[route](api.answer_model(route).model_validate(example))}


def _problem(status: int, response: dict[str, Any]) -> dict[str, Any]:
    """A shared answer for one status of errors, with the codes that it can have."""
    codes = _codes(errors.LiveMemoryError, status)
    problem = problems.Problem(
        title=HTTPStatus(status).phrase if status not in PHRASES else PHRASES[status],
        status=status,
        detail=response["description"] + ".",
        code=codes[0],
        request_id="JKJaXmPLvHcESHA=",
    )
    content = dict(response["content"])
    content[problems.MEDIA_TYPE] = {**content[problems.MEDIA_TYPE], "example": problem.model_dump(exclude_none=True)}
    listed = ", ".join(f"`{code}`" for code in codes)
    return {**response, "description": f"{response['description']}. Codes: {listed}.", "content": content}


PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Those that Python has only come to call so."""


def _codes(kind: type[errors.LiveMemoryError], status: int) -> list[str]:
    found = [kind.code] if kind.status == status else []
    if kind is errors.NotFound:
        found = [f"{what}_not_found" for what in WHAT_CAN_BE_MISSING] if status == kind.status else []
    elif kind is errors.CapReached:
        found = list(get_args(errors.CapName)) if status == kind.status else []
    elif kind is errors.RunError:
        # Told by a run, not by an answer.
        found = []
    for narrower in kind.__subclasses__():
        if narrower.__module__.startswith("livemem_mcp"):
            # Told at `/mcp` alone, and known only where that is loaded.
            continue
        found += [code for code in _codes(narrower, status) if code not in found]
    return found


WHAT_CAN_BE_MISSING = (
    "connection",
    "space",
    "note",
    "bank_file",
    "synthesis",
    "run",
    "consolidation",
    "token",
    "backup",
    "provisioning",
    "upload",
    "conversation",
    "turn",
    "summary",
    "job",
    "memory",
    "deleted_memory",
    "digest",
    "question",
    "session",
    "route",
)


def text(value: Any, depth: int = 0) -> str:
    """The document as JSON: each path, each schema and each other part of it on a line of its own."""
    if not isinstance(value, dict) or depth == DEPTH:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    members = (
        f"{json.dumps(name)}:{text(part, depth if name == 'components' else depth + 1)}" for name, part in value.items()
    )
    return "{\n" + ",\n".join(members) + "\n}"


def main(arguments: list[str]) -> int:
    """Write or check the document; returns the exit status."""
    made = document()
    wrong, whole = openapi_check.problems(made), text(made) + "\n"
    for problem in wrong:
        print(problem, file=sys.stderr)
    if "--check" not in arguments:
        TARGET.write_text(whole, encoding="utf-8")
        generated.main()
        return 1 if wrong else 0
    stale = TARGET.read_text(encoding="utf-8") != whole
    if stale:
        print(f"{TARGET.name} is stale: run `make openapi`", file=sys.stderr)
    if not wrong and not stale:
        print("The OpenAPI document is complete and up to date")
    return 1 if wrong or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

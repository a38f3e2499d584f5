"""docs/api.md: the OpenAPI document for people, with a line of curl for each operation."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

from livemem_http import negotiation
from scripts.api_examples import resolve
from scripts.operation_table import short

METHODS = ("post", "put", "get", "patch", "delete")
"""In this order operations of one path can be tried one after the other."""
BASE = "/v1"
MADE = {
    "note_id": ("NOTE", "append_note", "", "note_id"),
    "run_id": ("RUN", "list_runs", "?limit=1", "run_id"),
    "number": ("NUMBER", "list_consolidations", "?limit=1", "number"),
    "token_hash": ("HASH", "create_token", "", "hash"),
    "backup_id": ("BACKUP", "create_backup", "", "backup_id"),
    "erasure_id": ("ERASURE", "", "", ""),
    "conversation_id": ("CONVERSATION", "list_conversations", "?limit=1", "conversation_id"),
    "memory_id": ("MEMORY", "search_memories", "?limit=1", "memory_id"),
    "request_id": ("QUESTION", "ask_question", "", "request_id"),
    "job": ("WORK", "create_backup", "", "job"),
    "slot": ("SLOT", "list_digests", "?limit=1", "slot"),
    "job_id": ("JOB", "list_summary_jobs", "?limit=1", "job_id"),
}
"""Parameters of a path whose values the service gives out: the shell's variable, the operation that tells one, and the
field of its answer."""
OWN_TOKEN = {"rotate_token": ("OWN", "create_token", "", "token")}
"""Operations that the administrator's key can't do, and where their token comes from."""
SPACES = {"get_provisioning": "demo-imported"}
"""Operations that are tried on another space than `demo`, which another line has made."""
ARCHIVE = """\
URL=$(curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/export" | sed -E 's/.*"url": "([^"]+).*/\\1/')
curl -sS -o demo.tar.gz "$URL"
UPLOADED=$(curl -sS -H "Authorization: Bearer $TOKEN" "$API/uploads" -d '{"size": '$(wc -c < demo.tar.gz)'}')
URL=$(echo "$UPLOADED" | sed -E 's/.*"url": "([^"]+).*/\\1/')
curl -sS -T demo.tar.gz "$URL"
UPLOAD=$(echo "$UPLOADED" | sed -E 's/.*"upload_id": "([^"]+).*/\\1/')"""
ERASED = """\
NOTE=$(curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/notes" -d '{"category": "issue", "content": "Her number is 555 0199."}' | sed -E 's/.*"note_id": "([^"]+).*/\\1/')
ERASURE=$(curl -sS -X DELETE -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/notes/$NOTE?erase=true" | sed -E 's/.*"erasure_id": "([^"]+).*/\\1/')"""  # noqa: E501
BEGUN = """\
CONVERSATION=$(curl -sS -X POST -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/conversations" | sed -E 's/.*"conversation_id": "([^"]+).*/\\1/')"""  # noqa: E501
DELETED = """\
MEMORY=$(curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/memories" -d '{"content": "The ferry has a new captain."}' | sed -E 's/.*"memory_id": "([^"]+).*/\\1/')
curl -sS -X DELETE -H "Authorization: Bearer $TOKEN" $API/spaces/demo/memories/$MEMORY?reason=mistaken"""  # noqa: E501
PLANNED = """\
curl -sS -X PATCH -H "Authorization: Bearer $TOKEN" "$API/spaces/demo" -d '{"consolidation_mode": "review"}'
curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/notes" -d '{"category": "decision", "content": "The ferry leaves at nine."}'
sleep 10
RUN=$(curl -sS -X POST -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/consolidations" | sed -E 's/.*"run_id": "([^"]+).*/\\1/')
sleep 10"""  # noqa: E501
READ = """\
REVISION=$(curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/demo/runs/$RUN/plan" | sed -E 's/.*"plan_revision": "([^"]+).*/\\1/')"""  # noqa: E501
BEFORE = {
    "import_space": ARCHIVE,
    "get_erasure": ERASED,
    "delete_conversation": BEGUN,
    "restore_memory": DELETED,
    "get_plan": PLANNED,
    "approve_plan": READ,
    "refuse_plan": PLANNED,
}
"""The commands that must run before an operation can be tried."""
GIVEN = {
    "import_space": ("upload_id", "UPLOAD"),
    "approve_plan": ("plan_revision", "REVISION"),
}
"""Fields of a body whose values the service gives out, and the shell's variable that holds such a value by then."""
INTRODUCTION = """\
# API

<!-- Made of openapi.json by `make openapi`; what it says of a route is written beside its code. -->

The base path is `/v1`. Bodies and answers are JSON in UTF-8. The same for programs: [openapi.json](openapi.json).

## First of all

Every request but `GET /health` carries a token, in the header `Authorization: Bearer <token>` alone. The service on
your machine (`make run`) has one that may do everything; `make token NAME=agent-one SPACE=demo` makes others. Set two
variables, and every line of curl below works as it stands, from top to bottom, in a space `demo` that the first of them
makes. Only leave its deletion for the end, and give a consolidation a moment to end.

```sh
export API=http://127.0.0.1:3000/v1 TOKEN=$(cat .local/admin.key)
```

A token has a name, which is the agent of the notes that it writes; permissions; and perhaps a list of spaces, outside
of which everything is `forbidden`, whether it exists or not. A permission does not hold another one: `admin` alone
reads nothing.

| permission | for |
|---|---|
{permissions}

## Errors

Every error is a problem document ([all codes, and what to do](errors.md)). `code` is stable, `detail` is for people,
and `errors` names the fields where there are any. Where trying again can help there is a `Retry-After`.

```json
{problem}
```

| status | when | codes |
|---|---|---|
{errors}

An unknown query parameter or field of a body is a 422 that names it. Every route can answer 401, 403, 413, 422, 429,
500 and 503; one with a name in its path 404; one that changes something, or looks back (`at`), 409.

## Fields without a value

An answer leaves out each field that has no value, over HTTP and over MCP. Only `next_cursor` is null: on the last page.
In the body of a `PATCH` null takes a value away, and a field that is left out keeps its value.

## Pages

Lists answer `{{"items": [...], "next_cursor": ...}}`. Send `next_cursor` as `cursor` with the same other parameters to
get the next page, until it is null. A cursor is opaque. `limit` is 50 unless you say otherwise, and at most 500.

## Markdown

With `Accept: text/markdown` these answer with Markdown, ready for a prompt; JSON is the default, and an error is JSON
in any case: {markdown}.
"""


def guide(document: dict[str, Any]) -> str:
    """The text of docs/api.md."""
    parts = [_introduction(document)]
    for tag in document["tags"]:
        parts.append(f"## {tag['name'].capitalize()}\n\n{tag['description']}\n")
        parts += ["\n".join(_operation(document, *found)) for found in _tagged(document, tag["name"])]
    parts.append("\n".join(_objects(document)))
    return "\n".join(parts)


def _tagged(document: dict[str, Any], tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations and tag in operations[method].get("tags", []):
                yield path.removeprefix(BASE), method, operations[method]


def _all(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for tag in document["tags"]:
        yield from _tagged(document, tag["name"])


def _introduction(document: dict[str, Any]) -> str:
    responses = document["components"]["responses"]
    errors = [
        f"| {name.removeprefix('Error')} | {when} | {codes.rstrip('.')} |"
        for name, response in responses.items()
        for when, _, codes in [response["description"].partition(". Codes: ")]
    ]
    permissions = []
    for permission in ("read", "write", "admin"):
        links = [_link(operation) for _, _, operation in _all(document) if operation["x-needs"] == permission]
        permissions.append(f"| `{permission}` | {', '.join(links)} |")
    in_markdown = [_link(operation) for _, _, operation in _all(document) if _answer(operation)[2]]
    (problem,) = responses["Error404"]["content"].values()
    return INTRODUCTION.format(
        permissions="\n".join(permissions),
        errors="\n".join(errors),
        problem=json.dumps(problem["example"]),
        markdown=", ".join(in_markdown),
    )


def _link(operation: dict[str, Any]) -> str:
    return f"[{operation['summary'].lower()}](#{operation['summary'].lower().replace(' ', '-').replace(chr(39), '')})"


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    needs = operation["x-needs"]
    asks = {"nothing": "needs no token", "any": "needs any token"}.get(needs, f"needs `{needs}`")
    yield f"### {operation['summary']}\n"
    (tag,), name = operation["tags"], operation["operationId"]
    yield f"`{method.upper()} {path}` {asks}. In the client: `{tag}.{short(name, tag)}`, or `{name}` by its id.\n"
    yield operation.get("description", "") + "\n"
    parameters = [one for one in operation.get("parameters", []) if one["in"] != "path"]
    yield from _table(document, {one["name"]: one | {"schema": _said(one)} for one in parameters}, "parameter")
    if lines := _lines(operation):
        yield f"The body: {lines['schema']['description']}\n"
    if body := _body(operation):
        schema = resolve(document, body["schema"])
        required = schema.get("required", [])
        fields = {name: {"schema": part, "required": name in required} for name, part in schema["properties"].items()}
        yield from _table(document, fields, "field")
    yield "```sh"
    yield from commands(document, path, method, operation)
    yield "```\n"
    status, answer, _ = _answer(operation)
    if answer is None:
        yield f"Answers {status} with nothing.\n"
        return
    yield f"Answers {status} with {_type(document, answer['schema'])}:\n"
    yield f"```json\n{_short(answer.get('example'))}\n```\n"


def _said(parameter: dict[str, Any]) -> dict[str, Any]:
    where = " Sent as a header." if parameter["in"] == "header" else ""
    return {**parameter["schema"], "description": parameter.get("description", "") + where}


def _body(operation: dict[str, Any]) -> dict[str, Any] | None:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return content.get(negotiation.JSON)


def _lines(operation: dict[str, Any]) -> dict[str, Any] | None:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return content.get(negotiation.LINES)


def _answer(operation: dict[str, Any]) -> tuple[str, dict[str, Any] | None, bool]:
    """The statuses of success, what JSON holds then, and whether there is Markdown too."""
    good = {status: answer for status, answer in operation["responses"].items() if status.startswith("2")}
    content = next(iter(good.values())).get("content", {})
    return " or ".join(good), content.get(negotiation.JSON), negotiation.MARKDOWN in content


def _table(document: dict[str, Any], fields: dict[str, dict[str, Any]], title: str) -> Iterator[str]:
    if not fields:
        return
    yield f"| {title} | type | what |"
    yield "|---|---|---|"
    for name, field in fields.items():
        schema = field["schema"]
        needed = " (required)" if field.get("required") else ""
        told = f"{_cell(schema.get('description', ''))}{_bounds(schema)}"
        yield f"| `{name}`{needed} | {_type(document, schema)} | {told} |"
    yield ""


def _type(document: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(document, variant) for variant in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(document, schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _bounds(schema: dict[str, Any]) -> str:
    known = schema if "anyOf" not in schema else {**schema["anyOf"][0], **schema}
    said = []
    if "enum" in known:
        said.append("One of " + ", ".join(f"`{value}`" for value in known["enum"]))
    least, most = (
        known.get(name, known.get(other)) for name, other in (("minimum", "minItems"), ("maximum", "maxItems"))
    )
    if most is not None:
        said.append(f"{int(least or 0)} to {int(most)}")
    elif least is not None:
        said.append(f"At least {int(least)}")
    if known.get("default") not in (None, "", []):
        said.append(f"Default: `{json.dumps(known['default'])}`")
    return "".join(f" {text}." for text in said)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def commands(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """Lines for a shell that carry the operation out, with `API` and `TOKEN` set."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path":
            continue
        name = parameter["name"]
        if name == "space_id":
            path = path.replace("{space_id}", SPACES.get(operation["operationId"], str(parameter["example"])))
            continue
        if name not in MADE:
            path = path.replace(f"{{{name}}}", str(parameter.get("example", name)))
            continue
        variable = MADE[name][0]
        path = path.replace(f"{{{name}}}", f"${variable}")
        if f"\n{variable}=" not in BEFORE.get(operation["operationId"], ""):
            yield from _ask(document, *MADE[name])
    if operation["operationId"] in OWN_TOKEN:
        yield from _ask(document, *OWN_TOKEN[operation["operationId"]])
    if operation["operationId"] in BEFORE:
        yield BEFORE[operation["operationId"]]
    needed = [one for one in operation.get("parameters", []) if one["in"] == "query" and one.get("required")]
    path += "".join(
        f"{'&' if place else '?'}{one['name']}={_plain(one['example'])}" for place, one in enumerate(needed)
    )
    yield _curl(path, method, operation)
    if _answer(operation)[2]:
        yield _curl(path, method, operation, f'-H "Accept: {negotiation.MARKDOWN}"')


def _plain(value: Any) -> str:
    return quote_plus(value, safe="/:") if isinstance(value, str) else json.dumps(value)


def _ask(document: dict[str, Any], variable: str, source: str, query: str, field: str) -> Iterator[str]:
    """A line that sets a variable of the shell to a field of what an operation answers."""
    asked = next((found for found in _all(document) if found[2]["operationId"] == source), None)
    if asked:
        path = asked[0].replace("{space_id}", "demo")
        for name, (known, *_) in MADE.items():
            path = path.replace(f"{{{name}}}", f"${known}")
        line = _curl(path + query, asked[1], asked[2])
        # The first field of the name: others may be deeper in the answer.
        yield f"""{variable}=$({line} | sed -E 's/"{field}": "?([^",]+).*/@\\1/; s/.*@//')"""


def _curl(path: str, method: str, operation: dict[str, Any], more: str = "") -> str:
    body = _body(operation)
    own = OWN_TOKEN.get(operation["operationId"], ("TOKEN",))[0]
    token = "" if operation["x-needs"] == "nothing" else f'-H "Authorization: Bearer ${own}"'
    data = ""
    if body and "example" in body:
        text = json.dumps(body["example"], ensure_ascii=False).replace("'", "'\\''")
        if given := GIVEN.get(operation["operationId"]):
            field, variable = given
            text = text.replace(body["example"][field], f"'${variable}'")
        data = f"-d '{text}'"
    if lines := _lines(operation):
        data = f"--data-binary '{lines['example']}'"
    verb = "" if method == ("post" if data else "get") else f"-X {method.upper()}"
    return " ".join(part for part in ("curl -sS", verb, token, more, f'"$API{path}"', data) if part)


def _short(value: Any) -> str:
    """JSON with a line for each field of the outermost object."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _objects(document: dict[str, Any]) -> Iterator[str]:
    """Tables of the objects in answers, and of those that bodies hold inside."""
    bodies = [_body(operation) for _, _, operation in _all(document)]
    shown = {body["schema"].get("$ref", "").rpartition("/")[2] for body in bodies if body}
    yield "## Objects\n"
    schemas = document["components"]["schemas"]
    shown -= {name for name in shown if f'schemas/{name}"' in json.dumps(schemas)}
    for name, schema in schemas.items():
        if name in shown:
            continue
        yield f"### {name}\n"
        if told := schema.get("description"):
            yield " ".join(told.split()) + "\n"
        base = _base(schemas, name)
        if base:
            yield f"All of [{base}](#{base.lower()}), and:\n"
        known = schemas[base]["properties"] if base else {}
        fields = {field: {"schema": part} for field, part in schema["properties"].items() if field not in known}
        yield from _table(document, fields, "field")


def _base(schemas: dict[str, Any], name: str) -> str | None:
    """The object that has the most fields of those that the named one has all of, and more."""
    own = schemas[name]["properties"].items()
    parts = [other for other, schema in schemas.items() if schema["properties"].items() < own]
    best = max(parts, key=lambda other: len(schemas[other]["properties"]), default=None)
    return best if best and len(schemas[best]["properties"]) > 2 else None

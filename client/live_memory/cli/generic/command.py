"""The command of one operation: its fields are options, its answer is JSON on stdout."""

import inspect
import keyword
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from live_memory.cli import reading
from live_memory.cli.completion import complete_space
from live_memory.cli.exits import Refused
from live_memory.cli.session import Session, opened
from live_memory.operations import Field, Operation

_SCALARS: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
_NO_WAY_BACK = {"erase_items", "refuse_plan", "rotate_token", "undo_consolidation"}
"""Operations that can't be undone, in addition to every DELETE."""
_DRY_UNLESS_SAID = {"collect_garbage"}
_GIVES_SPACES = {"create_token", "patch_token"}
"""Operations that take the names of spaces which need not be there."""

_BODY = typer.Option("--body", help="The body as JSON, or @FILE, or - for stdin; options take precedence.")
_JSON = typer.Option("--json", help="No effect: the answer is always JSON.")
_YES = typer.Option("--yes", "-y", help="Do not ask for confirmation.")
_MARKDOWN = typer.Option("--markdown", help="Print the answer as Markdown.")
_ALL = typer.Option("--all", help="Print all pages, one item a line.")
_KEY = typer.Option("--idempotency-key", help="A repeat with the same key changes nothing.")


def function(operation: Operation) -> Callable[..., None]:
    """The function from which typer makes the command."""

    def run(ctx: typer.Context, **said: Any) -> None:
        _run(ctx, operation, said)

    parameters = [_parameter("ctx", typer.Context, inspect.Parameter.empty)]
    parameters += [_of_field(operation, field) for field in operation.fields.values()]
    parameters += _extras(operation)
    # typer reads the one for the names and defaults, the other for the types.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = f"{operation.summary}.\n\n{operation.description}"
    return run


def option(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _of_field(operation: Operation, field: Field) -> inspect.Parameter:
    needed = "" if not field.required else " (needed)"
    if field.name == "space_id" and field.name in operation.path_parameters:
        text = f"{field.description} Default: LIVEMEM_SPACE, then the project's, then the profile's."
        shown = typer.Option("--space-id", "--space", "-s", help=text, autocompletion=complete_space)
        return _parameter(field.name, Annotated[str | None, shown], None)
    shown = typer.Option(option(field.name), help=f"{field.description}{needed}", metavar=_metavar(field))
    if field.type == "boolean":
        shown = typer.Option(f"{option(field.name)}/--no-{field.name.replace('_', '-')}", help=field.description)
    return _parameter(_argument(field.name), Annotated[_type(field), shown], None)


def _argument(name: str) -> str:
    """The name in Python, which has words of its own such as `from`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _type(field: Field) -> Any:
    if field.choices:
        return Literal[field.choices] | None
    if field.type == "array" and field.items == "string":
        return list[str] | None
    return _SCALARS.get(field.type, str) | None


def _metavar(field: Field) -> str | None:
    if field.choices or field.type in _SCALARS:
        return None
    return "TEXT" if field.items == "string" else "JSON"


def _extras(operation: Operation) -> list[inspect.Parameter]:
    """The options that are no fields: the form of the request and of the answer."""
    wanted = {
        "body_": (Annotated[str | None, _BODY], None, bool(operation.body)),
        "key_": (Annotated[str | None, _KEY], None, operation.takes_key),
        "markdown_": (Annotated[bool, _MARKDOWN], False, operation.markdown),
        "all_": (Annotated[bool, _ALL], False, operation.paged),
        "yes_": (Annotated[bool, _YES], False, _asks(operation)),
        "json_": (Annotated[bool, _JSON], False, True),
    }
    return [_parameter(name, kind, default) for name, (kind, default, there) in wanted.items() if there]


def _asks(operation: Operation) -> bool:
    return operation.method == "DELETE" or operation.name in _NO_WAY_BACK | _DRY_UNLESS_SAID


def _run(ctx: typer.Context, operation: Operation, said: dict[str, Any]) -> None:
    with opened(ctx, json=said["json_"], space=said.get("space_id")) as session:
        arguments = _arguments(session, operation, said)
        looks = arguments.get("preview") or (operation.name in _DRY_UNLESS_SAID and arguments.get("dry_run", True))
        if _asks(operation) and not looks:
            named = " ".join(str(arguments[name]) for name in operation.path_parameters)
            session.confirm(f"{operation.summary}: {named or operation.name}?", yes=said["yes_"])
        _send(session, operation, arguments, said)


def _send(session: Session, operation: Operation, arguments: dict[str, Any], said: dict[str, Any]) -> None:
    client, out = session.client, session.out
    if said.get("markdown_"):
        out.text(client.markdown(operation.name, arguments))
    elif said.get("all_"):
        for item in client.pages(operation.name, arguments):
            out.record(item)
    else:
        answer = client.call(operation.name, arguments, idempotency_key=said.get("key_"))
        if answer is not None or out.json:
            out.document(answer)
        session.end_if_nothing(answer)
        if operation.name in _GIVES_SPACES:
            session.tell_missing(arguments.get("space_ids") or ())


def _arguments(session: Session, operation: Operation, said: dict[str, Any]) -> dict[str, Any]:
    body = reading.json_value(said["body_"], "--body") if said.get("body_") else {}
    if not isinstance(body, dict) or set(body) - set(operation.body):
        names = ", ".join(operation.body)
        raise Refused(f"--body must be a JSON object; {operation.tag} {operation.short} has these fields: {names}.")
    fields = operation.fields
    # A list that was not given is an empty one for typer.
    given = {name: value for name in fields if (value := said.get(_argument(name))) is not None and value != []}
    arguments = {**body, **{name: _value(fields[name], value) for name, value in given.items()}}
    if "space_id" in operation.path_parameters:
        arguments["space_id"] = session.space
    instead = operation.body if operation.many and "items" in arguments else {}
    missing = [option(name) for name, field in fields.items() if field.required and name not in {*arguments, *instead}]
    if missing:
        raise Refused(f"{operation.tag} {operation.short} needs {', '.join(missing)}.")
    return arguments


def _value(field: Field, said: Any) -> Any:
    if field.type in _SCALARS or (field.type == "array" and field.items == "string"):
        return said
    return reading.json_value(said, option(field.name))

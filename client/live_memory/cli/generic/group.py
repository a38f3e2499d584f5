"""The group `api`: its commands are the operations, each built only when it is called or shown."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from live_memory.cli.options import Json
from live_memory.cli.session import plain

if TYPE_CHECKING:
    from live_memory.operations import Operation


class _Operations(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click asks so
        return list(_table())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        operation = _table().get(cmd_name.replace("-", "_"))
        if operation is None:
            return None
        from live_memory.cli.generic import command  # noqa: PLC0415 - not for who calls no operation

        built = typer.Typer(add_completion=False, rich_markup_mode=None)
        built.command(operation.name, rich_help_panel=operation.tag)(command.function(operation))
        return get_command(built)


def _table() -> "dict[str, Operation]":
    # The table is long: only who calls an operation waits for it.
    from live_memory import operations  # noqa: PLC0415

    return dict(sorted(operations.OPERATIONS.items(), key=lambda one: (one[1].tag, one[0])))


app = typer.Typer(cls=_Operations, invoke_without_command=True)


@app.callback()
def api(
    ctx: typer.Context,
    tag: Annotated[str | None, typer.Option(help="Only the operations of this kind, such as notes.")] = None,
    json: Json = False,
) -> None:
    """Call any operation of the service by its name; without a name, list them."""
    if ctx.invoked_subcommand:
        return
    with plain(ctx, json=json) as (_, out):
        found = [one for one in _table().values() if tag in {None, one.tag}]
        listed = [{"operation": one.name, "tag": one.tag, "summary": one.summary, "needs": one.needs} for one in found]
        rows = [list(one.values()) for one in listed]
        out.result(listed, lambda: out.table(["operation", "kind", "what it does", "needs"], rows))

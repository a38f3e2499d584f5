"""The group `api`: a group for each tag, its commands the operations. Each is built only when it is called or shown."""

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from live_memory.cli.options import Json
from live_memory.cli.session import plain

if TYPE_CHECKING:
    from live_memory.operations import Operation


class _Tags(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click asks so
        return sorted({one.tag for one in _operations()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _of_tag(cmd_name) if cmd_name in self.list_commands(ctx) else None


class _Operations(TyperGroup):
    """The operations of the tag that is its name."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [one.short for one in _operations(self.name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        found = [one for one in _operations(self.name) if one.short == cmd_name.replace("-", "_")]
        if not found:
            return None
        from live_memory.cli.generic import command  # noqa: PLC0415 - not for who calls no operation

        built = typer.Typer(add_completion=False, rich_markup_mode=None)
        built.command(found[0].short)(command.function(found[0]))
        return get_command(built)


def _of_tag(tag: str) -> Any:
    from live_memory._groups import Groups  # noqa: PLC0415

    built = typer.Typer(
        cls=_Operations, name=tag, invoke_without_command=True, add_completion=False, help=getattr(Groups, tag).__doc__
    )

    @built.callback()
    def _(ctx: typer.Context, json: Json = False) -> None:
        _list(ctx, tag, json=json)

    return get_command(built)


def _operations(tag: str | None = None) -> "list[Operation]":
    # The table is long: only a command that calls an operation loads it.
    from live_memory.operations import OPERATIONS  # noqa: PLC0415

    return sorted((one for one in OPERATIONS.values() if tag in {None, one.tag}), key=lambda one: (one.tag, one.short))


def _list(ctx: typer.Context, tag: str | None, *, json: bool) -> None:
    if ctx.invoked_subcommand:
        return
    with plain(ctx, json=json) as (_, out):
        found = _operations(tag)
        listed = [
            {"operation": one.name, "tag": one.tag, "command": one.short, "summary": one.summary, "needs": one.needs}
            for one in found
        ]
        rows = [[f"{one.tag} {one.short}", one.summary, one.needs] for one in found]
        out.result(listed, lambda: out.table(["operation", "description", "needs"], rows))


app = typer.Typer(cls=_Tags, invoke_without_command=True)


@app.callback()
def api(ctx: typer.Context, json: Json = False) -> None:
    """Call any operation of the service by its kind and name; without a name, list them."""
    _list(ctx, None, json=json)

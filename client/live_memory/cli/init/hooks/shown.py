"""`livemem hook` behind an option of the program (`livemem --profile work hook ...`): the parser of hooks reads it."""

from typing import Annotated

import typer

from live_memory.cli.init.hooks.command import run_hook
from live_memory.cli.session import program_of


def hook_command(
    ctx: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="CLIENT EVENT [--space NAME]")] = None,
) -> None:
    """Only for hooks: reads the client's JSON from stdin, and loads the memory or keeps the messages."""
    raise typer.Exit(run_hook(arguments or [], program_of(ctx)))


hook_command.context_settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]

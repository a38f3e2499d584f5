"""`livemem init CLIENT` and `livemem hook CLIENT EVENT`, to be mounted by the command line's main program."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from live_memory.cli.init import clients, plan, record, surroundings
from live_memory.cli.init.clients import Fitting
from live_memory.cli.init.plan import ByHand, Plan
from live_memory.cli.init.problems import Refused
from live_memory.cli.init.setup import Scope, Setup

USAGE = 2
NOTHING = 7


class Client(StrEnum):
    """The clients that there is something for."""

    claude_code = "claude-code"
    cursor = "cursor"
    cline = "cline"
    vscode = "vscode"
    codex = "codex"


class ScopeName(StrEnum):
    """Whose files are changed."""

    project = "project"
    user = "user"


def init_command(
    client: Annotated[Client, typer.Argument(help="What is to use the memory.")],
    space: Annotated[str | None, typer.Option("--space", "-s", help="The space of the project.")] = None,
    url: Annotated[str | None, typer.Option(help="The service, if not that of the configuration.")] = None,
    scope: Annotated[ScopeName, typer.Option(help="This project's files, or the user's own.")] = ScopeName.project,
    directory: Annotated[Path, typer.Option(help="The project.", file_okay=False, exists=True)] = Path(),
    record_turns: Annotated[
        bool, typer.Option("--record/--no-record", help="Keep what is said as conversations of the space.")
    ] = True,
    with_token: Annotated[
        bool, typer.Option("--with-token", help="Write the token itself where the client has no other way.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was written for this client.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Give a client the memory: MCP server, rules text, hooks. Shows each change first, and can take it back."""
    try:
        known = surroundings.look()
        setup = Setup(
            space=surroundings.need_space(space or known.space or ("any" if undo else None)),
            url=surroundings.need_url(url or known.url or ("http://any" if undo else None)),
            scope=_scope(scope),
            project=directory.resolve(),
            home=Path.home(),
            platform=sys.platform,
            environ=os.environ,
            token=_token(client, known.token, with_token=with_token, undo=undo),
            record=record_turns or undo,
        )
        _carry_out(client.value, setup, undo=undo, dry_run=dry_run, yes=yes)
    except Refused as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(USAGE) from None


def _scope(scope: ScopeName) -> Scope:
    return "project" if scope is ScopeName.project else "user"


def _token(client: Client, token: str | None, *, with_token: bool, undo: bool) -> str | None:
    if undo:
        # So that what was written with a token is looked for.
        return ""
    if not with_token:
        return None
    if client is not Client.cline:
        raise Refused(f"{client.value} needs no --with-token: it takes the token from the environment, or asks.")
    if not token:
        raise Refused("There is no token to write: set LIVEMEM_TOKEN.")
    return token


def _carry_out(client: str, setup: Setup, *, undo: bool, dry_run: bool, yes: bool) -> None:
    fitted = clients.fitting(client, setup)
    kept = record.path_of(setup.environ, client, setup.scope, setup.root)
    records = record.load(kept)
    drawn = plan.draw_up_undo(fitted.places, records) if undo else plan.draw_up(fitted.places, records)
    _show(drawn)
    if not undo:
        _explain((*drawn.by_hand, *fitted.by_hand))
    elif drawn.by_hand:
        _explain(drawn.by_hand, undo=True)
    if not drawn.steps:
        typer.echo("Nothing to take back." if undo else "Nothing to change: all of it is there already.", err=True)
        raise typer.Exit(NOTHING if not drawn.by_hand else 0)
    if dry_run:
        return
    if not yes and not _agreed():
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(NOTHING)
    if undo:
        plan.take_back(drawn, kept)
    else:
        plan.carry_out(drawn, kept)
    _close(fitted, drawn, undo=undo)


def _show(drawn: Plan) -> None:
    for step in drawn.steps:
        for line in plan.diff(step):
            typer.echo(_clean(line))


def _clean(line: str) -> str:
    """A line of somebody's file without what a terminal would obey."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line)


def _explain(by_hand: tuple[ByHand, ...], *, undo: bool = False) -> None:
    for one in by_hand:
        what = "take this out yourself" if undo else "put this in yourself"
        typer.echo(f"\n{_clean(one.shown)}: {one.reason}; {what}:\n", err=True)
        typer.echo(one.snippet, err=True)


def _agreed() -> bool:
    if not _is_terminal():
        raise Refused("There is nobody to ask: look at it with --dry-run, then say --yes.")
    return typer.confirm("Write this?", default=False, err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _close(fitted: Fitting, drawn: Plan, *, undo: bool) -> None:
    done = "Taken back" if undo else "Written"
    typer.echo(f"{done}: {', '.join(step.shown for step in drawn.steps)}.", err=True)
    for hint in [] if undo else fitted.hints:
        typer.echo(f"- {hint}", err=True)

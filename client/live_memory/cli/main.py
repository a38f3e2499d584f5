"""The program `livemem`.

Nothing here loads httpx or pydantic: that takes longer than all the rest, and help and completion do not need them.
Commands load them when they connect (program.py).
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from live_memory import __version__
from live_memory.cli import exits
from live_memory.cli.commands import (
    account,
    asking,
    backups,
    changes,
    exporting,
    jobs,
    notes,
    repair,
    reviews,
    serving,
    spaces,
    tail,
    tokens,
    upkeep,
)
from live_memory.cli.generic import group
from live_memory.cli.imports.command import import_command
from live_memory.cli.init.command import init_command
from live_memory.cli.init.hooks.command import hook_command
from live_memory.cli.mcp.command import mcp_command
from live_memory.cli.session import program_of, tell

EPILOG = "Exit codes:\n\n" + exits.table()


_WHOLE = 1_000
"""Characters of a command's first sentence: it is wrapped, and never cut."""


class _Panels(TyperGroup):
    """The commands in their groups, without rich: to load it takes longer than all the rest of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        shown = [(name, one) for name in self.list_commands(ctx) if (one := self.get_command(ctx, name))]
        shown = [(name, one) for name, one in shown if not one.hidden]
        width = max(len(name) for name, _ in shown)
        for name, one in shown:
            row = (name.ljust(width), one.get_short_help_str(_WHOLE))
            panels.setdefault(str(getattr(one, "rich_help_panel", None) or "Commands"), []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=_Panels,
    rich_markup_mode=None,
    name="livemem",
    no_args_is_help=True,
    epilog=EPILOG,
    # A traceback with the values of all variables would show tokens.
    pretty_exceptions_show_locals=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"livemem {__version__}\n")
        raise typer.Exit


@app.callback()
def livemem(
    ctx: typer.Context,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="A profile of the configuration file. Default: LIVEMEM_PROFILE."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Shared working memory for AI agents: write notes, read the bank, ask, and keep it in order.

    Begin with `livemem login`, or on this machine with `livemem serve --background`. Every command knows --json.
    """
    assert not version
    ctx.obj = replace(program_of(ctx), profile=profile)


READ, WRITE = "Read", "Write"
CHANGE, OPERATE, ACCOUNT = "The bank and its history", "Operate", "Account"
SERVE = "The service on this machine"

app.command("start", rich_help_panel=READ)(asking.start)
app.command("read", rich_help_panel=READ)(asking.read)
app.command("search", rich_help_panel=READ)(asking.search)
app.command("context", rich_help_panel=READ)(asking.context)
app.command("ask", rich_help_panel=READ)(asking.ask)
app.command("show", rich_help_panel=READ)(asking.show)
app.command("bank", rich_help_panel=READ)(asking.bank)
app.command("tail", rich_help_panel=READ)(tail.tail)
app.command("note", rich_help_panel=WRITE)(notes.note)
app.command("remember", rich_help_panel=WRITE)(notes.remember)
app.command("promote", rich_help_panel=WRITE)(notes.promote)
app.command("consolidate", rich_help_panel=CHANGE)(changes.consolidate)
app.command("history", rich_help_panel=CHANGE)(changes.history)
app.command("diff", rich_help_panel=CHANGE)(changes.diff)
app.command("undo", rich_help_panel=CHANGE)(changes.undo)
app.command("spaces", rich_help_panel=OPERATE)(spaces.spaces)
app.command("export", rich_help_panel=OPERATE)(exporting.export)
app.command("import", rich_help_panel=OPERATE)(import_command)
app.command("wait", rich_help_panel=OPERATE)(jobs.wait)
app.command("erase", rich_help_panel=OPERATE)(upkeep.erase)
app.command("gc", rich_help_panel=OPERATE)(upkeep.gc)
app.command("repair", rich_help_panel=OPERATE)(repair.repair)
app.command("usage", rich_help_panel=OPERATE)(upkeep.usage)
app.command("health", rich_help_panel=OPERATE)(upkeep.health)
app.command("serve", rich_help_panel=SERVE)(serving.serve)
app.command("status", rich_help_panel=SERVE)(serving.status)
app.command("stop", rich_help_panel=SERVE)(serving.stop)
app.command("mcp", rich_help_panel=SERVE)(mcp_command)
app.command("init", rich_help_panel=ACCOUNT)(init_command)
app.command("hook", hidden=True)(hook_command)
app.command("login", rich_help_panel=ACCOUNT)(account.login)
app.command("logout", rich_help_panel=ACCOUNT)(account.logout)
app.command("whoami", rich_help_panel=ACCOUNT)(account.whoami)
app.command("config", rich_help_panel=ACCOUNT)(account.show_config)
app.add_typer(reviews.app, name="review", rich_help_panel=CHANGE)
app.add_typer(spaces.app, name="space", rich_help_panel=OPERATE)
app.add_typer(backups.app, name="backup", rich_help_panel=OPERATE)
app.add_typer(tokens.app, name="token", rich_help_panel=OPERATE)
app.add_typer(group.app, name="api", rich_help_panel=OPERATE)


def run(arguments: Sequence[str]) -> int:
    """Carry out a command and return its exit code. With `--json` wrong usage is a document too. The exit code of a
    hook is never 2: with 2, Claude Code would not let the model stop, or would drop the user's message.
    """
    in_json, by_hook = "--json" in arguments, "hook" in arguments[:1]
    if not in_json and not by_hook:
        app(list(arguments), prog_name="livemem")
        return exits.OK
    try:
        return app(list(arguments), prog_name="livemem", standalone_mode=False) or exits.OK
    except typer.Abort:
        return exits.FAILED
    except Exception as problem:
        # Errors of usage have no public base class in typer.
        if not hasattr(problem, "format_message"):
            raise
        detail = problem.format_message()
        tell({"title": "Wrong usage", "code": "usage", "detail": detail}, detail, json=in_json)
        return exits.FAILED if by_hook else exits.USAGE

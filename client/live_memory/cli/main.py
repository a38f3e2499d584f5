"""The program `livemem`.

Nothing here loads httpx or pydantic: that takes longer than all the rest, and help and completion do not need them.
Commands are loaded when they are called (command_table.py), and load those when they connect (program.py).
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from live_memory import __version__
from live_memory.cli import exits
from live_memory.cli.command_table import COMMANDS
from live_memory.cli.program import Program

EPILOG = "Exit codes:\n\n" + exits.table()
FIRST = ("init", "note", "search", "open")
"""What the program shows if it is called alone."""
_PLAIN = {
    "Input should be": "it must be",
    "a valid integer, .*": "a whole number.",
    "a valid number, .*": "a number.",
    "Value error, |Invalid value: ": "",
    r"\(s\)": "s",
}
"""Words of typer and pydantic, and plain ones."""


class _Commands(Mapping[str, Any]):
    """The commands by name, each built when it is asked for."""

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        return _build(name)


@cache
def _build(name: str) -> Any:
    row = COMMANDS[name]
    module, attribute = row.home.split(":")
    found = getattr(import_module(f"live_memory.cli.{module}"), attribute)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
        return get_command(alone).commands[name]  # type: ignore[attr-defined]
    alone.command(name, hidden=not row.panel, context_settings=getattr(found, "context_settings", None))(found)
    return get_command(alone)


class _Panels(TyperGroup):
    """The commands in their groups, without rich: to load it takes longer than all the rest of the help."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Commands()  # type: ignore[assignment]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # People type what other programs know.
        spelt = {"help": [*args[1:], "--help"], "version": ["--version"]}
        return super().parse_args(ctx, spelt.get(args[0], args) if args else args)

    def main(self, args: Sequence[str], **given: Any) -> NoReturn:  # type: ignore[override]
        """Carry out a command, and exit with its code. Wrong usage is one sentence, with `--json` a document."""
        try:
            sys.exit(super().main(args, **{**given, "standalone_mode": False}) or exits.OK)
        except typer.Abort:
            if "--json" not in args:
                sys.stderr.write("Stopped: nothing was done.\n")
            sys.exit(exits.FAILED)
        except Exception as problem:
            # Errors of usage have no public base class in typer.
            if not hasattr(problem, "format_message"):
                raise
            if type(problem).__name__ == "NoArgsIsHelpError" and "--json" not in args:
                sys.stderr.write(problem.format_message() + "\n")
                sys.exit(exits.USAGE)
            from live_memory.cli.session import tell  # noqa: PLC0415 - the help needs no session

            detail = " ".join(problem.format_message().split())
            detail += "" if detail.endswith((".", "?")) else "."
            for words, plain in _PLAIN.items():
                detail = re.sub(words, plain, detail)
            if ctx := getattr(problem, "ctx", None):
                detail += f" More: `{ctx.command_path} --help`."
            tell({"title": "Wrong usage", "code": "usage", "detail": detail}, detail, json="--json" in args)
            sys.exit(exits.USAGE)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - click asks so
        panels: dict[str, list[tuple[str, str]]] = {}
        width = max(len(name) for name, row in COMMANDS.items() if row.panel)
        for name, row in COMMANDS.items():
            if row.panel:
                panels.setdefault(row.panel, []).append((name.ljust(width), row.summary))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=_Panels,
    rich_markup_mode=None,
    name="livemem",
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
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

    Begin with `livemem init CLIENT`, or with `livemem login` at a service elsewhere. Every command knows --json.
    """
    assert not version
    ctx.obj = replace(ctx.obj if isinstance(ctx.obj, Program) else Program(), profile=profile)
    if ctx.invoked_subcommand is None:
        about = {name: COMMANDS[name].summary for name in FIRST} | {"help": "Show all commands."}
        sys.stdout.write(f"Live Memory {__version__}. Begin with `livemem init claude-code`, in your project.\n")
        sys.stdout.writelines(f"  livemem {name:8}{summary}\n" for name, summary in about.items())

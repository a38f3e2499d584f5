"""One running command: its service and token, its output, and its errors."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from live_memory.cli import config, exits, texts
from live_memory.cli.config import Settings
from live_memory.cli.exits import Refused
from live_memory.cli.output import Output
from live_memory.cli.program import Program
from live_memory.errors import LiveMemoryError

if TYPE_CHECKING:
    from live_memory import Client
    from live_memory.cli.both_spaces import PersonalSpace


@dataclass(frozen=True)
class Session:
    """The dependencies of a command."""

    program: Program
    settings: Settings
    client: "Client"
    out: Output

    @cached_property
    def space(self) -> str:
        """The space of the command. Raises Refused if there is none. One that nobody named is told once.

        Where only files of the project name one, and it does not count, it is the repository's own.
        """
        if self.settings.notice:
            self.out.say(self.settings.notice)
            if not self.settings.space:
                return self._own_space()
        found = self.settings.need_space()
        if self.settings.sources["space"] == config.PROJECT:
            self.out.say(f"Space of this project: {found}")
        return found

    def personal(self) -> "Session":
        """The same in the personal space of the folder. Raises Refused if it has none, or another space is named."""
        space = self.settings.personal
        if not space:
            raise Refused("This project has no personal space here: `livemem init CLIENT --personal NAME`.")
        settings = replace(self.settings, space=space, sources={**self.settings.sources, "space": "option"})
        return replace(self, settings=replace(settings, notice=None))

    def beside(self) -> "PersonalSpace | None":
        """The personal space of the folder, which is asked beside the command's."""
        if not self.settings.personal or self.settings.personal == self.space:
            return None
        from live_memory.cli.both_spaces import PersonalSpace  # noqa: PLC0415 - only where there is one
        from live_memory.cli.given_lines import GivenLines  # noqa: PLC0415
        from live_memory.cli.init import record  # noqa: PLC0415

        given = GivenLines.of(record.state_folder(self.program.environ) / "hooks", self.space)
        return PersonalSpace(self.settings.personal, self.client.call, given)

    def _own_space(self) -> str:
        from live_memory.cli.mcp import repository_space  # noqa: PLC0415 - most commands need none of it

        quiet = replace(self.settings, notice=None)
        found = repository_space.of(self.client, self.program.environ, quiet, Path.cwd(), "")
        for line in (*found.notices, f"Space of this project: {found.space_id}"):
            self.out.say(line)
        return found.space_id

    def call(self, operation: str, *, idempotency_key: str | None = None, **arguments: Any) -> Any:
        """Call an operation of the service, JSON in and out; arguments that are None are not sent."""
        return self.client.call(operation, given(arguments), idempotency_key=idempotency_key)

    def here(self, operation: str, **arguments: Any) -> Any:
        """Call an operation in the command's space."""
        return self.call(operation, space_id=self.space, **arguments)

    def pages(self, operation: str, **arguments: Any) -> Iterator[Any]:
        """All items of a list in the space, page by page."""
        return self.client.pages(operation, given({"space_id": self.space, **arguments}))

    def show_all(
        self, operation: str, heads: Sequence[str], row: Callable[[dict[str, Any]], Sequence[object]], none: str
    ) -> None:
        """Show all items of a list that is no space's, as a table. `none`: said if there are none."""
        found = list(self.client.pages(operation, {"limit": 100}))
        self.out.result({"items": found}, lambda: self.out.table(heads, [row(one) for one in found], none))

    def tell_missing(self, space_ids: Iterable[str]) -> None:
        """Say which spaces of a token are not there: it may be meant, or a misspelt name. A request for each."""
        for space_id in space_ids:
            try:
                self.call("get_space", space_id=space_id)
            except LiveMemoryError as problem:
                # Whatever else it is: the token is made, and nobody asked for the space itself.
                if problem.code == "space_not_found":
                    self.out.warn(
                        f"There is no space {space_id}: the token may use it once somebody has made it. "
                        "`livemem spaces` lists the names that are there."
                    )

    def end_if_nothing(self, answer: Any) -> None:
        """End the command with its exit code if the answer is that of a search that found nothing."""
        if isinstance(answer, Mapping) and answer.get("nothing"):
            others = answer.get("elsewhere")
            self.out.say(f"Nothing was found.{f' Look with --scope {chr(44).join(others)}.' if others else ''}")
            raise typer.Exit(exits.NOTHING)

    def confirm(
        self,
        question: str,
        *,
        yes: bool,
        option: str = "--yes",
        typed: str | None = None,
        more: Callable[[], str] = lambda: "",
    ) -> None:
        """Ask before an action that can't be undone, or not easily. Raises Refused if nobody can be asked.

        `typed` is the text to type if a plain yes is too easy. `more` gives details, computed only if the user is
        asked.
        """
        if yes:
            return
        if not self.program.is_terminal(sys.stdin):
            raise Refused(f"{question} Confirm with {option}.")
        if typed is not None:
            told = texts.clean(f"{question} {more()} Type {typed} to do it")
            if typer.prompt(told, default="", show_default=False, err=True) != typed:
                raise typer.Abort
        elif not typer.confirm(texts.clean(question), err=True):
            raise typer.Abort


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def program_of(ctx: typer.Context) -> Program:
    """The program. While a shell completes, it does not exist yet and is made here."""
    return ctx.obj if isinstance(ctx.obj, Program) else Program()


@contextmanager
def plain(ctx: typer.Context, *, json: bool) -> Iterator[tuple[Program, Output]]:
    """A command that asks no service. A refusal is shown, and ends the command with its exit code."""
    program = program_of(ctx)
    try:
        yield program, Output(json, program.is_terminal, program.environ)
    except Refused as refusal:
        tell({"title": "Refused", "code": "refused", "detail": str(refusal)}, str(refusal), json=json)
        raise typer.Exit(refusal.code) from None
    except BrokenPipeError:
        # `livemem history | head -1`: the reader has seen enough, and that is no failure.
        _write_no_more()
        raise typer.Exit(exits.OK) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        _write_no_more()
        tell({"title": "Failed", "code": "failed", "detail": f"{reason}."}, f"{reason}.", json=json)
        raise typer.Exit(exits.FAILED) from None


def _write_no_more() -> None:
    """Discard the buffered output, which would fail again when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def opened(ctx: typer.Context, *, json: bool, space: str | None = None, **options: Any) -> Iterator[Session]:
    """A command that asks the service. Its errors are shown, and end the command with their exit codes."""
    with plain(ctx, json=json) as (program, out):
        settings = config.settle(program.environ, profile=program.profile, space=space, folders=[Path.cwd()])
        url, token = settings.need_url(), settings.need_token()
        try:
            with program.connect(url, token, **options) as client:
                yield Session(program, settings, client, out)
        except LiveMemoryError as problem:
            tell_problem(problem, json=json)
            raise typer.Exit(exits.of_error(problem)) from None


def problem_document(problem: LiveMemoryError) -> dict[str, Any]:
    """The error as the service's problem document, or a similar one if nobody answered."""
    fields = [{"field": one.field, "message": one.message} for one in problem.fields]
    return given(
        {
            "title": "Error" if problem.status else "No answer",
            "status": problem.status,
            "code": problem.code,
            "detail": problem.detail,
            "errors": fields or None,
            "request_id": problem.request_id,
            "retry_after": problem.retry_after,
        }
    )


def tell_problem(problem: LiveMemoryError, *, json: bool) -> None:
    """Show the error, and what to do about it, on stderr."""
    lines = [problem.detail]
    lines += [f"  {one.field}: {one.message}" for one in problem.fields if one.message not in problem.detail]
    if problem.status == 401:
        lines.append("Log in again: `livemem login`.")
    if problem.retry_after:
        lines.append(f"Try again in {problem.retry_after} s.")
    if problem.status and problem.status >= 500 and problem.request_id:
        lines.append(f"The service's log has more about it: request {problem.request_id}.")
    tell(problem_document(problem), "\n".join(lines), json=json)


def tell(document: Mapping[str, Any], message: str, *, json: bool) -> None:
    """Show on stderr the error that ended a command: the document with `--json`, else the message."""
    # Details quote the request, which may be hostile too.
    text = texts.as_json(document) if json else f"livemem: {texts.clean(message)}"
    sys.stderr.write(text + "\n")
    sys.stderr.flush()

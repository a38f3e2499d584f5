"""`livemem init CLIENT`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from live_memory.cli import config, local_service, own_model, repository, texts
from live_memory.cli.exits import FAILED, NOTHING, OK, Refused
from live_memory.cli.init import clients, plan, record, recording
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.clients import Fitting
from live_memory.cli.init.hooks.pauses import Pauses
from live_memory.cli.init.hooks.unsent import Unsent
from live_memory.cli.init.plan import ByHand, Plan
from live_memory.cli.init.setup import Scope, Setup, checked_space, checked_url
from live_memory.cli.local_service import Choices
from live_memory.cli.mcp import repository_space
from live_memory.cli.output import Output
from live_memory.cli.program import Program
from live_memory.cli.session import plain
from live_memory.errors import LiveMemoryError

ANY_SPACE, ANY_URL = "any", "https://any"
"""For an undo, which looks for our parts of any service and space."""


NAMES = {"claude": "claude-code", "claudecode": "claude-code", "copilot": "vscode", "code": "vscode"}
"""What people type for a client of `init`."""
ELSEWHERE = {"gemini": "gemini mcp add --scope user livemem livemem mcp"}
"""Clients that `init` does not know, with the command that gives them the tools."""


Client = Literal["claude-code", "cursor", "cline", "vscode", "codex"]


def init_command(
    ctx: typer.Context,
    client: Annotated[Client, typer.Argument(help="The client that will use the memory.")],
    space: Annotated[
        str | None,
        typer.Option(
            "--space",
            "-s",
            help="The space of this repository. Default: that of its other clients, else the saved one.",
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The URL of the service. Default: the one that you are logged in to.")
    ] = None,
    scope: Annotated[Scope, typer.Option(help="Write to the project's files, or to the user's own.")] = "project",
    directory: Annotated[Path, typer.Option(help="The folder of the project.", file_okay=False, exists=True)] = Path(),
    record_turns: Annotated[
        bool, typer.Option("--record/--no-record", help="Record chats as conversations of the space.")
    ] = True,
    with_token: Annotated[
        bool, typer.Option("--with-token", help="Write the token itself into the file, if the client has no other way.")
    ] = False,
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="claude", help="Let the service of this machine fold notes by Claude Code."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove everything that was written for this client.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Give a client the memory: MCP server, rules text, hooks. Shows each change first, and can undo it."""
    with plain(ctx, json=json) as (program, out):
        folder = directory.resolve()
        known = config.settle(program.environ, profile=program.profile, space=space, folders=[folder])
        if known.notice and not undo:
            out.say(known.notice)
        local = not url and not undo and _is_local(known)
        derived = local and not known.space
        if derived:
            known = replace(known, space=_own_space(program, known, folder, client))
        setup = Setup(
            space=ANY_SPACE if undo else checked_space(known.need_space()),
            url=ANY_URL if undo else checked_url(_url(known, url, local=local)),
            scope=scope,
            project=folder,
            home=Path.home(),
            platform=sys.platform,
            environ=program.environ,
            # An undo also looks for parts that were written with a token.
            token="" if undo else _token(client, known, url) if with_token else None,
            record=record_turns or undo,
            local=local,
        )
        if llm and (llm != own_model.NAME or not local):
            raise Refused("--llm takes claude, for the service of this machine. `livemem serve` takes other models.")
        _carry_out(program, out, client, setup, known, llm=llm, derived=derived, undo=undo, dry_run=dry_run, yes=yes)


def _spelt(word: str) -> str:
    if word in ELSEWHERE:
        raise typer.BadParameter(f"`livemem init` has no {word} yet. For the tools: `{ELSEWHERE[word]}`.")
    return NAMES.get(word, word)


init_command.context_settings = {"token_normalize_func": _spelt}  # type: ignore[attr-defined]


def _own_space(program: Program, known: config.Settings, folder: Path, client: str) -> str:
    """The id of the repository's own space, as far as it is known before the service of this machine runs."""
    if not known.is_local_service:
        return repository_space.name_of(folder)
    try:
        with program.connect(known.need_url(), known.need_token()) as service:
            return repository_space.of(service, program.environ, known, folder, client, make=False).space_id
    except LiveMemoryError:
        return repository_space.name_of(folder)


def _is_local(known: config.Settings) -> bool:
    """Whether clients use the service of this machine: it runs or can be started, and nothing names another one."""
    return known.is_local_service or not (known.url or known.token or not local_service.is_installed())


def _url(known: config.Settings, url: str | None, *, local: bool) -> str:
    if url:
        return config.check_url(url)
    return known.url or config.LOCAL_URL if local else known.need_url()


def _token(client: Client, known: config.Settings, url: str | None) -> str:
    if client != "cline":
        raise Refused(f"{client} needs no --with-token: it reads the token from the environment, or asks.")
    if url and known.url and config.check_url(url) != known.url:
        raise Refused("--url names another service than your token belongs to.")
    if known.is_local_service:
        raise Refused("The service of this machine needs no --with-token: Cline starts a server that takes none.")
    return known.need_token()


def _carry_out(
    program: Program,
    out: Output,
    client: str,
    setup: Setup,
    known: config.Settings,
    *,
    llm: str | None,
    derived: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """`derived`: the space is the repository's own, and the service may give it another id than it seems to have."""
    fitted = clients.fitting(client, setup)
    kept = record.path_of(setup.environ, client, setup.scope, setup.root)
    records = record.load(kept)
    drawn = plan.draw_up(fitted.places, records, undo=undo)
    by_hand = drawn.by_hand if undo else (*drawn.by_hand, *fitted.by_hand)
    after = {step.path: step.after for step in drawn.steps}
    others = recording.left_over(client, setup, after) if undo or not setup.record else []
    left = [] if setup.record else others
    recorded = [] if undo else recording.told(client, setup, left)
    out.result(_document(drawn, by_hand, recorded), lambda: _show(out, drawn))
    _explain(out, by_hand)
    for line in recorded:
        out.say(line)
    accepted = False
    if not drawn.steps:
        if not dry_run:
            _forget(client, setup, undo=undo, others=bool(others))
            accepted = _accept(client, setup, out, undo=undo)
            _choose_model(program, out, setup, llm, asks=False)
        out.say("Nothing to remove." if undo else "Nothing to change: everything is written already.")
        raise typer.Exit(FAILED if left else OK if accepted else NOTHING)
    if dry_run:
        return
    if not yes and not _agreed(program, out):
        out.say("Nothing was changed.")
        raise typer.Exit(NOTHING)
    _forget(client, setup, undo=undo, others=bool(others))
    if undo:
        plan.take_back(drawn, kept)
    else:
        _choose_model(program, out, setup, llm, asks=not yes)
        space_id = _make_space(program, known, setup, client, out, derived=derived) if setup.local else setup.space
        if space_id != setup.space:
            setup = replace(setup, space=space_id)
            fitted = clients.fitting(client, setup)
            drawn = plan.draw_up(fitted.places, records)
        plan.carry_out(drawn, kept)
    _accept(client, setup, out, undo=undo)
    _close(out, fitted, drawn, undo=undo)
    if drawn.by_hand or left:
        # A script must not continue as if everything were written.
        raise typer.Exit(FAILED)


def _forget(client: str, setup: Setup, *, undo: bool, others: bool) -> None:
    """Leave out what waits to be sent, and all that is said later, where nothing is recorded from now on. `others`:
    other hooks go on recording.
    """
    folder, project = record.state_folder(setup.environ) / "hooks", setup.root if setup.scope == "project" else None
    if undo or not setup.record:
        Unsent(folder, lambda _: None).forget(client, project)
        if not others:
            Pauses(folder).begin(client, project)
    else:
        Pauses(folder).end(client, project)


def _accept(client: str, setup: Setup, out: Output, *, undo: bool) -> bool:
    """Enter the space in the list of this machine: what files of the project name counts only if it stands there.

    Returns whether it is new there.
    """
    here = repository.of(setup.project) if setup.scope == "project" else None
    is_new = Accepted(setup.environ).keep(here, client, None if undo else setup.space)
    if is_new and not undo:
        where = "this repository" if here else "all projects"
        out.say(f"The space {setup.space} is accepted for {where} on this machine.")
    return is_new and not undo


def _choose_model(program: Program, out: Output, setup: Setup, llm: str | None, *, asks: bool) -> None:
    """Let a program of this machine fold notes, if the user says so. Nothing uses it without a yes. Raises Refused."""
    folder = local_service.data_folder(program.environ)
    former = local_service.chosen(folder, Choices())
    found = own_model.find(program.environ, setup.project)
    if not setup.local or (former.llm and not llm):
        return
    if not llm and found and asks:
        out.say(
            f"{found} is installed. The service of this machine can fold notes by it: with your login, by its model, "
            "at most once an hour and space. Notes and bank go to Anthropic then."
        )
        llm = own_model.NAME if typer.confirm("Use it for folds?", default=False, err=True) else None
    if not llm:
        out.say(own_model.NO_MODEL)
        return
    said = own_model.settled(Choices(llm=llm), program.environ, setup.project)
    local_service.keep(folder, local_service.chosen(folder, said))
    again = " once `livemem stop` has ended the one that runs" if local_service.ready(folder) else ""
    out.say(f"The service folds by {said.program}{again}.")


def _make_space(
    program: Program, known: config.Settings, setup: Setup, client: str, out: Output, *, derived: bool
) -> str:
    """Start the service unless it runs, make the space, and return its id. The hook of the first session looks for both
    before `livemem mcp` has made them, and clients do not wait long for a server.
    """
    environ = program.environ
    if not known.is_local_service:
        folder = local_service.data_folder(environ)
        found = local_service.start(environ, folder, local_service.choices_of_agent(folder), program.sleep)
        out.say(f"The service of this machine was started: {found.url}.")
    space = None if derived else setup.space
    here = replace(
        config.settle(environ, profile=program.profile),
        space=space,
        sources={**known.sources, "url": config.LOCAL_SERVICE, "space": config.PROJECT},
    )
    try:
        with program.connect(here.need_url(), here.need_token()) as service:
            settled = repository_space.of(service, environ, here, setup.project, client)
    except LiveMemoryError as problem:
        out.say(f"The space {setup.space} was not made: {problem.detail}")
        return setup.space
    for line in settled.notices:
        out.say(line)
    return settled.space_id


def _document(drawn: Plan, by_hand: tuple[ByHand, ...], recorded: list[str]) -> dict[str, Any]:
    return {
        **({"recorded": recorded} if recorded else {}),
        "changes": [{"path": str(step.path), "diff": "\n".join(plan.diff(step))} for step in drawn.steps],
        "by_hand": [{"where": one.shown, "reason": one.reason, "snippet": one.snippet} for one in by_hand],
    }


def _show(out: Output, drawn: Plan) -> None:
    for step in drawn.steps:
        for line in plan.diff(step):
            # Also where it is piped: the next question is about these changes.
            out.text(texts.clean(line))


def _explain(out: Output, by_hand: tuple[ByHand, ...]) -> None:
    for one in by_hand:
        what = "remove this yourself" if one.remove else "add this yourself"
        out.say(f"\n{one.shown}: {one.reason}; {what}:\n\n{one.snippet}")


def _agreed(program: Program, out: Output) -> bool:
    if out.json or not program.is_terminal(sys.stdin):
        raise Refused("There is no terminal to ask on. Check the changes with --dry-run, then use --yes.")
    return typer.confirm("Write these changes?", default=False, err=True)


def _close(out: Output, fitted: Fitting, drawn: Plan, *, undo: bool) -> None:
    done = "Taken back" if undo else "Written"
    out.say(f"{done}: {', '.join(step.shown for step in drawn.steps)}.")
    for hint in [] if undo else fitted.hints:
        out.say(f"- {hint}")

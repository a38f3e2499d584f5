"""`livemem init CLIENT`."""

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from live_memory.cli import config, local_service, own_model, repository, texts
from live_memory.cli.exits import FAILED, NOTHING, Refused, of_error
from live_memory.cli.init import clients, own_memory, personal_space, plan, record, recording
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.clients import Fitting
from live_memory.cli.init.hooks import prompts
from live_memory.cli.init.hooks.pauses import Pauses
from live_memory.cli.init.hooks.unsent import Unsent
from live_memory.cli.init.plan import ByHand, Plan, Step
from live_memory.cli.init.project_space import checked_space
from live_memory.cli.init.setup import Scope, Setup, checked_url
from live_memory.cli.local_service import Choices
from live_memory.cli.mcp import repository_space
from live_memory.cli.output import Output
from live_memory.cli.program import Program
from live_memory.cli.session import plain
from live_memory.errors import LiveMemoryError

ANY_SPACE, ANY_URL = "any", "https://any"
"""For an undo, which looks for our parts of any service and space."""
NAMES = {
    "claude": "claude-code",
    "claudecode": "claude-code",
    "copilot": "vscode",
    "code": "vscode",
    "gemini": "gemini-cli",
}
"""What people type for a client of `init`."""
_READING = "May Claude Code call the tools that only read (such as search) without a question each time?"
Client = Literal["claude-code", "cursor", "cline", "vscode", "codex", "gemini-cli", "opencode"]


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
    recall: Annotated[
        bool, typer.Option("--recall/--no-recall", help="Give the model what is clearly about each prompt.")
    ] = True,
    personal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A space of your own that the agents here see beside the project's."),
    ] = None,
    no_personal: Annotated[bool, typer.Option("--no-personal", help="Show no personal space here any more.")] = False,
    with_token: Annotated[
        bool, typer.Option("--with-token", help="Write the token itself into the file, if the client has no other way.")
    ] = False,
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="claude", help="Let the service of this machine fold notes by Claude Code."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove everything that was written for this client.")] = False,
    allow_reading: Annotated[
        bool, typer.Option("--allow-reading", help="Let Claude Code call the tools that only read without a question.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show each line that changes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Give a client the memory: MCP server, rules text, hooks. Says first what it writes, and can undo it."""
    with plain(ctx, json=json) as (program, out):
        folder = directory.resolve()
        service = ANY_URL if undo else url and config.check_url(url)
        known = config.settle(
            program.environ, profile=program.profile, space=space, folders=[folder], client=client, service=service
        )
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
            recall=recall or undo,
            local=local,
            allow_reading=allow_reading or undo,
            personal="" if no_personal else None if personal is None or undo else checked_space(personal),
        )
        if personal is not None and no_personal:
            raise Refused("Either --personal or --no-personal.")
        personal_space.check(setup)
        if allow_reading and client != "claude-code":
            raise Refused("--allow-reading is for Claude Code. docs/agents/README.md says what other clients have.")
        if not undo and client == "claude-code" and clients.may_read(setup):
            setup = replace(setup, allow_reading=True)
        if llm and (llm != own_model.NAME or not local):
            raise Refused("--llm takes claude, for the service of this machine. `livemem serve` takes other models.")
        asked = _Asked(llm, derived, undo, dry_run, diff, yes)
        _carry_out(program, out, client, setup, known, asked)


def _spelt(word: str) -> str:
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


@dataclass(frozen=True)
class _Asked:
    """How a call is to be carried out."""

    llm: str | None
    derived: bool
    """The space is the repository's own, and the service may give it another id than it seems to have."""
    undo: bool
    dry_run: bool
    diff: bool
    yes: bool


def _carry_out(program: Program, out: Output, client: str, setup: Setup, known: config.Settings, asked: _Asked) -> None:
    undo = asked.undo
    fitted = clients.fitting(client, setup)
    kept = record.path_of(setup.environ, client, setup.scope, setup.root)
    drawn = _drawn(client, fitted, setup, undo=undo)
    after = {step.path: step.after for step in drawn.steps}
    others = recording.left_over(client, setup, after) if undo or not setup.record else []
    left = [] if setup.record else others
    own = [*own_memory.told(client, setup), *personal_space.told(client, setup)]
    recorded = [] if undo else [*recording.told(client, setup, left), *own]
    out.result(_document(drawn, fitted, recorded, undo=undo), lambda: _show(out, drawn, setup, diff=asked.diff))
    # Who repeats it has read them, unless files of others name a space that is new here.
    again = not (drawn.steps or drawn.by_hand or left or undo or asked.dry_run)
    for line in () if again else recorded:
        out.say(line)
    accepted = False
    if not drawn.steps:
        if not asked.dry_run:
            _forget(client, setup, undo=undo, others=bool(others))
            accepted = _accept(client, setup, undo=undo)
            for line in recorded if again and accepted else ():
                out.say(line)
            _choose_model(program, out, setup, asked.llm, asks=False)
        where = "this repository" if setup.scope == "project" else "all projects"
        on = f" {f'Chats in {client} are recorded.' if setup.record else recorded[0]}" if again and not accepted else ""
        rest = "the rest" if drawn.by_hand else "everything"
        said = f"The space {setup.space} is accepted for {where} on this machine. " if accepted else ""
        out.say("Nothing to remove." if undo else f"{said}Nothing to change: {rest} is written already.{on}")
    elif not asked.dry_run:
        if not asked.yes and not _agreed(program, out):
            out.say("Nothing was changed.")
            raise typer.Exit(NOTHING)
        _forget(client, setup, undo=undo, others=bool(others))
        if undo:
            plan.take_back(drawn, kept)
            out.say("Taken back. The memory itself and its service stay.")
            _accept(client, setup, undo=True)
        else:
            setup, drawn = _write(program, out, client, setup, known, asked, drawn)
    _explain(out, client, setup, _by_hand(drawn, fitted, undo=undo), undo=undo)
    if not (drawn.steps or drawn.by_hand or left or accepted):
        raise typer.Exit(NOTHING)
    if (drawn.by_hand or left) and not (asked.dry_run and drawn.steps):
        # A script must not continue as if everything were written.
        raise typer.Exit(FAILED)


def _drawn(client: str, fitted: Fitting, setup: Setup, *, undo: bool = False) -> Plan:
    records = record.load(record.path_of(setup.environ, client, setup.scope, setup.root))
    places = clients.own_places(client, setup, fitted.places) if undo else fitted.places
    if not (undo and clients.others(client, setup)):
        places = [*places, *personal_space.places(setup, undo=undo)]
    return plan.draw_up(places, records, undo=undo)


def _make_personal(program: Program, known: config.Settings, setup: Setup, client: str) -> None:
    """Make the personal space unless it is there. Raises Refused."""
    personal_space.check(setup)
    if setup.local:
        known = config.settle(setup.environ, profile=program.profile, folders=[setup.project], client=client)
    if not setup.local and known.need_url() != setup.url:
        raise Refused("--url names another service than your token belongs to.")
    assert setup.personal
    try:
        with program.connect(known.need_url(), known.need_token()) as service:
            repository_space.ensure_personal(service, setup.personal)
    except LiveMemoryError as problem:
        raise Refused(
            f"The personal space {setup.personal} was not made: {problem.detail}", of_error(problem)
        ) from None


def _write(
    program: Program, out: Output, client: str, setup: Setup, known: config.Settings, asked: _Asked, drawn: Plan
) -> tuple[Setup, Plan]:
    """Ask the last questions, make the space, and write the files. Returns how it was done."""
    shown = setup
    if client == "claude-code" and not setup.allow_reading and not asked.yes:
        setup = replace(setup, allow_reading=typer.confirm(_READING, default=True, err=True))
    _choose_model(program, out, setup, asked.llm, asks=not asked.yes)
    if setup.local:
        setup = replace(setup, space=_make_space(program, known, setup, client, out, derived=asked.derived))
    if setup.personal:
        _make_personal(program, known, setup, client)
    fitted, kept = clients.fitting(client, setup), record.path_of(setup.environ, client, setup.scope, setup.root)
    if setup != shown:
        drawn = _drawn(client, fitted, setup)
    plan.carry_out(drawn, kept)
    _accept(client, setup, undo=False)
    option = "" if setup.scope == "project" else " --scope user"
    out.say(f"Written. `livemem init {client}{option} --undo` takes it back.")
    hints = [*fitted.hints, "Ask your agent: What does the memory say about this project?"]
    if not shutil.which("livemem", path=setup.environ.get("PATH")):
        hints.insert(0, f"Put {Path(sys.argv[0]).parent.resolve()} on your PATH: clients call `livemem` by its name.")
    out.say(" ".join(["Now:", *hints]))
    return setup, drawn


def _forget(client: str, setup: Setup, *, undo: bool, others: bool) -> None:
    """Leave out what waits to be sent, and all that is said later, where nothing is recorded from now on. `others`:
    other hooks go on recording.
    """
    folder, project = record.state_folder(setup.environ) / "hooks", setup.root if setup.scope == "project" else None
    if undo or not setup.record:
        Unsent(folder, lambda _: None).forget(client, project)
        if not others:
            Pauses(folder).begin(client, project, undone=undo)
    else:
        Pauses(folder).end(client, project)


def _accept(client: str, setup: Setup, *, undo: bool) -> bool:
    """Enter the space in the list of this machine, and where prompts may go to: what files of the project name counts
    only if it stands there.

    Returns whether the space is new there.
    """
    service = config.address_of(setup.environ, setup.url, is_local=setup.local)
    address = service if setup.recall and not undo else None
    project = setup.project if setup.scope == "project" else None
    prompts.Asked(record.state_folder(setup.environ) / "hooks", client).allow(project, address)
    here = repository.of(setup.project) if setup.scope == "project" else None
    return Accepted(setup.environ).keep(here, client, None if undo else setup.space, service) and not undo


def _choose_model(program: Program, out: Output, setup: Setup, llm: str | None, *, asks: bool) -> None:
    """Let a program of this machine fold notes, if the user says so. Nothing uses it without a yes. Raises Refused."""
    folder = local_service.data_folder(program.environ)
    former = local_service.chosen(folder, Choices())
    found = own_model.find(program.environ, setup.project)
    if not setup.local or (former.llm and not llm):
        return
    if not llm and found and asks:
        out.say(
            f"{found} can fold notes for the service of this machine: with your login, by its model, at the end of "
            "a session, else at most once an hour and space. Notes and bank go to Anthropic then."
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
        config.settle(environ, profile=program.profile, folders=[setup.project], client=client),
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


def _document(drawn: Plan, fitted: Fitting, recorded: list[str], *, undo: bool) -> dict[str, Any]:
    return {
        **({"recorded": recorded} if recorded else {}),
        "changes": [{"path": str(step.path), "diff": "\n".join(plan.diff(step))} for step in drawn.steps],
        "by_hand": [
            {"where": one.shown, "reason": one.reason, "snippet": one.snippet}
            for one in _by_hand(drawn, fitted, undo=undo)
        ],
    }


def _by_hand(drawn: Plan, fitted: Fitting, *, undo: bool) -> tuple[ByHand, ...]:
    return drawn.by_hand if undo else (*drawn.by_hand, *fitted.by_hand)


def _show(out: Output, drawn: Plan, setup: Setup, *, diff: bool) -> None:
    """On stdout, also where it is piped: the next question is about these changes."""
    for step in drawn.steps if diff else ():
        for line in plan.diff(step):
            out.text(texts.clean(line))
    if drawn.steps:
        named = ", ".join(f"{_place(step, setup)} ({plan.kind(step)})" for step in drawn.steps)
        out.text(texts.clean(f"In {setup.root}: {named}.{'' if diff else ' Each line: --diff.'}"))


def _place(step: Step, setup: Setup) -> str:
    return step.shown if step.path == (setup.root / step.shown).resolve() else str(step.path)


def _explain(out: Output, client: str, setup: Setup, by_hand: tuple[ByHand, ...], *, undo: bool) -> None:
    """The last line, with the texts for the user before it."""
    for one in by_hand:
        out.say(f"\n{one.shown}: {'remove' if one.remove else 'add'} this yourself:\n\n{one.snippet}")
    lacking = [f"{one.shown} ({one.reason})" for one in by_hand]
    if client == "claude-code" and not setup.allow_reading:
        lacking.append("permission for the tools that only read (--allow-reading): Claude Code asks at each call")
    if lacking:
        out.say(f"Not {'removed' if undo else 'written'}: {'; '.join(lacking)}.")


def _agreed(program: Program, out: Output) -> bool:
    if out.json or not program.is_terminal(sys.stdin):
        raise Refused("There is no terminal to ask on. Check the changes with --dry-run --diff, then use --yes.")
    return typer.confirm("Write these changes?", default=False, err=True)

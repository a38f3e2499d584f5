"""`livemem import`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from live_memory.cli import exits
from live_memory.cli.exits import Refused
from live_memory.cli.options import Json, Space
from live_memory.cli.output import Output
from live_memory.cli.program import Program
from live_memory.cli.session import Session, opened, plain
from live_memory.errors import LiveMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from live_memory.cli.imports.detection import Source
    from live_memory.cli.imports.found_items import Found
    from live_memory.cli.imports.reports import ItemReport, SpaceReport, TalkReport
    from live_memory.cli.imports.running import Order, Planned, World

RULES_BYTES = 50_000
_AGAIN = "Run the same command again to continue."


def import_command(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(help="What to import: a file or a folder.")],
    space: Space = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported. Nothing is sent.")] = False,
    description: Annotated[str | None, typer.Option(help="The purpose of the new space.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Only for Markdown files: a file with the rules of the space.")
    ] = None,
    rules_template: Annotated[
        str | None,
        typer.Option(help="Only for Markdown files: a template of rules, as `livemem space create` takes it."),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000,
            help=(
                "Only for spaces of a bucket: the number of live notes that starts a consolidation. 0: only by hand."
            ),
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only conversations with messages after this day, such as 2026-02-20."),
    ] = None,
    cut: Annotated[
        str,
        typer.Option(metavar="PROFILE", help="How conversations are summarised: windows, or turns (more LLM calls)."),
    ] = "windows",
    newest: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000, help="Only for git: how many commits, the newest ones.")
    ] = 100,
    json: Json = False,
) -> None:
    """Import what others keep.

    SOURCE is an export of this service (.tar.gz), which becomes a new space; a folder of Markdown files, which becomes
    the bank of a new space; an export of conversations by Claude or ChatGPT (the zip, or its conversations.json), which
    go into an existing space with what Claude remembers, as former sessions of Claude Code (~/.claude/projects) and
    Codex (~/.codex/sessions) and chats of Cursor (state.vscdb, ~/.cursor/chats) do, of several projects only the
    sessions of this repository unless you name --space; memories of mem0 (JSON), notes of basic-memory, a CLAUDE.md or
    AGENTS.md, what Claude Code or Codex remembers by itself (~/.claude/projects/*/memory, ~/.codex/memories), or the
    word git for the newest commits of this repository, which become memories or notes of an existing space; or a copy
    of a bucket of chrlesur/live-memory, each of whose spaces becomes one here.

    The command detects the kind of the source, and checks all of it before it sends anything. A repeat imports nothing
    twice. Exit code 1: some content was left out. The report names it.
    """
    with plain(ctx, json=json) as (program, out):
        order = replace(_order(source, space, description, rules, rules_template, threshold, since, cut), newest=newest)
        found = _checked(order, out, program, dry_run=dry_run)
    if found is None:
        return
    with opened(ctx, json=json, space=space) as session:
        _carry_out(session, found, order)


def _order(
    source: Path,
    space: str | None,
    description: str | None,
    rules: Path | None,
    rules_template: str | None,
    threshold: int | None,
    since: str | None,
    cut: str,
) -> "Order":
    from datetime import date  # noqa: PLC0415 - what follows is loaded by this command alone

    from live_memory.cli.imports import buckets  # noqa: PLC0415
    from live_memory.cli.imports.projects import Projects  # noqa: PLC0415
    from live_memory.cli.imports.running import Order  # noqa: PLC0415

    if cut not in ("windows", "turns"):
        raise Refused("--cut must be windows or turns.")
    try:
        day = date.fromisoformat(since).isoformat() if since else None
    except ValueError:
        raise Refused("--since must be a date, such as 2026-02-20.") from None
    text = _text_of(rules) if rules else None
    wanted = buckets.THRESHOLD if threshold is None else threshold
    return Order(
        source, space, description, text, rules_template, cut, day, wanted, projects=None if space else Projects.here()
    )


def _text_of(rules: Path) -> str:
    try:
        if rules.stat().st_size <= RULES_BYTES:
            return rules.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Refused("The file with the rules can't be read as UTF-8.") from None
    raise Refused(f"The rules have more than {RULES_BYTES} bytes.")


def _checked(order: "Order", out: Output, program: Program, *, dry_run: bool) -> "Planned | None":
    """The source with what it holds. None after a dry run, which has printed its report."""
    from live_memory.cli.imports import running  # noqa: PLC0415

    with _reading():
        planned = running.plan(running.look(order), order, program.clock())
        if not dry_run:
            return planned
        reports: Sequence[SpaceReport | TalkReport | ItemReport] = []
        if planned.talk or planned.found:
            reports = planned.reports(*_there(program, order.space_id, asks=bool(planned.found)))
        if not reports:
            with running.packed(planned.source, order) as parcels:
                reports = [parcel.report for parcel in parcels]
        _tell(out, planned.source, reports)
    return None


def _there(program: Program, space: str | None, *, asks: bool) -> tuple[str, set[str]]:
    """The space of a dry run, and the names of what was sent there before: none if the service does not answer."""
    from live_memory.cli import config  # noqa: PLC0415
    from live_memory.cli.imports.placing import Sent  # noqa: PLC0415

    settings = config.settle(program.environ, profile=program.profile, space=space, folders=[Path.cwd()])
    if not asks:
        return settings.space or "", set()
    try:
        with program.connect(settings.need_url(), settings.need_token(), retries=0) as client:
            made = client.call("get_space", {"space_id": settings.need_space()}).get("uid", "")
            folder = config.file_path(program.environ).parent
            return settings.need_space(), Sent.of(folder, client.url, settings.need_space(), made).read()
    except (Refused, LiveMemoryError):
        return settings.space or "", set()


def _carry_out(session: Session, planned: "Planned", order: "Order") -> None:
    with _reading():
        if not planned.talk and not planned.found:
            _make_spaces(session, planned.source, order)
            return
        talk = _take_in(session, planned.source, planned.talk, order) if planned.talk else None
        items = _place(session, planned.found) if planned.found else None
        _tell(session.out, planned.source, [report for report in (talk, items) if report])


@contextmanager
def _reading() -> Iterator[None]:
    from live_memory.cli.imports.unfit import BadSource  # noqa: PLC0415

    try:
        yield
    except (BadSource, OSError) as error:
        raise Refused(str(error) if isinstance(error, BadSource) else "The source can't be read.") from None


@contextmanager
def _world(session: Session, told: Callable[[], Iterable[str]]) -> Iterator["World"]:
    """The dependencies of an import. `told`: the lines for the user where it can't go on."""
    from live_memory.cli.imports.running import World  # noqa: PLC0415
    from live_memory.cli.init import record  # noqa: PLC0415

    with session.program.web() as web:
        try:
            hooks = record.state_folder(session.program.environ) / "hooks"
            yield World(session.client, web, session.program.sleep, session.out.say, hooks)
        except LiveMemoryError:
            for line in told():
                session.out.say(line)
            raise


def _place(session: Session, found: "Found") -> "ItemReport":
    from live_memory.cli import config  # noqa: PLC0415
    from live_memory.cli.imports import running  # noqa: PLC0415
    from live_memory.cli.imports.placing import Sent  # noqa: PLC0415

    made = session.here("get_space").get("uid", "")
    sent = Sent.of(config.file_path(session.program.environ).parent, session.client.url, session.space, made)
    with _world(session, lambda: [_AGAIN]) as world:
        return running.place(world, found, session.space, sent)


def _take_in(session: Session, source: "Source", planned: "TalkReport", order: "Order") -> "TalkReport":
    from live_memory.cli.imports import running  # noqa: PLC0415

    planned.space_id = session.space
    with _world(session, lambda: [f"{planned.imported} new turns are imported. {_AGAIN}"]) as world:
        return running.talk(world, source, replace(order, space_id=session.space), planned)


def _make_spaces(session: Session, source: "Source", order: "Order") -> None:
    from live_memory.cli.imports import running  # noqa: PLC0415

    author = session.call("get_whoami")["name"]
    with running.packed(source, order, author) as parcels:
        done = (f"{one.report.space_id} is imported." for one in parcels if one.report.outcome == "imported")
        with _world(session, lambda: done) as world:
            reports = running.send_all(world, parcels, order)
    _tell(session.out, source, reports)


def _tell(out: Output, source: "Source", reports: "Sequence[SpaceReport | TalkReport | ItemReport]") -> None:
    """Show the work that was done, or would be. Raises Exit with 1 if something is left out."""
    complete = all(report.complete for report in reports)
    document = {"kind": source.kind, "complete": complete, "reports": [report.document() for report in reports]}
    out.result(document, lambda: out.text("\n".join(line for report in reports for line in report.lines())))
    if not complete:
        raise typer.Exit(exits.FAILED)

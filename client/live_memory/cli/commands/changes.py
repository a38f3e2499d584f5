"""Consolidation, the history and its undo: `consolidate`, `history`, `diff`, `undo`."""

from itertools import islice
from typing import Annotated, Any

import typer

from live_memory.cli import exits, reading, showing, texts, waiting
from live_memory.cli.options import Json, Space, Wait, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import Session, opened

Number = Annotated[
    int, typer.Argument(metavar="N", min=1, help="The number of the change; `livemem history` lists them.")
]


def consolidate(
    ctx: typer.Context,
    wait: Wait = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan only. The LLM is asked all the same.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Only the notes of this agent.")] = None,
    max_notes: Annotated[
        int | None, typer.Option(min=1, help="The maximum number of notes; the oldest are taken.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Discard the plan that waits for approval, and make another.")
    ] = False,
    tidy: Annotated[
        bool, typer.Option("--tidy", help="Shorten the files that make the bank too long. No notes are folded.")
    ] = False,
    rules: Annotated[
        str | None, typer.Option("--rules", help="Try the rules of this file; `-` reads stdin. Nothing is changed.")
    ] = None,
    notes_of: Annotated[
        int | None,
        typer.Option("--notes-of", min=1, help="Try it with the notes of this change, and the bank of before."),
    ] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Fold the live notes into the bank. Exit code 7: there was nothing to fold; 5: another run is at work."""
    with opened(ctx, json=json, space=space) as session:
        # Rules and notes to try are those of a dry run.
        dry_run = dry_run or rules is not None or notes_of is not None
        arguments = {
            "agent": agent,
            "max_notes": max_notes,
            "dry_run": dry_run or None,
            "replace": replace or None,
            "tidy": tidy or None,
            "rules": reading.file(rules, "The rules") if rules else None,
            "notes_of": notes_of,
        }
        queued = session.here("start_consolidation", **arguments)
        if not (wait or dry_run):
            session.out.result(queued, lambda: session.out.text(queued["job"]))
            session.out.say(
                f"The run continues by itself. To see its result: `livemem wait {queued['job']}`, or `livemem history`."
            )
            return
        found = waiting.job(session, queued["job"])
        session.out.result(found, lambda: _tell(session.out, found))
        raise typer.Exit(exits.of_run(found))


def _tell(out: Output, found: dict[str, Any]) -> None:
    plan = found["result"].get("plan")
    if found["status"] == "done" and plan:
        out.lines(showing.plan(plan))
    else:
        out.lines(showing.run(found))


def history(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="The maximum number of changes; the newest are shown.")
    ] = 20,
    space: Space = None,
    json: Json = False,
) -> None:
    """List the changes of the bank, newest first."""
    with opened(ctx, json=json, space=space) as session:
        found = list(islice(session.pages("list_consolidations", limit=min(limit, 100)), limit))
        session.out.result({"items": found}, lambda: _changes(session.out, found))


def _changes(out: Output, found: list[dict[str, Any]]) -> None:
    if out.styled and found:
        out.lines([line for one in found for line in _two_lines(one, out.console().width)])
        return
    rows = [[*_told(one), ", ".join(file["path"] for file in one["files"])] for one in found]
    out.table(["change", "when (UTC)", "what", "notes", "by", "", "files"], rows, "The bank has no change yet.")


def _told(one: dict[str, Any]) -> list[Any]:
    """Number, time, kind, notes, author and state of a change."""
    kind = f"undo of {one['undoes']}" if one.get("undoes") else one["kind"]
    who = one.get("author") or one.get("model") or ""
    if one.get("approved_by"):
        who += f", approved by {one['approved_by']}"
    warnings = (one.get("metrics") or {}).get("warnings")
    state = "undone" if one["undone"] else texts.count(warnings, "warning") if warnings else ""
    return [one["number"], texts.moment(one["committed_at"]), kind, one["notes_count"], who, state]


def _two_lines(one: dict[str, Any], width: int) -> list[tuple[str, str]]:
    """A change on a terminal of this many columns: its data, then as many of its files as have room."""
    number, when, kind, notes, who, state = _told(one)
    parts = [when, kind, texts.count(notes, "note"), who and f"by {who}", state]
    head = f"{number:>4}  " + "  ".join(texts.one_line(part) for part in parts if part)
    lines = [(texts.cut(head, width), "dim" if one["undone"] else "bold")]
    files = [texts.one_line(file["path"]) for file in one["files"]]
    shown = len(files)
    while shown > 1 and len(_listed(files, shown)) > width:
        shown -= 1
    if files:
        lines.append((texts.cut(_listed(files, shown), width), ""))
    return lines


def _listed(files: list[str], shown: int) -> str:
    more = len(files) - shown
    return "      " + ", ".join(files[:shown]) + (f", and {more} more" if more else "")


def diff(
    ctx: typer.Context,
    number: Number,
    notes: Annotated[bool, typer.Option("--notes", help="Show the folded notes too.")] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Show the effect of a change on the bank, as a diff."""
    with opened(ctx, json=json, space=space) as session:
        found = session.here("get_consolidation", number=number)
        session.out.result(found, lambda: _diff(session, found, with_notes=notes))


def _diff(session: Session, found: dict[str, Any], *, with_notes: bool) -> None:
    if with_notes:
        showing.notes(session.out, found["sources"])
    lines = [line for change in found["changes"] for line in showing.diff(change["diff"])]
    if not lines:
        session.out.say("The change changed no file.")
    lines += showing.losses(found)
    if lines:
        session.out.lines(lines)


def undo(ctx: typer.Context, number: Number, yes: Yes = False, space: Space = None, json: Json = False) -> None:
    """Undo a change; its notes are live again."""
    with opened(ctx, json=json, space=space) as session:
        session.confirm(f"Undo change {number} of {session.space}?", yes=yes)
        found = session.here("undo_consolidation", number=number)
        back = f"; {texts.count(found['notes_count'], 'note')} live again" if found["notes_count"] else ""
        told = f"Change {found['number']} has undone change {number}{back}."
        session.out.result(found, lambda: session.out.text(told))

"""Commands for operators of the service: `erase`, `gc`, `usage`, `health`."""

from collections import Counter
from typing import Annotated, Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED, NOTHING
from live_memory.cli.options import Json, Space, Wait, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import Session, opened


def erase(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of notes, memories and turns.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Erase all notes of this agent.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would be erased, and where.")] = False,
    wait: Wait = False,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Erase the words of notes, memories and turns everywhere, also in backups. There is no way back."""
    if bool(ids) == bool(agent):
        raise typer.BadParameter("name ids, or an agent with --agent")
    with opened(ctx, json=json, space=space) as session:
        what = ", ".join(ids) if ids else f"all notes of {agent}"
        if not preview:
            session.confirm(f"Erase {what} in {session.space} for ever, also in its backups?", yes=yes)
        receipt = session.here("erase_items", ids=ids or None, agent=agent, preview=preview or None)
        if wait and not preview:
            receipt = waiting.job(session, receipt["job"])["result"]
        session.out.result(receipt, lambda: _receipt(session, receipt))


def _receipt(session: Session, receipt: dict[str, Any]) -> None:
    out = session.out
    if receipt["status"] == "preview":
        out.table(["id", "state"], [[name, state] for name, state in receipt["preview"]["states"].items()])
    else:
        out.text(receipt["job"])
    if receipt["status"] == "running":
        out.say(f"The erasure continues: livemem wait {receipt['job']}")
        return
    counted = ", ".join(f"{count} {what}" for what, count in receipt["counts"].items() if count)
    done = "Would be erased from" if receipt["status"] == "preview" else "Erased from"
    out.say(f"{done}: {counted or 'nothing'}.")
    for section in receipt["sections"]:
        out.say(f"Read and correct: {section['path']}, {section['heading']}")
    for left in receipt["not_reached"]:
        out.say(f"Not reached: {left}")


def gc(
    ctx: typer.Context,
    really: Annotated[
        bool, typer.Option("--really", help="Carry it out. Without this, only a report is shown.")
    ] = False,
    delete_only: Annotated[
        bool, typer.Option("--delete-only", help="Move old notes to the history without asking the LLM.")
    ] = False,
    max_age_days: Annotated[
        int | None, typer.Option(min=1, help="The age in days from which notes are old. Default: 30.")
    ] = None,
    keep_last: Annotated[
        int | None, typer.Option(min=1, help="Number of the newest backups of each space to keep.")
    ] = None,
    backup_days: Annotated[
        int | None, typer.Option(min=1, help="The age in days up to which backups are kept as well.")
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option("--space", "-s", help="Only this space. Repeat the option for more. Default: all spaces."),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Show work that waits for too long, old backups, and orphans. With --really, start the work and remove the rest.
    Exit code 7: there is nothing.
    """
    with opened(ctx, json=json) as session:
        if really:
            where = ", ".join(space) if space else "all spaces that you may see"
            session.confirm(f"Consolidate or move old notes in {where}, and remove old backups and garbage?", yes=yes)
        arguments: dict[str, Any] = {
            "dry_run": not really,
            "delete_only": delete_only or None,
            "max_age_days": max_age_days,
            "keep_last": keep_last,
            "backup_days": backup_days,
        }
        spaces: list[dict[str, Any]] = []
        removed = Counter[str]()
        report: dict[str, Any] = {"more": True, "after": None}
        while report["more"]:
            # Each call works for some seconds. The next call does the rest.
            report = session.call("collect_garbage", **arguments, space_ids=space or None, after=report.get("after"))
            spaces += report["spaces"]
            removed.update(archives=report["exports_removed"], tokens=len(report["tokens_removed"]))
            if session.out.json:
                session.out.record(report)
            if report["failed"]:
                break
        if not session.out.json:
            _garbage(session.out, spaces)
            _beside_spaces(session.out, removed, "Removed" if really else "To be removed")
        for failed in report["failed"]:
            session.out.say(f"It failed: {', '.join(str(value) for value in failed.values())}")
        if report["failed"]:
            raise typer.Exit(FAILED)
        if not spaces and not removed.total():
            session.out.say("There is nothing to do.")
            raise typer.Exit(NOTHING)


def _beside_spaces(out: Output, removed: Counter[str], title: str) -> None:
    for what, count in removed.items():
        if count:
            out.say(f"{title}: {what} {count}.")


def _garbage(out: Output, spaces: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["space_id"],
            one["old_notes"],
            texts.moment(one.get("oldest")),
            one["action"],
            one["moved"],
            one["orphans"],
            len(one["backups"]),
        ]
        for one in spaces
    ]
    out.table(["space", "old notes", "oldest", "what", "moved", "orphans", "backups"], rows)


def usage(
    ctx: typer.Context,
    days: Annotated[int | None, typer.Option(min=1, help="The number of days, including today.")] = None,
    space: Space = None,
    everywhere: Annotated[
        bool, typer.Option("--all", "-a", help="Show the usage of all spaces that you may see.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the usage of the LLM, by day."""
    with opened(ctx, json=json, space=space) as session:
        space_id = None if everywhere else session.settings.space
        found = session.call("get_usage", space_id=space_id, days=days)
        session.out.result(found, lambda: _usage(session.out, found))


def _usage(out: Output, found: dict[str, Any]) -> None:
    named = [*((one["date"], one) for one in found["items"]), ("total", found["total"])]
    if len(found["spaces"]) > 1:
        named += [(one["space_id"], one) for one in found["spaces"]]
    rows = [[name, one["runs"], one["failed_runs"], one["notes"], one["calls"], one["tokens"]] for name, one in named]
    out.table(["day", "runs", "failed", "notes", "LLM calls", "tokens"], rows)
    budget = found["budget"]
    if budget.get("tokens_per_day"):
        out.say(f"Today {budget['used_today']:,} of {budget['tokens_per_day']:,} tokens.")


def health(ctx: typer.Context, json: Json = False) -> None:
    """Show the health of the service. Exit code 1: it does not work, or a person should look at something."""
    with opened(ctx, json=json) as session:
        found = session.call("get_health")
        session.out.result(found, lambda: _health(session.out, found))
        if found["status"] != "ok":
            raise typer.Exit(FAILED)


def _health(out: Output, found: dict[str, Any]) -> None:
    rows: list[list[object]] = [["status", found["status"]], ["version", found["version"]]]
    rows += [[name, value] for name, value in found["checks"].items() if value is not None]
    rows += [[one["space_id"], f"{one['code']}: {one['detail']}"] for one in found.get("spaces") or []]
    out.table(["", ""], rows)

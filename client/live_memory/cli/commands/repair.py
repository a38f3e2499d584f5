"""Repair of objects that cannot be read: `repair`."""

from itertools import islice
from typing import Annotated, Any

import typer

from live_memory.cli import texts
from live_memory.cli.exits import NOTHING
from live_memory.cli.options import Json, Space, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import Session, opened

MOST = 1_000
"""Objects that are shown."""


def repair(
    ctx: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="Set this object aside. Without it, unreadable objects are listed."),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="The reason for setting it aside, for later readers.")] = None,
    kept: Annotated[bool, typer.Option("--kept", help="List the objects that were set aside.")] = False,
    put_back: Annotated[
        str | None, typer.Option("--put-back", metavar="ID", help="Put back the object with this id.")
    ] = None,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """List the objects of a space that cannot be read, or set one aside so that other work continues. Its bytes are
    kept.

    Exit code 7: everything can be read.
    """
    if sum((key is not None, kept, put_back is not None)) > 1:
        raise typer.BadParameter("name one of: a key, --kept, --put-back")
    if (reason is None) != (key is None):
        raise typer.BadParameter("a key and --reason must be given together")
    with opened(ctx, json=json, space=space) as session:
        if key is not None:
            session.confirm(f"Set {key} aside? Its bytes are kept, and can be put back.", yes=yes)
            done = session.here("quarantine_object", key=key, reason=reason)
            session.out.result(done, lambda: session.out.text(done["quarantine_id"]))
            session.out.say(
                f"It is kept as {done['kept_at']}. To put it back: livemem repair --put-back {done['quarantine_id']}"
            )
        elif put_back is not None:
            done = session.here("restore_quarantined", quarantine_id=put_back)
            session.out.result(done, lambda: session.out.text(done["key"]))
        elif kept:
            _list(session, "list_quarantined", _kept)
        else:
            _list(session, "list_unreadable", _broken)


def _list(session: Session, operation: str, show: Any) -> None:
    found = list(islice(session.pages(operation, limit=500), MOST))
    session.out.result({"items": found}, lambda: show(session.out, found))
    if not found:
        session.out.say("No objects.")
        raise typer.Exit(NOTHING)


def _broken(out: Output, found: list[dict[str, Any]]) -> None:
    rows = [[one["key"], texts.size(one["size"]), texts.moment(one["written_at"])] for one in found]
    out.table(["cannot be read", "size", "written"], rows)
    if found:
        out.say("Set one aside: livemem repair KEY --reason WHY")


def _kept(out: Output, found: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["quarantine_id"],
            one["key"],
            one["by"],
            texts.moment(one["at"]),
            "put back" if one.get("put_back_at") else one["reason"],
        ]
        for one in found
    ]
    out.table(["id", "was", "by", "at", "why"], rows)

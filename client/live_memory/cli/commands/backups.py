"""Backups and restores: `backup create`, `list`, `show`, `restore`, `download`, `delete`."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.commands import exporting, provisioned
from live_memory.cli.options import Json, Space, Wait, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import opened

app = typer.Typer(no_args_is_help=True, help="Take, list, restore, download or delete backups.")

BackupId = Annotated[
    str,
    typer.Argument(
        metavar="BACKUP", help="The id of the backup, such as 2026-02-20T02-00-00. `livemem backup list` shows it."
    ),
]


@app.command("create")
def create(
    ctx: typer.Context,
    description: Annotated[str | None, typer.Option("--description", "-d", help="A description of the backup.")] = None,
    wait: Wait = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Take a backup of the space."""
    with opened(ctx, json=json, space=space) as session:
        made = session.here("create_backup", description=description)
        if wait:
            made = waiting.backup(session, made)
        session.out.result(made, lambda: session.out.text(made["backup_id"]))
        if made.get("unchanged_at"):
            session.out.say("Nothing has changed since this backup, so no new one was taken.")
        elif not made["complete"]:
            session.out.say(f"The backup continues: livemem backup show {made['backup_id']}")


@app.command("list")
def list_backups(
    ctx: typer.Context,
    everywhere: Annotated[
        bool, typer.Option("--all", "-a", help="List the backups of all spaces, including deleted ones.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The maximum number of items.")] = 50,
    space: Space = None,
    json: Json = False,
) -> None:
    """List backups, newest first."""
    with opened(ctx, json=json, space=space) as session:
        size = {"limit": min(limit, 100)}
        pages = session.client.pages("list_backups", size) if everywhere else session.pages("list_backups", **size)
        found = list(islice(pages, limit))
        session.out.result({"items": found}, lambda: _backups(session.out, found))


def _backups(out: Output, found: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["space_id"],
            one["backup_id"],
            "complete" if one["complete"] else "in progress",
            one["objects"],
            texts.size(one["bytes"]),
            one["trigger"],
            one["description"],
        ]
        for one in found
    ]
    out.table(
        ["space", "backup", "", "objects", "size", "by", "description"],
        rows,
        "There is no backup. To take one: livemem backup create.",
    )


@app.command("show")
def show(ctx: typer.Context, backup_id: BackupId, space: Space = None, json: Json = False) -> None:
    """Show a backup, complete or in progress."""
    with opened(ctx, json=json, space=space) as session:
        found = session.here("get_backup", backup_id=backup_id)
        session.out.result(found, lambda: _backups(session.out, [found]))


@app.command("restore")
def restore(
    ctx: typer.Context,
    backup_id: BackupId,
    target: Annotated[
        str | None,
        typer.Option("--as", help="The id of the restored space, which must be free. Default: the space's own id."),
    ] = None,
    wait: Wait = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Restore a space from a backup. An existing space is never overwritten. With --wait also under the id of a space
    that was deleted just now: that id is free again after 21 minutes.
    """
    with opened(ctx, json=json, space=space) as session:

        def ask() -> Any:
            source = {"backup": backup_id, "space": session.space}
            return session.client.call("create_space", {"space_id": target or session.space, "from": source})

        provisioned.tell(session, waiting.free(session, ask) if wait else ask(), wait=wait)


@app.command("download")
def download(
    ctx: typer.Context,
    backup_id: BackupId,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, such as demo.tar.gz.")],
    force: exporting.Force = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Download a backup as one file. A large one comes as several, such as demo.2.tar.gz."""
    with opened(ctx, json=json, space=space) as session:
        exporting.fetch(session, output, force=force, backup_id=backup_id)


@app.command("delete")
def delete(ctx: typer.Context, backup_id: BackupId, yes: Yes = False, space: Space = None, json: Json = False) -> None:
    """Delete a backup, even if it is the only one."""
    with opened(ctx, json=json, space=space) as session:
        session.confirm(f"Delete the backup {backup_id} of {session.space}?", yes=yes)
        session.here("delete_backup", backup_id=backup_id)
        session.out.result({"deleted": backup_id}, lambda: session.out.text(f"{backup_id} is deleted."))

"""Connections of clients that signed in: `connections`, `connections end`."""

from typing import Annotated, Any

import typer

from live_memory.cli import texts
from live_memory.cli.options import Json, Yes
from live_memory.cli.output import Output
from live_memory.cli.session import opened

app = typer.Typer(invoke_without_command=True)


@app.callback()
def connections(ctx: typer.Context, json: Json = False) -> None:
    """List the clients that signed in with your token, or end one. An admin sees those of all
    tokens that it manages.
    """
    if ctx.invoked_subcommand:
        return
    with opened(ctx, json=json) as session:
        found = list(session.client.pages("list_connections", {"limit": 100}))
        session.out.result({"items": found}, lambda: _connections(session.out, found))


def _connections(out: Output, found: list[dict[str, Any]]) -> None:
    rows = [
        [
            one["connection_id"],
            one["client_name"],
            one["redirect_host"],
            one["name"],
            ",".join(one["permissions"]),
            ",".join(one["space_ids"]) or "all",
            texts.moment(one.get("last_used_at")),
            texts.moment(one["expires_at"]),
        ]
        for one in found
    ]
    out.table(["connection", "client", "sends to", "acts for", "may", "spaces", "last used", "ends"], rows)


@app.command("end")
def end(
    ctx: typer.Context,
    connection_id: Annotated[
        str, typer.Argument(metavar="CONNECTION", help="The id that `livemem connections` shows.")
    ],
    yes: Yes = False,
    json: Json = False,
) -> None:
    """End a connection. Within 30 seconds the client is refused, and has to sign in again."""
    with opened(ctx, json=json) as session:
        session.confirm(f"End the connection {connection_id}?", yes=yes)
        session.call("end_connection", connection_id=connection_id)
        session.out.result({"connection_id": connection_id, "ended": True}, lambda: session.out.text("Ended."))

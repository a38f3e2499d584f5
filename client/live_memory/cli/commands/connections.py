"""Connections of clients that signed in: `connections`, `connections end`."""

from typing import Annotated, Any

import typer

from live_memory.cli import texts
from live_memory.cli.options import Json, Yes
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
        heads = ["connection", "client", "sends to", "acts for", "may", "spaces", "last used", "ends"]
        session.show_all("list_connections", heads, _row, "No client has signed in.")


def _row(one: dict[str, Any]) -> list[str]:
    who = [one["connection_id"], one["client_name"], one["redirect_host"], one["name"], ",".join(one["permissions"])]
    used, ends = texts.moment(one.get("last_used_at")), texts.moment(one["expires_at"])
    return [*who, ",".join(one["space_ids"]) or "all", used, ends]


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

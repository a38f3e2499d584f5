"""Shared by restore, fork and import: a space is provisioned."""

from typing import Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.session import Session


def tell(session: Session, space_id: str, arrival: dict[str, Any], *, wait: bool) -> None:
    """Wait for the restore, fork or import if the user asked for that, and show its status. If it failed, exit with
    code 1.
    """
    if wait:
        arrival = waiting.arrival(session, space_id, arrival)
    session.out.result(arrival, lambda: session.out.text(space_id))
    if arrival["status"] == "failed":
        error = arrival.get("error") or {}
        session.out.say(f"It failed: {error.get('detail') or error.get('code')}")
        raise typer.Exit(FAILED)
    if arrival["status"] == "running":
        session.out.say(f"It goes on; look again with `livemem api archives get_arrival --space-id {space_id}`.")
    elif arrival.get("objects"):
        session.out.say(f"{space_id} is there: {texts.count(arrival['objects'], 'object')}, each verified.")

"""What restore, fork and import have in common: a space that arrives."""

from typing import Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.session import Session


def tell(session: Session, space_id: str, arrival: dict[str, Any], *, wait: bool) -> None:
    """Wait for the arrival where that was asked for, and say how it stands; a failed one ends in exit code 1."""
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

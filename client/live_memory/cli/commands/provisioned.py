"""Shared by restore, fork and import: a space is provisioned."""

from typing import Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.session import Session


def tell(session: Session, space_id: str, provisioning: dict[str, Any], *, wait: bool) -> None:
    """Wait for the restore, fork or import if the user asked for that, and show its status. If it failed, exit with
    code 1.
    """
    if wait:
        provisioning = waiting.provisioning(session, space_id, provisioning)
    session.out.result(provisioning, lambda: session.out.text(space_id))
    if provisioning["status"] == "failed":
        error = provisioning.get("error") or {}
        session.out.say(f"It failed: {error.get('detail') or error.get('code')}")
        raise typer.Exit(FAILED)
    if provisioning["status"] == "running":
        session.out.say(
            f"The work continues. See its status with `livemem api archives get_provisioning --space-id {space_id}`."
        )
    elif provisioning.get("objects"):
        session.out.say(f"{space_id} is complete: {texts.count(provisioning['objects'], 'object')}, each verified.")

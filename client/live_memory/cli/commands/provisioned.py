"""Shared by restore, fork and import: a space is provisioned."""

from typing import Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.session import Session


def tell(session: Session, job: dict[str, Any], *, wait: bool) -> None:
    """Wait for the restore, fork or import if the user asked for that, and show its status. If it failed, exit with
    code 1.
    """
    if wait:
        job = waiting.job(session, job["job"], first=job)
    session.out.result(job, lambda: session.out.text(job["space_id"]))
    if job["status"] == "failed":
        error = job.get("error") or {}
        session.out.say(f"It failed: {error.get('detail') or error.get('code')}")
        raise typer.Exit(FAILED)
    if job["status"] == "done":
        objects = (job.get("progress") or {}).get("done", 0)
        session.out.say(f"{job['space_id']} is complete: {texts.count(objects, 'object')}, each verified.")
    else:
        session.out.say(f"The work continues: livemem wait {job['job']}")

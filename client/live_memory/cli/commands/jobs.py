"""Waiting for long work of any kind: `wait`."""

from typing import Annotated, Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.options import Json
from live_memory.cli.session import Session, opened


def wait(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="The `job` in the answer that started the work.")],
    json: Json = False,
) -> None:
    """Wait until a job of any kind has ended or waits for a person. Exit code 1: it failed or was cancelled."""
    with opened(ctx, json=json) as session:
        found = waiting.job(session, job)
        session.out.result(found, lambda: _ended(session, found))
        if found["status"] not in ("done", "waiting"):
            raise typer.Exit(FAILED)


def _ended(session: Session, found: dict[str, Any]) -> None:
    ended, cost = texts.moment(found.get("ended_at")), found["usage"]
    session.out.table(["job", "status", "ended", "LLM calls"], [[found["job"], found["status"], ended, cost["calls"]]])
    if error := found.get("error"):
        session.out.say(f"{error['code']}: {error['detail']}")

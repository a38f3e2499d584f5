"""Long work of any kind: `jobs`, `wait`."""

from itertools import islice
from typing import Annotated, Any

import typer

from live_memory.cli import texts, waiting
from live_memory.cli.exits import FAILED
from live_memory.cli.options import Json, Space
from live_memory.cli.session import Session, opened


def jobs(
    ctx: typer.Context,
    kind: Annotated[str | None, typer.Option(help="Only this kind of work, such as consolidation or backup.")] = None,
    state: Annotated[str | None, typer.Option(help="Only jobs with this status, such as running or waiting.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The maximum number of jobs.")] = 20,
    everywhere: Annotated[
        bool, typer.Option("--all", help="The jobs of all spaces that you may see, by their ids.")
    ] = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """List long work: of each space the newest first."""
    with opened(ctx, json=json, space=space) as session:
        of_space = {"space_id": None} if everywhere else {}
        found = list(islice(session.pages("list_jobs", kind=kind, state=state, **of_space), limit))
        session.out.result({"items": found}, lambda: _jobs(session, found))


def _jobs(session: Session, found: list[dict[str, Any]]) -> None:
    rows = [
        [job["job"], job["status"], texts.moment(job["created_at"]), (job.get("error") or {}).get("code")]
        for job in found
    ]
    session.out.table(["job", "status", "created (UTC)", ""], rows, "There is no such job.")


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

"""Plans that wait for a person: `review list`, `show`, `approve`, `refuse`."""

from typing import Annotated, Any

import typer

from live_memory.cli import exits, showing, texts, waiting
from live_memory.cli.exits import NOTHING
from live_memory.cli.options import Json, Space, Wait, Yes
from live_memory.cli.session import Session, opened

app = typer.Typer(no_args_is_help=True, help="Read, approve or refuse plans, in spaces whose mode is `review`.")

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="The run whose plan it is; nothing: the one that waits.")
]
WAITS = "awaiting_approval"


@app.command("list")
def list_plans(ctx: typer.Context, space: Space = None, json: Json = False) -> None:
    """List the plans that wait. Exit code 7: none does."""
    with opened(ctx, json=json, space=space) as session:
        found = _waiting(session)
        rows = [
            [one["run_id"], texts.moment(one.get("finished_at") or one["queued_at"]), _counted(one)] for one in found
        ]
        session.out.result({"items": found}, lambda: session.out.table(["run", "planned (UTC)", ""], rows))
        if not found:
            session.out.say("No plan waits.")
            raise typer.Exit(NOTHING)


def _waiting(session: Session) -> list[dict[str, Any]]:
    # A plan waits until something happens in its space, so it is among the newest runs.
    page = session.here("list_runs", limit=100)
    return [one for one in page["items"] if one["status"] == WAITS]


def _counted(run: dict[str, Any]) -> str:
    return showing.metrics(run.get("metrics") or {})


def _chosen(session: Session, run_id: str | None) -> str:
    """The run that was named, or the one whose plan waits; ends the command if there is none."""
    if run_id:
        return run_id
    found = _waiting(session)
    if not found:
        session.out.say("No plan waits.")
        raise typer.Exit(NOTHING)
    return str(found[0]["run_id"])


@app.command("show")
def show(ctx: typer.Context, run_id: RunId = None, space: Space = None, json: Json = False) -> None:
    """Show what a plan would change."""
    with opened(ctx, json=json, space=space) as session:
        found = session.here("get_plan", run_id=_chosen(session, run_id))
        session.out.result(found, lambda: session.out.lines(showing.plan(found.get("plan") or found)))


@app.command("approve")
def approve(
    ctx: typer.Context,
    run_id: RunId = None,
    wait: Wait = False,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Commit a plan as it stands; if the bank has changed meanwhile, another one is made."""
    with opened(ctx, json=json, space=space) as session:
        run = _chosen(session, run_id)
        session.confirm(f"Commit the plan of the run {run}?", yes=yes)
        found = session.here("approve_plan", run_id=run)
        if wait and found.get("status") in {"queued", "running"}:
            found = waiting.run(session, found.get("run_id", run))
        session.out.result(found, lambda: session.out.lines(showing.run(found)))
        raise typer.Exit(exits.OF_RUN.get(found.get("status", "ok"), exits.OK))


@app.command("refuse")
def refuse(
    ctx: typer.Context,
    run_id: RunId = None,
    reason: Annotated[str | None, typer.Option(help="Why, for the history.")] = None,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Throw a plan away; its notes stay live."""
    with opened(ctx, json=json, space=space) as session:
        run = _chosen(session, run_id)
        session.confirm(f"Throw the plan of the run {run} away?", yes=yes)
        found = session.here("refuse_plan", run_id=run, reason=reason)
        session.out.result(found, lambda: session.out.text(f"The plan of {run} is refused; its notes are live."))

"""Plans that wait for a person: `review list`, `show`, `approve`, `refuse`."""

import sys
from typing import Annotated, Any

import typer

from live_memory.cli import showing, texts
from live_memory.cli.exits import NOTHING, Refused
from live_memory.cli.options import Json, Space, Yes
from live_memory.cli.session import Session, opened

app = typer.Typer(no_args_is_help=True, help="Read, approve or refuse plans, in spaces whose mode is `review`.")

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="The run of the plan. Default: the run whose plan waits.")
]


@app.command("list")
def list_plans(ctx: typer.Context, space: Space = None, json: Json = False) -> None:
    """List the plans that wait. Exit code 7: no plan waits."""
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
    # The space names it. In the list of runs, any number of dry runs may be newer.
    plan = session.here("get_space").get("pending_plan")
    return [session.here("get_run", run_id=plan["run_id"])] if plan else []


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
        session.out.result(found, lambda: _show(session, found))
        session.out.say(f"Approve it: livemem review approve {found['run_id']} --revision {found['plan_revision']}")


def _show(session: Session, found: dict[str, Any]) -> None:
    head = f"Plan of the run {found['run_id']}, {texts.count(found['notes_count'], 'note')}: {_counted(found)}"
    lines = [(head, "bold"), ("", ""), *showing.plan(found)]
    if found.get("outdated"):
        lines.append(("Bank, rules or notes have changed since: an approval makes another plan.", "yellow"))
    session.out.lines(lines)


@app.command("approve")
def approve(
    ctx: typer.Context,
    run_id: RunId = None,
    revision: Annotated[
        str | None,
        typer.Option(
            help="The revision of the plan that you have read. Without it, the plan is shown and you are asked."
        ),
    ] = None,
    space: Space = None,
    json: Json = False,
) -> None:
    """Commit a plan as it is. Exit code 5: the bank has changed in the meantime, and another plan is being made."""
    with opened(ctx, json=json, space=space) as session:
        run = _chosen(session, run_id)
        if revision is None:
            # Nobody may approve an unseen plan, so there is no --yes here.
            if session.out.json or not session.program.is_terminal(sys.stdin):
                raise Refused("Which plan have you read? Name its --revision, which `livemem review show` prints.")
            found = session.here("get_plan", run_id=run)
            _show(session, found)
            session.confirm("Commit this plan?", yes=False)
            revision = found["plan_revision"]
        change = session.here("approve_plan", run_id=run, plan_revision=revision)
        number = change["number"]
        told = f"Change {number} is committed. To undo it: livemem undo {number}."
        session.out.result(change, lambda: session.out.text(told))


@app.command("refuse")
def refuse(
    ctx: typer.Context,
    run_id: RunId = None,
    reason: Annotated[str | None, typer.Option(help="The reason, which the run shows.")] = None,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Refuse a plan. Its notes stay live, and no consolidation starts by itself until you have started a run."""
    with opened(ctx, json=json, space=space) as session:
        run = _chosen(session, run_id)
        session.confirm(f"Refuse the plan of the run {run}?", yes=yes)
        found = session.here("refuse_plan", run_id=run, reason=reason)
        live = "" if found.get("tidy") else " Its notes are live."
        session.out.result(found, lambda: session.out.text(f"The plan of {run} is refused.{live}"))
        session.out.say(
            f"Change the rules or correct the bank, then: livemem consolidate{' --tidy' if found.get('tidy') else ''}."
        )

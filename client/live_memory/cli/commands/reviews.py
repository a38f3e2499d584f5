"""Plans that wait for a person: `review list`, `show`, `approve`, `refuse`."""

import sys
from typing import Annotated, Any

import typer

from live_memory.cli import showing, texts
from live_memory.cli.exits import NOTHING, Refused
from live_memory.cli.options import Json, Space, Yes
from live_memory.cli.session import Session, opened

app = typer.Typer(no_args_is_help=True, help="Read, approve or refuse plans, in spaces whose mode is `review`.")

Job = Annotated[
    str | None, typer.Argument(metavar="[JOB]", help="The job of the plan. Default: that whose plan waits.")
]


@app.command("list")
def list_plans(ctx: typer.Context, space: Space = None, json: Json = False) -> None:
    """List the plans that wait. Exit code 7: no plan waits."""
    with opened(ctx, json=json, space=space) as session:
        found = _waiting(session)
        rows = [[one["job"], texts.moment(one["result"]["pending_plan"]["planned_at"]), _counted(one)] for one in found]
        heads = ["job", "planned (UTC)", ""]
        session.out.result({"items": found}, lambda: session.out.table(heads, rows, "No plan waits."))
        if not found:
            raise typer.Exit(NOTHING)


def _waiting(session: Session) -> list[dict[str, Any]]:
    # The space names it. In the list of jobs, any number of dry runs may be newer.
    plan = session.here("get_space").get("pending_plan")
    found = [session.call("get_job", job=plan["job"])] if plan else []
    return [job for job in found if job["result"].get("pending_plan")]


def _counted(job: dict[str, Any]) -> str:
    return showing.metrics(job["result"].get("metrics") or {})


def _chosen(session: Session, job: str | None) -> dict[str, Any]:
    """The job that was named, or the one whose plan waits; ends the command if no plan of it waits."""
    found = [session.call("get_job", job=job)] if job else _waiting(session)
    if not found or not found[0]["result"].get("pending_plan"):
        session.out.say("No plan waits.")
        raise typer.Exit(NOTHING)
    return found[0]


@app.command("show")
def show(ctx: typer.Context, job: Job = None, space: Space = None, json: Json = False) -> None:
    """Show what a plan would change."""
    with opened(ctx, json=json, space=space) as session:
        found = _chosen(session, job)
        plan = found["result"]["pending_plan"]
        session.out.result(found, lambda: _show(session, found))
        session.out.say(f"Approve it: livemem review approve {found['job']} --revision {plan['plan_revision']}")


def _show(session: Session, found: dict[str, Any]) -> None:
    plan = found["result"]["pending_plan"]
    head = f"Plan of the job {found['job']}, {texts.count(len(plan['sources']), 'note')}: {_counted(found)}"
    lines = [(head, "bold"), ("", ""), *showing.plan(plan)]
    if plan["outdated"]:
        lines.append(("Bank, rules or notes have changed since: an approval makes another plan.", "yellow"))
    session.out.lines(lines)


@app.command("approve")
def approve(
    ctx: typer.Context,
    job: Job = None,
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
        if revision is None or job is None:
            found = _chosen(session, job)
            job = str(found["job"])
        if revision is None:
            # Nobody may approve an unseen plan, so there is no --yes here.
            if session.out.json or not session.program.is_terminal(sys.stdin):
                raise Refused("Which plan have you read? Name its --revision, which `livemem review show` prints.")
            _show(session, found)
            session.confirm("Commit this plan?", yes=False)
            revision = found["result"]["pending_plan"]["plan_revision"]
        change = session.here("approve_plan", job=job, plan_revision=revision)
        number = change["number"]
        told = f"Change {number} is committed. To undo it: livemem undo {number}."
        session.out.result(change, lambda: session.out.text(told))


@app.command("refuse")
def refuse(
    ctx: typer.Context,
    job: Job = None,
    reason: Annotated[str | None, typer.Option(help="The reason, which the job shows.")] = None,
    yes: Yes = False,
    space: Space = None,
    json: Json = False,
) -> None:
    """Refuse a plan. Its notes stay live, and no consolidation starts by itself until you have started a run."""
    with opened(ctx, json=json, space=space) as session:
        found = _chosen(session, job)
        session.confirm(f"Refuse the plan of the job {found['job']}?", yes=yes)
        refused = session.here("refuse_plan", job=found["job"], reason=reason)
        tidy = found["result"]["tidy"]
        live = "" if tidy else " Its notes are live."
        session.out.result(refused, lambda: session.out.text(f"The plan of {found['job']} is refused.{live}"))
        session.out.say(f"Change the rules or correct the bank, then: livemem consolidate{' --tidy' if tidy else ''}.")

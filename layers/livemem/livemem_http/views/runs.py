"""Runs as requests and answers."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    Field,
)

from livemem.access.principal import Principal
from livemem.jobs.describable import job_id
from livemem.jobs.run import Run, State
from livemem_http.views.fields import (
    Agent,
    Body,
    Gapped,
    Metrics,
    Model,
    Moment,
    NextCursor,
    RunId,
    SpaceId,
    View,
    described,
    job_described,
)

if TYPE_CHECKING:
    from livemem.jobs.queue import RunOrder


RunJob = Annotated[str, job_described("consolidation", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class NewConsolidation(Body):
    """The notes to consolidate. Without a body, all live notes, up to the service's limit for a run."""

    agent: Annotated[
        Agent | None, described("Only the notes of this agent. Another one than the caller's own name needs `admin`.")
    ] = None
    max_notes: Annotated[
        Annotated[int, Field(ge=1, le=1_000)] | None,
        described("At most so many notes, the oldest ones; the service has a bound of its own.", 100),
    ] = None
    dry_run: Annotated[
        bool, described("Asks the LLM and puts the plan into the run; nothing else is written.", False)
    ] = False
    replace: Annotated[bool, described("Gives up a plan that waits for approval; the run makes another.", False)] = (
        False
    )

    def order(self, principal: Principal) -> "RunOrder":
        """The run for the domain."""
        from livemem.jobs.queue import RunOrder  # noqa: PLC0415 - readers make none

        return RunOrder("api", self.agent, self.max_notes, self.dry_run, principal.name, self.replace)


class RunQueued(View):
    """A run that was started."""

    run_id: RunId
    status: Annotated[str, described("`queued`: it begins in a moment.", "queued")]
    job: RunJob

    @classmethod
    def of(cls, run: Run) -> "RunQueued":
        return cls(run_id=run.job_id, status=run.status, job=job_id(run.space_id, "consolidation", run.job_id))


class RunView(View):
    """A run: one attempt to consolidate, and its status."""

    run_id: RunId
    space_id: SpaceId
    job: RunJob
    status: Annotated[
        State,
        described(
            "`queued` and `running` go on. `awaiting_approval`: its plan waits until somebody approves or refuses it. "
            "The others are final. `nothing_to_do`: there was no note; `busy`: another run or a correction was at it; "
            "`refused`: somebody refused its plan; `superseded`: its plan was given up, `message` says why.",
            "ok",
        ),
    ]
    step: Annotated[str | None, described("While it runs: `asking` the LLM, or `applying` what is committed.")] = None
    trigger: Annotated[
        str,
        described(
            "What started it: `api` (by hand), `threshold` (enough notes), `sweep` (the schedule), `gc` (garbage "
            "collection).",
            "api",
        ),
    ]
    agent: Annotated[str | None, described("The agent whose notes alone were asked for.")] = None
    max_notes: Annotated[int | None, described("The most notes that were asked for.")] = None
    dry_run: Annotated[bool, described("Whether it only shows a plan.", False)] = False
    queued_at: Annotated[Moment, described("When it was started, UTC.", "2026-02-20T14:04:55.120Z")]
    started_at: Annotated[
        Moment | None, described("When its worker began to ask, UTC.", "2026-02-20T14:04:55.800Z")
    ] = None
    finished_at: Annotated[
        Moment | None, described("When it ended, or when its plan was made, UTC.", "2026-02-20T14:05:00.010Z")
    ] = None
    consolidation: Annotated[int | None, described("The number of the change that it made.", 1)] = None
    model: Model = None
    metrics: Metrics = {}
    message: Annotated[
        str | None, described("Why it did nothing, or why its plan was refused or superseded, in words.")
    ] = None
    decided_by: Annotated[str | None, described("Who approved or refused its plan: the name of the token.")] = None
    decided_at: Annotated[Moment | None, described("When its plan was approved, refused or given up, UTC.")] = None
    error: Annotated[
        dict[str, str] | None,
        described("Of a run that failed: `code` (see the errors of a run in errors.md) and `detail`."),
    ] = None
    plan: Annotated[
        dict[str, Any] | None,
        described("Of a dry run: the `changes` of the files, the `synthesis`, and the ids of the notes in `sources`."),
    ] = None

    @classmethod
    def of(cls, run: Run) -> "RunView":
        named = {
            "run_id": run.job_id,
            "job": job_id(run.space_id, "consolidation", run.job_id),
            "status": run.state,
            "queued_at": run.created_at,
            "finished_at": run.ended_at,
        }
        return cls.model_validate(run.model_dump() | named)


class RunPage(Gapped):
    """A page of runs, newest first."""

    items: Annotated[list[RunView], described("The runs.")]
    next_cursor: NextCursor = None

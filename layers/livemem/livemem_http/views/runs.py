"""Runs as requests and answers."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    Field,
)

from livemem.access.principal import Principal
from livemem.jobs.describable import job_id
from livemem.jobs.job import Status
from livemem.jobs.run import Run, RunCode
from livemem_http.views.fields import (
    Agent,
    Body,
    Gapped,
    Metrics,
    Model,
    Moment,
    NextCursor,
    RulesText,
    RunId,
    SpaceId,
    Template,
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
        Agent | None, described("Only the notes of this agent. Another agent than the caller's own name needs `admin`.")
    ] = None
    max_notes: Annotated[
        Annotated[int, Field(ge=1, le=1_000)] | None,
        described("Maximum number of notes; the oldest are taken. The service has a limit of its own.", 100),
    ] = None
    dry_run: Annotated[
        bool, described("Asks the LLM and stores the plan in the run. Nothing else is written.", False)
    ] = False
    tidy: Annotated[
        bool,
        described(
            "Shortens the bank to its `bank_chars` instead: an LLM writes the files that are too long again. No note "
            "is folded. Not together with `agent`, `max_notes` or `notes_of`.",
            False,
        ),
    ] = False
    replace: Annotated[
        bool, described("Discards a plan that waits for approval. The new run makes another one.", False)
    ] = False

    rules: Annotated[
        RulesText | None, described("Only with `dry_run`: rules to try in the place of those of the space.")
    ] = None
    rules_template: Annotated[Template | None, described("Only with `dry_run`: a template of rules to try.")] = None
    notes_of: Annotated[
        Annotated[int, Field(ge=1, le=999_999_999)] | None,
        described(
            "Only with `dry_run`: the number of a consolidation. Its notes are taken in the place of the live ones, "
            "and the bank as it stood before it, so that the plan can be compared with that change."
        ),
    ] = None

    def order(self, principal: Principal) -> "RunOrder":
        """The run for the domain."""
        from livemem.jobs.queue import RunOrder  # noqa: PLC0415 - readers make none

        return RunOrder("api", requested_by=principal.name, **self.model_dump())


class RunQueued(View):
    """A run that was queued. It starts in a moment."""

    run_id: RunId
    job: RunJob

    @classmethod
    def of(cls, run: Run) -> "RunQueued":
        return cls(run_id=run.job_id, job=job_id(run.space_id, "consolidation", run.job_id))


class RunView(View):
    """A run: one attempt to consolidate, and its status."""

    run_id: RunId
    space_id: SpaceId
    job: RunJob
    status: Annotated[
        Status,
        described(
            "`queued`, `running`: not finished. `waiting`: its plan waits for a person. All others are final.", "done"
        ),
    ]
    code: Annotated[
        RunCode | None,
        described("Why. `busy`: other work held the space. `superseded`: its plan was discarded, `message` says why."),
    ] = None
    step: Annotated[
        str | None, described("The phase of a running run: `asking` the LLM, or `applying` the committed change.")
    ] = None
    trigger: Annotated[
        str,
        described(
            "The trigger: `api` (by hand), `threshold` (enough notes), `sweep` (the schedule), `gc` (garbage "
            "collection).",
            "api",
        ),
    ]
    agent: Annotated[str | None, described("The agent whose notes alone were requested. Left out: all notes.")] = None
    max_notes: Annotated[int | None, described("The maximum number of notes that was requested.")] = None
    dry_run: Annotated[bool, described("Whether the run only shows a plan.", False)] = False
    tidy: Annotated[bool, described("Whether it is a tidy run, which shortens the bank and folds no notes.", False)] = (
        False
    )
    rules: Annotated[str | None, described("Only for a dry run of other rules: these rules. Lists leave them out.")] = (
        None
    )
    notes_of: Annotated[
        int | None, described("Only for a dry run over the notes of an earlier change: its number.")
    ] = None
    queued_at: Annotated[Moment, described("The time of the request, UTC.", "2026-02-20T14:04:55.120Z")]
    started_at: Annotated[
        Moment | None, described("The time when the worker started to ask the LLM, UTC.", "2026-02-20T14:04:55.800Z")
    ] = None
    finished_at: Annotated[
        Moment | None,
        described("The time when the run ended, or when its plan was made, UTC.", "2026-02-20T14:05:00.010Z"),
    ] = None
    consolidation: Annotated[int | None, described("The number of the change that the run made.", 1)] = None
    model: Model = None
    metrics: Metrics = {}
    message: Annotated[
        str | None, described("The reason why the run did nothing, or why its plan was refused or discarded.")
    ] = None
    decided_by: Annotated[str | None, described("The name of the token that approved or refused the plan.")] = None
    decided_at: Annotated[
        Moment | None, described("The time when the plan was approved, refused or discarded, UTC.")
    ] = None
    error: Annotated[
        dict[str, str] | None,
        described("The error of a failed run: `code` (see the errors of a run in errors.md) and `detail`."),
    ] = None
    plan: Annotated[
        dict[str, Any] | None,
        described(
            "Only for a dry run: the `changes` of the files, the `synthesis`, and the ids of the notes in `sources`."
        ),
    ] = None

    @classmethod
    def of(cls, run: Run, *, listed: bool = False) -> "RunView":
        """`listed`: a page shows it, without rules. Those of a hundred runs would be more than one answer can hold."""
        named = {
            "run_id": run.job_id,
            "job": job_id(run.space_id, "consolidation", run.job_id),
            "queued_at": run.created_at,
            "finished_at": run.ended_at,
            "rules": None if listed else run.rules,
        }
        return cls.model_validate(run.model_dump() | named)


class RunPage(Gapped):
    """A page of runs, newest first."""

    items: Annotated[list[RunView], described("The runs.")]
    next_cursor: NextCursor = None

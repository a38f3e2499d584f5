"""Plans that wait for approval, as requests and answers."""

from typing import TYPE_CHECKING, Annotated

from livemem_http.views.fields import (
    Body,
    Discarded,
    Metrics,
    Model,
    Moment,
    PlanRevision,
    Reason,
    RunId,
    View,
    described,
    job_described,
)
from livemem_http.views.history import FileDiff, Removed, SynthesisBeforeAfter, Warnings, folding
from livemem_http.views.notes import NoteView

if TYPE_CHECKING:
    from livemem.bank.plans import WaitingPlan

PlanJob = Annotated[str, job_described("consolidation", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class PlanApproval(Body):
    """The plan that is approved. Its revision is named, so that nobody approves an unseen plan."""

    job: PlanJob
    plan_revision: PlanRevision


class PlanRefusal(Body):
    """The plan that is refused, and why."""

    job: PlanJob
    reason: Annotated[
        Reason | None, described("The reason, in at most 500 bytes. The job shows it.", "This is not decided.")
    ] = None


class Approval(Body):
    """The revision of the plan that is approved, so that nobody approves an unseen plan."""

    plan_revision: PlanRevision


class Refusal(Body):
    """Why a plan is refused."""

    reason: Annotated[
        Reason | None, described("The reason, in at most 500 bytes. The run shows it.", "This is not decided.")
    ] = None


class RunPlan(View):
    """The plan of a run. The run commits the plan once a person approves it."""

    run_id: RunId
    plan_revision: PlanRevision
    planned_at: Annotated[Moment, described("The time since when the plan waits, UTC.", "2026-02-20T14:05:00Z")]
    outdated: Annotated[
        bool,
        described(
            "Whether the bank or the rules have changed since. If so, an approval makes another plan instead.", False
        ),
    ]
    number: Annotated[int, described("The number that the change will have.", 2)]
    trigger: Annotated[str, described("The trigger of the run: `api`, `threshold`, `sweep` or `gc`.", "threshold")]
    agent: Annotated[str | None, described("The agent whose notes alone were requested. Left out: all notes.")] = None
    model: Model = None
    notes_count: Annotated[int, described("Number of notes that the plan folds.", 1)]
    sources: Annotated[list[NoteView], described("The notes that the plan folds. They are still live.")]
    changes: Annotated[list[FileDiff], described("The effect of the plan, file by file.")]
    synthesis: Annotated[SynthesisBeforeAfter, described("The synthesis before and after the plan.")]
    discarded: Discarded
    uncited: Annotated[
        list[str], described("Ids of the notes that the plan folds although two answers in a row left them out.", [])
    ]
    left_out: Annotated[
        list[str], described("Ids of the notes that the answer left out for the first time. They stay live.", [])
    ]
    warnings: Warnings
    removed: Removed
    metrics: Metrics

    @classmethod
    def of_plan(cls, plan: "WaitingPlan") -> "RunPlan":
        summary = plan.detail.summary
        return cls(
            run_id=plan.review.run_id,
            plan_revision=plan.review.revision,
            planned_at=plan.review.planned_at,
            outdated=plan.outdated,
            number=plan.review.number,
            trigger=summary.trigger,
            agent=plan.agent,
            model=summary.model,
            notes_count=summary.notes_count,
            metrics=summary.metrics,
            **folding(plan.detail),
        )

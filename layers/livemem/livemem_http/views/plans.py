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
)
from livemem_http.views.history import FileDiff, SynthesisBeforeAfter, folding
from livemem_http.views.notes import NoteView

if TYPE_CHECKING:
    from livemem.bank.plans import WaitingPlan


class Approval(Body):
    """The revision of the plan that is approved, so that nobody approves an unseen plan."""

    plan_revision: PlanRevision


class Refusal(Body):
    """Why a plan is refused."""

    reason: Annotated[
        Reason | None, described("Why, in at most 500 bytes; the run says it.", "This is not decided.")
    ] = None


class RunPlan(View):
    """The plan of a run, which the run carries out once somebody approves it."""

    run_id: RunId
    plan_revision: PlanRevision
    planned_at: Annotated[Moment, described("Since when it waits, UTC.", "2026-02-20T14:05:00Z")]
    outdated: Annotated[
        bool,
        described("Whether the bank or the rules have changed since: an approval makes another plan then.", False),
    ]
    number: Annotated[int, described("The number that its change would have.", 2)]
    trigger: Annotated[str, described("What started the run: `api`, `threshold`, `sweep` or `gc`.", "threshold")]
    agent: Annotated[str | None, described("The agent whose notes alone were asked for.")] = None
    model: Model = None
    notes_count: Annotated[int, described("Notes that it would fold.", 1)]
    sources: Annotated[list[NoteView], described("These notes; they are live.")]
    changes: Annotated[list[FileDiff], described("What it would do, file by file.")]
    synthesis: Annotated[SynthesisBeforeAfter, described("The synthesis before and after it.")]
    discarded: Discarded
    uncited: Annotated[list[str], described("Ids of notes that it would fold although two answers left them out.", [])]
    left_out: Annotated[
        list[str], described("Ids of notes that the answer left out for the first time: they stay live.", [])
    ]
    warnings: Annotated[list[str], described("What is not as it was asked for, in sentences.", [])]
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

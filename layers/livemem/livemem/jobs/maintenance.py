"""Thresholds that no event noticed, runs whose retention is over, and the part of health about runs."""

from collections.abc import Mapping
from datetime import timedelta

from livemem import clock
from livemem.jobs import budget, counter, run_retention, tidy_due
from livemem.jobs.package import MORE_WORK, OLDEST, HealthProblem, Package, Space
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import due_index
from livemem.store.bucket import RUN

FORGOTTEN_DAYS = 14
"""Days after which health reports a plan that waits for approval as forgotten."""

BUDGET = (
    "The LLM's tokens of the day are used up (LLM_DAILY_TOKEN_BUDGET, ..._PER_SPACE), so nothing is folded until "
    "the next day (UTC) begins, or more tokens are available. The notes are live."
)


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Start a run that is due. On the daily look remove the documents of old runs."""
    done: dict[str, float] = {OLDEST: space.waiting_seconds()} if space.live else {}
    tidy = not space.busy and tidy_due.is_due(process, space.head)
    # Perhaps no session ends any more.
    daily = process.settings.session_folds and space.waiting_seconds() >= counter.LONGEST.total_seconds()
    if space.is_due() or daily or tidy:
        due_index.leave(process, space.space_id)
        outcome = counter.start_if_due(process, space.space_id, "daily" if daily else "sweep")
        done |= {MORE_WORK: 1, **({"started": 1} if outcome.result == "started" else {})}
    removed = run_retention.remove(process, space.head) if space.daily else 0
    return {**done, **({"removed_runs": removed} if removed else {})}


def problems(process: Process, space: Space) -> list[HealthProblem]:
    """Reports a failed consolidation, notes that wait too long, a plan that waits, and notes that no run can take."""
    causes = []
    lease = space.lease and space.lease.lease
    if lease and lease.failures:
        if lease.error == budget.EXHAUSTED:
            causes.append(HealthProblem(space.space_id, budget.EXHAUSTED, BUDGET))
        else:
            detail = f"The last consolidation failed: {lease.error}. Its notes are live."
            causes.append(HealthProblem(space.space_id, "last_run_failed", detail))
    age = space.waiting_seconds()
    if age > process.settings.pending_note_limit:
        detail = f"The oldest live note has waited for {age:.0f} s to be consolidated."
        causes.append(HealthProblem(space.space_id, "notes_pending", detail))
    if waits := space.head.meta.pending_plan:
        days = (space.now - clock.parse(waits.planned_at)) // timedelta(days=1)
        detail = f"{waits.waiting()} Its notes ({waits.notes_count}) are live, and no other plan is made."
        causes.append(HealthProblem(space.space_id, "plan_awaiting_approval", detail, wrong=days >= FORGOTTEN_DAYS))
    aside = sorted(space.head.meta.oversized_notes.standing(process.settings.llmaas_context_tokens))
    if aside:
        detail = (
            f"{len(aside)} live notes are set aside: they are too large for the model's window beside the bank. "
            f"The oldest is {aside[0]}. Raise LLMAAS_CONTEXT_TOKENS or shorten the bank."
        )
        causes.append(HealthProblem(space.space_id, "oversized_notes", detail))
    return causes


PACKAGE = Package(
    maintain=maintain,
    problems=problems,
    objects={
        RUN: Run.from_bytes,
    },
)

"""The consolidation of a space: notes become a bank, and nothing is lost on the way (docs/reliability.md). A tidy run
shortens the bank in the same steps.

The steps are those of the design: lease, recover, collect, budget, ask, plan and commit, apply, release. Before the
commit only the run's own documents are written. After the commit nothing is asked or decided.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from livemem import clock as clocks
from livemem.changes import commit, late_duplicates, late_write_repair, maintenance, proposals, recovery, reviews
from livemem.changes.commit import CommitLost, LeaseLost, ModeChanged
from livemem.changes.records import Record
from livemem.consolidation import agent_answers, announcing, collecting, dry_run, mending, outcome, tidying
from livemem.consolidation.agent_answers import AnswerWanted
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import (
    Busy,
    NotFound,
    PreconditionLost,
    RunError,
    StillAtWork,
    StoreUnavailable,
)
from livemem.jobs import budget, counter, lease, places
from livemem.jobs import run as runs
from livemem.jobs.job import Failure, Status
from livemem.jobs.lease import Hold, LeaseTaken
from livemem.jobs.run import AgentFold, Run, RunCode
from livemem.llm.client import Messages
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import contents, usage_counts
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import keys, stored
from livemem.store.bucket import PLAN, REVIEW
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)


def consolidate(process: Process, space_id: str, run_id: str, *, deadline: datetime) -> Run | None:
    """Carry out one queued run before `deadline`, and return the run as it ended.

    None if the space or the run is gone, or the run has ended before. Raises StoreUnavailable or CommitUnfinished if
    the store fails, and StillAtWork if another delivery of the run is at work. After these errors the invocation can
    safely be repeated. Raises InvalidName for an event that no run of ours sent.
    """
    keys.check_space_id(space_id)
    keys.check_run_id(run_id)
    require_conditional_writes(process.store)
    head = heads.find(process, space_id)
    saved = runs.find(process, space_id, run_id)
    if not head or not saved or saved.value.uid != head.meta.uid:
        return None
    if saved.value.at_rest():
        _clear_up_after(process, space_id, saved)
        return None
    worker = process.new_id()
    if saved.value.dry_run:
        return dry_run.rehearse(process, head, saved, deadline)
    try:
        by_hand = saved.value.by_hand()
        hold = lease.acquire(
            process, places.of_space(space_id), run_id, "consolidation", worker=worker, by_hand=by_hand
        )
    except Busy as error:
        if isinstance(error, LeaseTaken) and error.lease.owner == run_id and error.lease.kind != "backoff":
            raise StillAtWork("Another delivery of this run is at work.") from error
        # A run with the status "running" had an earlier worker, which has lost the space since.
        with suppress(NotFound):
            alone = saved.value.status == "queued"
            return _if_ended(
                recovery.end(
                    process, saved, "failed", "busy", alone=alone, error=Failure(code="busy", detail=error.detail)
                )
            )
        return None
    return work_under_lease(process, space_id, saved, hold, deadline)


def _clear_up_after(process: Process, space_id: str, saved: Stored[Run]) -> None:
    """Count the calls of an ended run, and remove its lease and its plan.

    Its worker may have died after the end, or may have written the plan after another worker had ended the run.
    """
    usage_counts.come_to_rest(process, space_id, saved.value, None)
    run_id = saved.value.job_id
    lease_read, plan = process.store.concurrently(
        lambda: lease.look(process, places.of_space(space_id)),
        lambda: commit.planned(process, space_id, run_id),
    )
    stale = lease_read and lease_read.lease.owner == run_id and lease_read.lease.kind != "backoff"
    if (stale or plan) and maintenance.clear_up(process, space_id, [run_id]):
        # A put event that came while the run held the lease found the space busy.
        counter.start_if_due(process, space_id, "threshold")


def work_under_lease(process: Process, space_id: str, saved: Stored[Run], hold: Hold, deadline: datetime) -> Run | None:
    """Carry out the run under the lease that this worker holds: as `consolidate`. Raises AnswerWanted where the run
    needs an answer of its agent. The lease then waits for it.
    """
    failed = None
    try:
        with lease.renewal(process, hold):
            ended, failed = _end(process, space_id, saved, hold, deadline)
    except NotFound:
        # The space was deleted meanwhile. Nothing of this run may stay in it.
        lease.release(process, hold)
        return None
    except AnswerWanted as question:
        lease.wait_for_agent(process, hold, question.until)
        raise
    except Exception:
        # Lambda tries again. The lease must not keep that try out.
        lease.let_go(process, hold)
        raise
    if failed and not saved.value.fold:
        wait = budget.pause(process, clocks.parse(ended.created_at)) if failed == budget.EXHAUSTED else None
        wait = wait or counter.pause(process)
        lease.back_off(process, hold, failed, wait)
        return ended
    lease.release(process, hold)
    if ended.state == "done":
        # Without this the next search is slower, and queues the indexer itself.
        with suppress(StoreUnavailable):
            process.enqueue("indexer", {"space_id": space_id})
    logger.info("run ended", extra={"space_id": space_id, "run_id": ended.job_id, "status": ended.state})
    # A put event that came while the lease was held found the space busy, so the threshold is checked again.
    counter.start_if_due(process, space_id, "threshold")
    return _if_ended(ended)


def _if_ended(run: Run) -> Run | None:
    """The run if it has ended; None if another worker continues it."""
    return run if run.at_rest() else None


def _end(process: Process, space_id: str, saved: Stored[Run], hold: Hold, deadline: datetime) -> tuple[Run, str | None]:
    """The run as it ended, and the code of the failure after which automatic runs wait."""
    taken_over = saved.value.status == "running"
    work = _Work(process, space_id, saved, hold, deadline)
    status: Status = "failed"
    code: RunCode | None = None
    changes: dict[str, Any]
    failed = None
    try:
        return work.carry_out(), None
    except NothingToDo as reason:
        status, code, changes = "done", "nothing_to_do", {"message": str(reason), "metrics": reason.metrics}
    except LeaseLost:
        # The worker that has the space now ends this run, or continues it.
        raise StillAtWork("Another worker has the space now.") from None
    except CommitLost as reason:
        changes = {"error": Failure(code="space_changed", detail=str(reason))}
    except RunError as error:
        failed = error.code
        changes = {"error": Failure(code=error.code, detail=error.detail), "metrics": announcing.metrics_of(error)}
    ended = recovery.end(process, work.saved, status, code, alone=not taken_over, **changes)
    return ended, failed if ended.state == "failed" else None


@dataclass
class _Work:
    """The work of one worker for a run. `saved` is the run as it was last read or written."""

    process: Process
    space_id: str
    saved: Stored[Run]
    hold: Hold
    deadline: datetime

    def carry_out(self) -> Run:
        """Fold the notes, or tidy the bank, and return the run as it ended. Raises NothingToDo, RunError, CommitLost,
        NotFound.
        """
        process, run = self.process, self.saved.value
        head = heads.load(process, self.space_id)
        if head.meta.uid != run.uid:
            raise NotFound("space", self.space_id)
        head = recovery.recover(process, head)
        record = recovery.made_by(process, head, run)
        if record:
            return recovery.succeed(process, self.saved, record)
        head = recovery.clear_abandoned(
            process, head, [run_id for run_id in self.hold.lease.abandoned if run_id != run.job_id]
        )
        head = late_write_repair.settle(process, head)
        if head.meta.review and head.meta.review.run_id == run.job_id:
            return proposals.wait(process, self.saved)
        plan = self._left_by_first_try(head)
        if plan:
            return self._conclude(head, plan)
        waits = head.meta.pending_plan
        if waits and not run.replace:
            raise NothingToDo(waits.waiting())
        if not run.by_hand() and not head.meta.automatic(process.settings):
            raise NothingToDo("Automatic consolidation is switched off or paused.")
        return self._conclude(*(self._tidy(head) if run.tidy else self._fold(head)))

    def _fold(self, head: Head) -> tuple[Head, Record]:
        process, run = self.process, self.saved.value
        started = clocks.parse(run.created_at) if run.fold else process.clock()
        head, live = self._live(head)
        collected = collecting.collect(process, head, run, live)
        if not collected.notes:
            _remember_oversized(process, head, collected)
            raise collected.nothing()
        fold = run.fold and agent_answers.bind(process, run.fold, collected)
        prompt = collected.messages()
        meter = announcing.reserve(process, run, prompt, self.deadline)
        head = self._let_nothing_wait(head)
        self._announce(head, [prompt], collected.announced(), fold)
        caller = agent_answers.answering(process, fold) if fold else process
        answered = mending.ask(caller, meter, collected, self.deadline - announcing.APPLY_MARGIN)
        return head, outcome.record(process, head, self.saved.value, collected, answered, started)

    def _tidy(self, head: Head) -> tuple[Head, Record]:
        process, run, started = self.process, self.saved.value, self.process.clock()
        bank = tidying.collect(process, head, run)
        if bank.why_not:
            tidying.remember(process, head, bank.length)
            raise NothingToDo(bank.why_not)
        before = self._let_nothing_wait(head)
        head = tidying.claim(process, before, run, bank.length)
        try:
            prompts = bank.prompts()
            meter = announcing.reserve(process, run, prompts[0], self.deadline)
            self._announce(head, prompts, {})
            return head, tidying.record(process, head, self.saved.value, bank, meter, self.deadline, started)
        except RunError as error:
            if not Usage.of(announcing.metrics_of(error)).tokens:
                tidying.give_back(process, before, head)
            raise

    def _announce(
        self, head: Head, prompts: Sequence[Messages], metrics: Mapping[str, Any], fold: AgentFold | None = None
    ) -> None:
        worker = self.hold.lease.worker
        base = head.meta.changes
        self.saved = announcing.announce(
            self.process, self.saved, prompts, worker, base=base, metrics=metrics, fold=fold
        )

    def _let_nothing_wait(self, head: Head) -> Head:
        """The head without the plan that waited for approval: this run replaces it. Raises CommitLost."""
        with stored.race(lost=CommitLost("Somebody has just approved or refused the plan that waited.")):
            return reviews.supersede(self.process, head, reviews.REPLACED)

    def _left_by_first_try(self, head: Head) -> Record | None:
        """The plan of an earlier worker of this run, which died before the commit. It saves the LLM call.

        A plan is written once. If it can't be committed any more, the run has failed: raises CommitLost.
        """
        if self.saved.value.status != "running":
            return None
        process, space_id, run_id = self.process, self.space_id, self.saved.value.job_id
        plan = commit.planned(process, space_id, run_id)
        key = PLAN.key(space_id, run_id)
        if not plan and head.meta.consolidation_mode == "review":
            plan, key = proposals.plan_of(process, space_id, run_id), REVIEW.key(space_id, run_id)
        if plan and plan.number != head.meta.changes + 1:
            process.store.delete(key)
            raise CommitLost("The bank was changed by another process.")
        return plan

    def _live(self, head: Head) -> tuple[Head, list[Entry]]:
        """The head, and the live notes as of it. Late duplicates among them are removed first."""
        for _ in range(commit.TRIES):
            entries = contents.live_notes(self.process, self.space_id)
            stray = late_duplicates.among(self.process, head, entries)
            if not stray:
                return head, entries
            try:
                head = late_duplicates.remove(self.process, head, stray)
            except PreconditionLost:
                # Somebody changed the space just now, so the notes are listed and compared again.
                head = recovery.recover(self.process, heads.load(self.process, self.space_id))
        raise CommitLost("The space was changed too often at the same time. Try again.")

    def _conclude(self, head: Head, record: Record) -> Run:
        """Commit the plan, or let it wait for approval, as the mode of the space demands at that moment."""
        process = self.process
        kinds = Counter(warning.kind for warning in record.warnings)
        if kinds:
            extra = {"space_id": self.space_id, "run_id": record.run_id, "warnings": dict(kinds)}
            logger.warning("the plan has warnings", extra=extra)
        for _ in range(commit.TRIES):
            try:
                if commit.needs_approval(head.meta, record):
                    proposals.propose(process, head, self.hold, record)
                    return proposals.wait(process, self.saved, record)
                record = commit.prepare(process, self.space_id, record)
                commit.apply(process, commit.commit(process, head, self.hold, record), record)
                return recovery.succeed(process, self.saved, record)
            except ModeChanged:
                head = heads.load(process, self.space_id)
        raise CommitLost("The space was changed too often at the same time. Try again.")


def _remember_oversized(process: Process, head: Head, collected: Collected) -> None:
    """Write into the head which notes can't be folded, so that they start no further run. A lost swap is ignored."""
    remembered = collected.oversized_notes.bounded()
    if remembered != head.meta.oversized_notes:
        heads.try_swap(process, head, oversized_notes=remembered)

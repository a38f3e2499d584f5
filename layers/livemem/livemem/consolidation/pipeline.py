"""The consolidation of a space: notes become a bank, and nothing is lost on the way (docs/reliability.md).

The steps are those of the design: lease, recover, collect, budget, ask, plan and commit, apply, release. Before the
commit nothing but the run's own documents is written; after it nothing is asked or decided any more.
"""

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from livemem import clock as clocks
from livemem.bank import synthesis as syntheses
from livemem.changes import commit, diffs, tending
from livemem.changes.commit import CommitLost
from livemem.changes.records import Record, SynthesisChange
from livemem.consolidation import asking, checks, collecting, prompt
from livemem.consolidation.asking import Asked
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import Busy, LiveMemoryError, NotFound, PreconditionLost, RunError
from livemem.process import Process
from livemem.runs import counter
from livemem.runs import run as runs
from livemem.runs.run import Saved
from livemem.spaces import head as heads
from livemem.spaces import lease
from livemem.spaces.head import Head
from livemem.spaces.lease import Held
from livemem.store import keys
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

LEASE_MARGIN = timedelta(seconds=30)
"""The lease outlives the invocation by this much, so two holders never run at once."""


class TakenOver(LiveMemoryError):
    """Another worker of the same run is at it."""


def consolidate(process: Process, space_id: str, run_id: str, uid: str, *, deadline: datetime) -> runs.Run | None:
    """Work off one queued run before `deadline`, and return how it ended.

    None if there is nothing to say: the space or the run is gone, or the invocation came a second time.
    Raises StoreUnavailable or CommitUnfinished if the store fails: then repeating the invocation goes on safely.
    """
    require_conditional_writes(process.store)
    head = heads.find(process, space_id)
    saved = runs.find(process, space_id, run_id)
    if not head or head.meta.uid != uid or not saved or saved.run.uid != uid:
        return None
    if saved.run.status in runs.FINAL:
        # A second worker of the run may have written its plan after the first had ended it, and died over it.
        if commit.planned(process, space_id, run_id) and tending.clear_up(process, space_id, [run_id]):
            # A put event that came while it held the lease found the space busy.
            counter.start_if_due(process, space_id, "threshold")
        return None
    if saved.run.dry_run:
        return _rehearse(process, head, saved, deadline)
    try:
        held = lease.acquire(
            process,
            space_id,
            run_id,
            "consolidation",
            until=deadline + LEASE_MARGIN,
            by_hand=saved.run.trigger == "api",
        )
    except Busy as error:
        return runs.finish(process, saved, "busy", message=error.detail).run
    return _work_under_lease(process, space_id, saved, held, deadline)


def _work_under_lease(process: Process, space_id: str, saved: Saved, held: Held, deadline: datetime) -> runs.Run | None:
    run_id = saved.run.run_id
    try:
        ended = _fold(process, space_id, saved, held, deadline)
    except NothingToDo as reason:
        ended = _end(process, saved, "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except CommitLost as reason:
        if not heads.find(process, space_id):
            lease.release(process, held)
            return None
        ended = _end(process, saved, "error", error={"code": "space_changed", "detail": str(reason)})
    except RunError as error:
        # The run's end is written over what is stored now: asking has changed it.
        ended = _end(process, saved, "error", error={"code": error.code, "detail": error.detail}, metrics=error.usage)
        lease.back_off(process, held, error.code)
        return ended
    except NotFound:
        # The space was deleted under way; nothing of this run may stay in it.
        lease.release(process, held)
        return None
    except TakenOver:
        # The lease stays for the other worker; it runs out by itself.
        return None
    lease.release(process, held)
    logger.info("run ended", extra={"space_id": space_id, "run_id": run_id, "status": ended.status})
    # A put event that came while the lease was held found the space busy: so look once more.
    counter.start_if_due(process, space_id, "threshold")
    return ended


def _end(process: Process, saved: Saved, status: runs.Status, **changes: object) -> runs.Run:
    fresh = runs.find(process, saved.run.space_id, saved.run.run_id) or saved
    if fresh.run.status in runs.FINAL:
        # Another worker of the same run was faster; what it says holds.
        return fresh.run
    return runs.finish(process, fresh, status, **changes).run


def _fold(process: Process, space_id: str, saved: Saved, held: Held, deadline: datetime) -> runs.Run:
    run, started = saved.run, process.clock()
    head = heads.load(process, space_id)
    if head.meta.uid != run.uid:
        raise NotFound("space", space_id)
    if head.meta.committed_run:
        head = commit.recover(process, head)
        fresh = runs.find(process, space_id, run.run_id)
        if fresh and fresh.run.status in runs.FINAL:
            return fresh.run
    head = commit.clear_abandoned(process, head, held.lease.abandoned)
    if run.status == "running":
        left = _left_by_first_try(process, head, run)
        if left:
            return _commit_and_apply(process, head, held, saved, left)
    if run.trigger != "api" and not head.meta.automatic():
        raise NothingToDo("Automatic consolidation is switched off or paused.")
    collected = collecting.collect(process, head, run)
    if not collected.notes:
        _remember_set_aside(process, head, collected)
        raise collected.nothing()
    saved = _announce(process, saved, collected, held)
    asked = asking.ask(process, collected, deadline)
    record = _record(process, head, saved.run, collected, asked, started)
    return _commit_and_apply(process, head, held, saved, record)


def _remember_set_aside(process: Process, head: Head, collected: Collected) -> None:
    """Tell the head which notes can't be folded, so that they start no further run; it may be told later as well."""
    remembered = collected.set_aside.bounded()
    if remembered != head.meta.set_aside:
        with suppress(PreconditionLost):
            heads.swap(process, head, set_aside=remembered)


def _left_by_first_try(process: Process, head: Head, run: runs.Run) -> Record | None:
    """The plan of this very run that died before it committed, if it can still be committed: it saves the LLM call."""
    plan = commit.planned(process, head.meta.space_id, run.run_id)
    if plan and plan.number != head.meta.changes + 1:
        process.store.delete(keys.plan(head.meta.space_id, run.run_id))
        return None
    return plan


def _announce(process: Process, saved: Saved, collected: Collected, held: Held) -> Saved:
    try:
        return runs.change(
            process,
            saved,
            status="running",
            step="asking",
            started_at=clocks.iso_millis(process.clock()),
            expires_at=held.lease.expires_at,
            model=process.settings.llmaas_model,
            metrics={"notes_processed": len(collected.notes), "notes_remaining": collected.remaining},
        )
    except PreconditionLost:
        raise TakenOver("Another worker of this run is at it.") from None


def _commit_and_apply(process: Process, head: Head, held: Held, saved: Saved, record: Record) -> runs.Run:
    record = commit.prepare(process, head.meta.space_id, record)
    head = commit.commit(process, head, held, record)
    commit.apply(process, head, record)
    changes: dict[str, Any] = {"consolidation": record.number, "metrics": record.metrics, "error": None}
    return runs.finish(process, saved, "ok", **changes).run


def _record(
    process: Process,
    head: Head,
    run: runs.Run,
    collected: Collected,
    asked: Asked,
    started: datetime,
) -> Record:
    outcome, usage = asked.outcome, asked.usage
    ids = [note.note_id for note in collected.notes]
    # A note that two runs in a row leave out is folded all the same, and marked: it must not wait for ever.
    kept = {number for number in outcome.uncited if ids[number - 1] not in head.meta.left_out}
    uncited = sorted(outcome.uncited - kept)
    taken = [number for number in range(1, len(ids) + 1) if number not in kept]
    number = head.meta.changes + 1
    now = process.clock()
    text = syntheses.format_synthesis(
        asked.synthesis, consolidated_at=clocks.iso(now), number=number, notes_processed=len(taken)
    )
    metrics: dict[str, Any] = {
        "notes_processed": len(taken),
        "notes_remaining": collected.remaining + len(kept),
        "notes_discarded": len(outcome.discarded),
        "notes_uncited": len(uncited),
        "notes_left_out": len(kept),
        "notes_set_aside": len(collected.set_aside.needs),
        "bank_files_created": sum(change.before is None for change in outcome.files),
        "bank_files_updated": sum(change.before is not None for change in outcome.files),
        "bank_files_unchanged": outcome.unchanged,
        "edits_applied": outcome.edits_applied,
        "synthesis_size": len(text.encode()),
        **usage,
        "llm_tokens_used": usage["llm_prompt_tokens"] + usage["llm_completion_tokens"],
        "duration_seconds": round((now - started).total_seconds(), 3),
        **collected.metrics(),
    }
    return Record(
        number=number,
        run_id=run.run_id,
        uid=head.meta.uid,
        kind="consolidation",
        trigger=run.trigger,
        started_at=clocks.iso_millis(started),
        committed_at=clocks.iso(now),
        model=process.settings.llmaas_model,
        prompt_version=prompt.version(),
        agent=run.agent,
        notes=[collected.sources[index - 1] for index in taken],
        files=outcome.files,
        synthesis=SynthesisChange(before=collected.synthesis, after=text),
        rules_changed_at=head.meta.rules_changed_at,
        discarded=[
            {"note_id": ids[index - 1], "reason": reason} for index, reason in sorted(outcome.discarded.items())
        ],
        uncited=[ids[number - 1] for number in uncited],
        left_out=[ids[number - 1] for number in sorted(kept)],
        set_aside=collected.set_aside.bounded(),
        warnings=[checks.too_long(asked.synthesis)] if len(asked.synthesis) > checks.SYNTHESIS_CHARACTERS else [],
        usage=usage,
        metrics=metrics,
    )


def _rehearse(process: Process, head: Head, saved: Saved, deadline: datetime) -> runs.Run:
    """A dry run: asks the LLM and puts the plan into the run's own document; nothing else is written."""
    started = process.clock()
    try:
        collected = collecting.collect(process, head, saved.run)
        if not collected.notes:
            raise collected.nothing()
        asked = asking.ask(process, collected, deadline)
    except NothingToDo as reason:
        return runs.finish(process, saved, "nothing_to_do", message=str(reason), metrics=reason.metrics).run
    except RunError as error:
        problem = {"code": error.code, "detail": error.detail}
        return runs.finish(process, saved, "error", error=problem, metrics=error.usage).run
    record = _record(process, head, saved.run, collected, asked, started)
    plan = {
        "changes": diffs.changes(record),
        "synthesis": asked.synthesis,
        "discarded": record.discarded,
        "uncited": record.uncited,
        "left_out": record.left_out,
        "warnings": record.warnings,
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(process, saved, "ok", plan=plan, metrics=record.metrics, model=process.settings.llmaas_model).run

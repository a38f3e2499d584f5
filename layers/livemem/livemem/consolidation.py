"""The consolidation of a space: notes become a bank, and nothing is lost on the way (docs/reliability.md).

The steps are those of the design: lease, recover, collect, budget, ask, plan and commit, apply, release. Before the
commit nothing but the run's own documents is written; after it nothing is asked or decided any more.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from livemem import asking, bank, collecting, commit, counter, diffs, keys, lease, prompt, runs, spaces
from livemem import clock as clocks
from livemem.asking import Asked, Asker
from livemem.clock import Clock
from livemem.collecting import Collected, NothingToDo, RunError
from livemem.commit import CommitLost
from livemem.errors import Busy, NotFound, PreconditionLost
from livemem.lease import Held
from livemem.llm import Ask
from livemem.records import Record, SynthesisChange
from livemem.runs import Saved
from livemem.settings import Settings
from livemem.spaces import Head
from livemem.store import Store, require_conditional_writes

logger = logging.getLogger(__name__)

LEASE_MARGIN = timedelta(seconds=30)
"""The lease outlives the invocation by this much, so two holders never run at once."""


@dataclass(frozen=True)
class Worker:
    """What a run works with. `deadline` is when its invocation ends; `start` queues the next run."""

    store: Store
    settings: Settings
    ask: Ask
    clock: Clock
    deadline: datetime
    new_id: Callable[[], str]
    start: counter.Start


class TakenOver(Exception):
    """Another worker of the same run is at it."""


def consolidate(worker: Worker, space_id: str, run_id: str, uid: str) -> runs.Run | None:
    """Work off one queued run and return how it ended; None if there is nothing to say: the space or the run is gone,
    or the invocation came a second time.

    Raises StoreUnavailable or CommitUnfinished if the store fails: then repeating the invocation goes on safely.
    """
    store = worker.store
    require_conditional_writes(store)
    head = spaces.find(store, space_id)
    saved = runs.find(store, space_id, run_id)
    if not head or head.meta.uid != uid or not saved or saved.run.uid != uid or saved.run.status in runs.FINAL:
        return None
    if saved.run.dry_run:
        return _rehearse(worker, head, saved)
    try:
        held = lease.acquire(
            store,
            space_id,
            run_id,
            "consolidation",
            now=worker.clock(),
            until=worker.deadline + LEASE_MARGIN,
            by_hand=saved.run.trigger == "api",
        )
    except Busy as error:
        return runs.finish(store, saved, "busy", worker.clock(), message=error.detail).run
    return _work_under_lease(worker, space_id, saved, held)


def _work_under_lease(worker: Worker, space_id: str, saved: Saved, held: Held) -> runs.Run | None:
    store, run_id = worker.store, saved.run.run_id
    try:
        ended = _fold(worker, space_id, saved, held)
    except NothingToDo as reason:
        ended = _end(worker, saved, "nothing_to_do", message=str(reason), metrics={"notes_processed": 0})
    except CommitLost as reason:
        if not spaces.find(store, space_id):
            lease.release(store, held)
            return None
        ended = _end(worker, saved, "error", error={"code": "space_changed", "detail": str(reason)})
    except RunError as error:
        # The run's end is written over what is stored now: asking has changed it.
        ended = _end(worker, saved, "error", error={"code": error.code, "detail": error.detail}, metrics=error.usage)
        lease.back_off(store, held, error.code, worker.clock())
        return ended
    except NotFound:
        # The space was deleted under way; nothing of this run may stay in it.
        lease.release(store, held)
        return None
    except TakenOver:
        # The lease stays for the other worker; it runs out by itself.
        return None
    lease.release(store, held)
    logger.info("run ended", extra={"space_id": space_id, "run_id": run_id, "status": ended.status})
    # A put event that came while the lease was held found the space busy: so look once more.
    counter.start_if_due(store, space_id, "threshold", now=worker.clock(), new_id=worker.new_id, start=worker.start)
    return ended


def _end(worker: Worker, saved: Saved, status: runs.Status, **changes: object) -> runs.Run:
    store = worker.store
    fresh = runs.find(store, saved.run.space_id, saved.run.run_id) or saved
    if fresh.run.status in runs.FINAL:
        # Another worker of the same run was faster; what it says holds.
        return fresh.run
    return runs.finish(store, fresh, status, worker.clock(), **changes).run


def _fold(worker: Worker, space_id: str, saved: Saved, held: Held) -> runs.Run:
    store, run, started = worker.store, saved.run, worker.clock()
    head = spaces.load(store, space_id)
    if head.meta.uid != run.uid:
        raise NotFound("space", space_id)
    if head.meta.committed_run:
        head = commit.recover(store, head, worker.clock)
        fresh = runs.find(store, space_id, run.run_id)
        if fresh and fresh.run.status in runs.FINAL:
            return fresh.run
    head = commit.clear_abandoned(store, head, held, worker.clock)
    if run.status == "running":
        left = _left_by_first_try(store, head, run)
        if left:
            return _commit_and_apply(worker, head, held, saved, left)
    if run.trigger != "api" and not head.meta.automatic():
        raise NothingToDo("Automatic consolidation is switched off or paused.")
    collected = collecting.collect(store, worker.settings, head, run)
    saved = _announce(worker, saved, collected, held)
    asked = asking.ask(_asker(worker), collected)
    record = _record(worker, head, saved.run, collected, asked, started)
    return _commit_and_apply(worker, head, held, saved, record)


def _left_by_first_try(store: Store, head: Head, run: runs.Run) -> Record | None:
    """The plan of this very run that died before it committed, if it can still be committed: it saves the LLM call."""
    plan = commit.planned(store, head.meta.space_id, run.run_id)
    if plan and plan.number != head.meta.consolidation_count + 1:
        store.delete(keys.plan(head.meta.space_id, run.run_id))
        return None
    return plan


def _announce(worker: Worker, saved: Saved, collected: Collected, held: Held) -> Saved:
    try:
        return runs.change(
            worker.store,
            saved,
            status="running",
            step="asking",
            started_at=clocks.iso_millis(worker.clock()),
            expires_at=held.lease.expires_at,
            model=worker.settings.llmaas_model,
            metrics={"notes_processed": len(collected.notes), "notes_remaining": collected.remaining},
        )
    except PreconditionLost:
        raise TakenOver from None


def _commit_and_apply(worker: Worker, head: Head, held: Held, saved: Saved, record: Record) -> runs.Run:
    store = worker.store
    record = commit.prepare(store, head.meta.space_id, record)
    head = commit.commit(store, head, held, record, worker.clock)
    commit.apply(store, head, record)
    changes: dict[str, Any] = {"consolidation": record.number, "metrics": record.metrics, "error": None}
    return runs.finish(store, saved, "ok", worker.clock(), **changes).run


def _record(
    worker: Worker,
    head: Head,
    run: runs.Run,
    collected: Collected,
    asked: Asked,
    started: datetime,
) -> Record:
    outcome, usage = asked.outcome, asked.usage
    number = head.meta.consolidation_count + 1
    now = worker.clock()
    text = bank.format_synthesis(
        asked.synthesis, consolidated_at=clocks.iso(now), number=number, notes_processed=len(collected.notes)
    )
    metrics: dict[str, Any] = {
        "notes_processed": len(collected.notes),
        "notes_remaining": collected.remaining,
        "notes_discarded": len(outcome.discarded),
        "notes_uncited": len(outcome.uncited),
        "bank_files_created": sum(change.before is None for change in outcome.files),
        "bank_files_updated": sum(change.before is not None for change in outcome.files),
        "bank_files_unchanged": outcome.unchanged,
        "edits_applied": outcome.edits_applied,
        "synthesis_size": len(text.encode()),
        **usage,
        "llm_tokens_used": usage["llm_prompt_tokens"] + usage["llm_completion_tokens"],
        "duration_seconds": round((now - started).total_seconds(), 3),
    }
    return Record(
        number=number,
        run_id=run.run_id,
        uid=head.meta.uid,
        kind="consolidation",
        trigger=run.trigger,
        started_at=clocks.iso_millis(started),
        committed_at=clocks.iso(now),
        model=worker.settings.llmaas_model,
        prompt_version=prompt.version(),
        agent=run.agent,
        notes=collected.sources,
        files=outcome.files,
        synthesis=SynthesisChange(before=collected.synthesis, after=text),
        discarded=[
            {"note_id": collected.notes[index - 1].note_id, "reason": reason}
            for index, reason in sorted(outcome.discarded.items())
        ],
        usage=usage,
        metrics=metrics,
    )


def _asker(worker: Worker) -> Asker:
    return Asker(worker.settings, worker.ask, worker.clock, worker.deadline)


def _rehearse(worker: Worker, head: Head, saved: Saved) -> runs.Run:
    """A dry run: asks the LLM and puts the plan into the run's own document; nothing else is written."""
    store, started = worker.store, worker.clock()
    try:
        collected = collecting.collect(store, worker.settings, head, saved.run)
        asked = asking.ask(_asker(worker), collected)
    except NothingToDo as reason:
        return runs.finish(
            store, saved, "nothing_to_do", worker.clock(), message=str(reason), metrics={"notes_processed": 0}
        ).run
    except RunError as error:
        problem = {"code": error.code, "detail": error.detail}
        return runs.finish(store, saved, "error", worker.clock(), error=problem, metrics=error.usage).run
    record = _record(worker, head, saved.run, collected, asked, started)
    plan = {
        "changes": diffs.changes(record),
        "synthesis": asked.synthesis,
        "discarded": record.discarded,
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(
        store, saved, "ok", worker.clock(), plan=plan, metrics=record.metrics, model=worker.settings.llmaas_model
    ).run

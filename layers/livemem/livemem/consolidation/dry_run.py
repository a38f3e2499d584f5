"""A dry run shows what a consolidation or a tidy run would do now, also by other rules, or with the notes of an earlier
change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from livemem.access.principal import Principal
from livemem.bank import synthesis as syntheses
from livemem.bank import time_travel
from livemem.changes import diffs, late_duplicates, records
from livemem.changes.records import Record
from livemem.consolidation import announcing, collecting, mending, outcome, tidying
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import (
    Conflict,
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    ObjectUnreadable,
    RunError,
)
from livemem.jobs import queue
from livemem.jobs import run as runs
from livemem.jobs.budget import Meter
from livemem.jobs.job import Failure
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.llm.client import Messages
from livemem.process import Process
from livemem.spaces import contents, rules
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store.stored import Stored

ONLY_DRY = "works only in a dry run: set `dry_run`"


def order(process: Process, principal: Principal, space_id: str, request: RunOrder) -> Run:
    """Queue a run by hand: the requests of queue.order. With `notes_of` also 1 GET, 1 LIST, and 1 GET for the record.

    Raises as queue.order does; also InvalidRequest, TooLarge, NotFound for a change that there is not, and Conflict for
    one that is too long ago.
    """
    if request.tidy:
        for name in ("agent", "max_notes", "notes_of"):
            if getattr(request, name) is not None:
                raise InvalidRequest.of(name, "is about notes, and a tidy run folds none: leave `tidy` or this out")
    text = rules.chosen(request.rules, request.rules_template)
    if not request.dry_run:
        if text is not None:
            raise InvalidRequest.of("rules" if request.rules is not None else "rules_template", ONLY_DRY)
        if request.notes_of is not None:
            raise InvalidRequest.of("notes_of", ONLY_DRY)
    if request.notes_of is not None:
        _check_change(process, space_id, request.notes_of)
    return queue.order(process, principal, space_id, replace(request, rules=text, rules_template=None))


def _check_change(process: Process, space_id: str, number: int) -> None:
    """Answer now what the run would say later."""
    meta = heads.load(process, space_id).meta
    record = records.get(process, space_id, number)
    if record.kind != "consolidation" or not record.notes:
        raise InvalidRequest.of("notes_of", "must be the number of a consolidation, which has notes")
    if meta.changes - number > time_travel.MOST_CHANGES:
        raise Conflict(
            f"More than {time_travel.MOST_CHANGES} changes were made after change {number}. Choose a later one."
        )


def rehearse(process: Process, head: Head, saved: Stored[Run], deadline: datetime) -> Run:
    """Ask the LLM, write only the plan into the run's own document, and return the run as it ended.

    Raises StillAtWork if another delivery of it is at work.
    """
    if head.meta.committed_run:
        # The notes of the committed run may still be live. The plan would show them a second time.
        problem = Failure(code="busy", detail="A change of this space is being applied. Try again.")
        return runs.finish(process, saved, "failed", "busy", error=problem)
    work = _Rehearsal(process, head, saved, deadline)
    try:
        record = work.tidied() if saved.value.tidy else work.folded()
    except NothingToDo as reason:
        return runs.finish(process, work.saved, "done", "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except (RunError, NotFound, Conflict, ObjectUnreadable) as error:
        # The last three: the change whose notes are wanted, or one after it, was lost or damaged since the order.
        problem = Failure(code=error.code, detail=error.detail)
        return runs.finish(process, work.saved, "failed", error=problem, metrics=_metrics(error))
    synthesis = record.synthesis and record.synthesis.after
    plan = {
        "changes": diffs.changes(record),
        "synthesis": syntheses.parse_synthesis(synthesis).content if synthesis else "",
        "discarded": record.discarded,
        "uncited": record.uncited,
        "left_out": record.left_out,
        "warnings": [warning.model_dump(exclude_none=True) for warning in record.warnings],
        "removed": [line.model_dump() for line in record.removed],
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(process, work.saved, "done", plan=plan, metrics=record.metrics, model=record.model)


@dataclass
class _Rehearsal:
    """A dry run. `saved` is the run as it was last read or written."""

    process: Process
    head: Head
    saved: Stored[Run]
    deadline: datetime

    def folded(self) -> Record:
        """The record of a consolidation. Raises NothingToDo, RunError, NotFound, Conflict, ObjectUnreadable."""
        process, started = self.process, self.process.clock()
        collected = _collect(process, self.head, self.saved.value)
        if not collected.notes:
            raise collected.nothing()
        meter = self._announced([collected.messages()], collected.announced())
        answered = mending.ask(process, meter, collected, self.deadline - announcing.APPLY_MARGIN)
        return outcome.record(process, self.head, self.saved.value, collected, answered, started)

    def tidied(self) -> Record:
        """The record of a tidy run. Raises NothingToDo, RunError."""
        process, started = self.process, self.process.clock()
        bank = tidying.collect(process, self.head, self.saved.value)
        if bank.why_not:
            raise NothingToDo(bank.why_not)
        meter = self._announced(bank.prompts(), {})
        return tidying.record(process, self.head, self.saved.value, bank, meter, self.deadline, started)

    def _announced(self, prompts: Sequence[Messages], metrics: Mapping[str, Any]) -> Meter:
        meter = announcing.reserve(self.process, self.saved.value, prompts[0], self.deadline)
        worker = self.process.new_id()
        self.saved = announcing.announce(self.process, self.saved, prompts, worker, base=None, metrics=metrics)
        return meter


def _collect(process: Process, head: Head, run: Run) -> Collected:
    if run.notes_of is not None:
        return collecting.collect_former(process, head, run, run.notes_of)
    live = contents.live_notes(process, head.meta.space_id)
    stray = late_duplicates.among(process, head, live)
    entries = [entry for entry in live if contents.note_name(entry).note_id not in stray]
    return collecting.collect(process, head, run, entries)


def _metrics(error: LiveMemoryError) -> dict[str, int]:
    return announcing.metrics_of(error) if isinstance(error, RunError) else {}

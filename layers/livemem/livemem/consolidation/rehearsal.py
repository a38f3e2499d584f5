"""A dry run shows what a consolidation or a tidy run would do now, also by other rules, or with the notes of an earlier
change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from livemem.bank import synthesis as syntheses
from livemem.changes import diffs, late_duplicates
from livemem.changes.records import Record
from livemem.consolidation import announcing, asking, collecting, earlier_notes, outcome, tidying
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import Conflict, LiveMemoryError, NotFound, ObjectUnreadable, RunError
from livemem.jobs import run as runs
from livemem.jobs.budget import Meter
from livemem.jobs.job import Failure
from livemem.jobs.run import Run
from livemem.llm.client import Messages
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces.head import Head
from livemem.store.stored import Stored


def rehearse(process: Process, head: Head, saved: Stored[Run], deadline: datetime) -> Run:
    """Ask the LLM, write only the plan into the run's own document, and return the run as it ended.

    Raises StillAtWork if another delivery of it is at work.
    """
    if head.meta.committed_run:
        # The notes of the committed run may still be live. The plan would show them a second time.
        return runs.finish(process, saved, "busy", message="A change of this space is being applied. Try again.")
    work = _Work(process, head, saved, deadline)
    try:
        record = work.tidied() if saved.value.tidy else work.folded()
    except NothingToDo as reason:
        return runs.finish(process, work.saved, "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except (RunError, NotFound, Conflict, ObjectUnreadable) as error:
        # The last three: the change whose notes are wanted, or one after it, was lost or damaged since the order.
        problem = Failure(code=error.code, detail=error.detail)
        return runs.finish(process, work.saved, "error", error=problem, metrics=_metrics(error))
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
    return runs.finish(process, work.saved, "ok", plan=plan, metrics=record.metrics, model=record.model)


@dataclass
class _Work:
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
        answered = asking.ask(process, meter, collected, self.deadline)
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
        return earlier_notes.collect(process, head, run, run.notes_of)
    live = contents.live_notes(process, head.meta.space_id)
    stray = late_duplicates.among(process, head, live)
    entries = [entry for entry in live if contents.note_name(entry).note_id not in stray]
    return collecting.collect(process, head, run, entries)


def _metrics(error: LiveMemoryError) -> dict[str, int]:
    return asking.metrics_of(error) if isinstance(error, RunError) else {}

"""A dry run shows what a consolidation would do now, also by other rules, or with the notes of an earlier change."""

from datetime import datetime

from livemem.changes import diffs, late_duplicates
from livemem.consolidation import announcing, asking, collecting, earlier_notes, outcome
from livemem.consolidation.collecting import Collected, NothingToDo
from livemem.errors import Conflict, LiveMemoryError, NotFound, ObjectUnreadable, RunError
from livemem.jobs import run as runs
from livemem.jobs.job import Failure
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces.head import Head
from livemem.store.stored import Stored


def rehearse(process: Process, head: Head, saved: Stored[Run], deadline: datetime) -> Run:
    """Ask the LLM, write only the plan into the run's own document, and return the run as it ended.

    Raises StillAtWork if another delivery of it is at work.
    """
    started = process.clock()
    if head.meta.committed_run:
        # The notes of the committed run may still be live. The plan would show them a second time.
        return runs.finish(process, saved, "busy", message="A change of this space is being applied. Try again.")
    try:
        collected = _collect(process, head, saved.value)
        if not collected.notes:
            raise collected.nothing()
        meter = announcing.reserve(process, saved.value, collected, deadline)
        saved = announcing.announce(process, saved, collected, process.new_id(), base=None)
        answered = asking.ask(process, meter, collected, deadline)
    except NothingToDo as reason:
        return runs.finish(process, saved, "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except (RunError, NotFound, Conflict, ObjectUnreadable) as error:
        # The last three: the change whose notes are wanted, or one after it, was lost or damaged since the order.
        problem = Failure(code=error.code, detail=error.detail)
        return runs.finish(process, saved, "error", error=problem, metrics=_metrics(error))
    record = outcome.record(process, head, saved.value, collected, answered, started)
    plan = {
        "changes": diffs.changes(record),
        "synthesis": answered.value.synthesis,
        "discarded": record.discarded,
        "uncited": record.uncited,
        "left_out": record.left_out,
        "warnings": [warning.model_dump(exclude_none=True) for warning in record.warnings],
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(process, saved, "ok", plan=plan, metrics=record.metrics, model=process.settings.llmaas_model)


def _collect(process: Process, head: Head, run: Run) -> Collected:
    if run.notes_of is not None:
        return earlier_notes.collect(process, head, run, run.notes_of)
    live = contents.live_notes(process, head.meta.space_id)
    stray = late_duplicates.among(process, head, live)
    shown = [entry for entry in live if contents.note_name(entry).note_id not in stray]
    return collecting.collect(process, head, run, shown)


def _metrics(error: LiveMemoryError) -> dict[str, int]:
    return asking.metrics_of(error) if isinstance(error, RunError) else {}

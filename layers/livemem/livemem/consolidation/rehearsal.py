"""A dry run: it shows what a consolidation would do now."""

from datetime import datetime

from livemem.changes import diffs, late_duplicates
from livemem.consolidation import announcing, asking, collecting, outcome
from livemem.consolidation.collecting import NothingToDo
from livemem.errors import RunError
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
        live = contents.live_notes(process, head.meta.space_id)
        stray = late_duplicates.among(process, head, live)
        shown = [entry for entry in live if contents.note_name(entry).note_id not in stray]
        collected = collecting.collect(process, head, saved.value, shown)
        if not collected.notes:
            raise collected.nothing()
        meter = announcing.reserve(process, saved.value, collected, deadline)
        saved = announcing.announce(process, saved, collected, process.new_id(), base=None)
        answered = asking.ask(process, meter, collected, deadline)
    except NothingToDo as reason:
        return runs.finish(process, saved, "nothing_to_do", message=str(reason), metrics=reason.metrics)
    except RunError as error:
        problem = Failure(code=error.code, detail=error.detail)
        return runs.finish(process, saved, "error", error=problem, metrics=asking.metrics_of(error))
    record = outcome.record(process, head, saved.value, collected, answered, started)
    plan = {
        "changes": diffs.changes(record),
        "synthesis": answered.value.synthesis,
        "discarded": record.discarded,
        "uncited": record.uncited,
        "left_out": record.left_out,
        "warnings": record.warnings,
        "sources": [source.note_id for source in record.notes],
    }
    return runs.finish(process, saved, "ok", plan=plan, metrics=record.metrics, model=process.settings.llmaas_model)

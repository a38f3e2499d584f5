"""The word of a worker that it is about to ask the LLM, and for how much: what is known of it if it dies."""

from datetime import datetime

from livemem import clock as clocks
from livemem.consolidation.collecting import Collected
from livemem.errors import PreconditionLost, StillAtWork
from livemem.jobs import run as runs
from livemem.jobs.budget import Meter
from livemem.jobs.run import Run
from livemem.llm import window
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store.stored import Stored

LATER = "The notes are live; they are folded on the next day, or as soon as there is more."


def reserve(process: Process, run: Run, collected: Collected, deadline: datetime) -> Meter:
    """The calls of a run, the first one reserved; they are counted when it ends (spaces/usage_counts.py). Raises
    RunError.
    """
    meter = Meter(process, run.space_id, clocks.parse(run.created_at).date(), run.job_id, LATER)
    left = (deadline - process.clock()).total_seconds()
    meter.before_call(window.size(collected.messages()), process.settings.llmaas_max_tokens, left)
    return meter


def announce(
    process: Process, saved: Stored[Run], collected: Collected, worker: str, *, base: int | None
) -> Stored[Run]:
    """Say that the run works, who does, and what it asks for: 1 PUT. No other worker of it can end it unseen then.

    `base` is the number of the newest change that it may add one to; None for a dry run. Raises StillAtWork.
    """
    run = saved.value
    asking = Usage(calls=1, estimated_tokens=window.size(collected.messages()))
    try:
        return runs.change(
            process,
            saved,
            status="running",
            step="asking",
            started_at=clocks.iso_millis(process.clock()),
            attempt=run.attempt + 1,
            worker=worker,
            base=base,
            model=process.settings.llmaas_model,
            metrics={"notes_processed": len(collected.notes), "notes_remaining": collected.remaining},
            asking=asking,
            usage=run.usage + run.asking,
        )
    except PreconditionLost:
        raise StillAtWork("Another worker of this run is at it, or has ended it.") from None

"""The word of a worker that it is about to ask the LLM, and for how much: what is known of it if it dies."""

from datetime import datetime

from livemem import clock as clocks
from livemem.consolidation import prompt
from livemem.consolidation.collecting import Collected
from livemem.errors import PreconditionLost, StillAtWork
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.runs import run as runs
from livemem.runs.run import Saved
from livemem.store import timing


def announce(
    process: Process, saved: Saved, collected: Collected, worker: str, deadline: datetime, *, base: int | None
) -> Saved:
    """Say that the run works, who does, and what it asks for: 1 PUT. No other worker of it can end it unseen then.

    `base` is the number of the newest change that it may add one to; None for a dry run. Raises StillAtWork.
    """
    run = saved.run
    asking = Usage(calls=1, estimated_tokens=prompt.size(collected.messages()))
    try:
        return runs.change(
            process,
            saved,
            status="running",
            step="asking",
            started_at=clocks.iso_millis(process.clock()),
            expires_at=clocks.iso_millis(deadline + timing.MARGIN),
            worker=worker,
            base=base,
            model=process.settings.llmaas_model,
            metrics={"notes_processed": len(collected.notes), "notes_remaining": collected.remaining},
            asking=asking.to_metrics(),
            spent=(Usage.of(run.spent) + Usage.of(run.asking)).to_metrics() if run.asking else {},
        )
    except PreconditionLost:
        raise StillAtWork("Another worker of this run is at it, or has ended it.") from None

"""A worker records that it is about to ask the LLM, and with how many tokens. The record remains if the worker dies."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from livemem import clock as clocks
from livemem.errors import RunError, StillAtWork
from livemem.jobs import run as runs
from livemem.jobs.budget import Meter
from livemem.jobs.run import AgentFold, Run
from livemem.llm import window
from livemem.llm.answering import NoAnswer
from livemem.llm.client import Messages
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import stored
from livemem.store.stored import Stored

LATER = "All notes are live. The work is done on the next day, or as soon as more tokens are available."
APPLY_MARGIN = timedelta(seconds=45)
"""Time of an invocation that is reserved for commit and application. The LLM may not use it."""


def reserve(process: Process, run: Run, first: Messages, deadline: datetime) -> Meter:
    """The meter of a run, with the first call reserved. Calls are counted when the run ends (spaces/usage_counts.py).

    Raises RunError.
    """
    meter = Meter(process, run.space_id, clocks.parse(run.created_at).date(), run.job_id, LATER)
    seconds = (deadline - process.clock()).total_seconds()
    meter.before_call(window.size(first), process.settings.llmaas_max_tokens, seconds)
    return meter


def announce(
    process: Process,
    saved: Stored[Run],
    prompts: Sequence[Messages],
    worker: str,
    *,
    base: int | None,
    metrics: Mapping[str, Any],
    fold: AgentFold | None = None,
) -> Stored[Run]:
    """Record that the run works, its worker and the tokens it asks with: 1 PUT. No other worker can then end it unseen.
    `fold`: the part of the agent that is asked in the place of the LLM.

    `base` is the number of the newest change, after which it may commit one; None for a dry run. Raises StillAtWork.
    """
    run = saved.value
    asking = Usage(calls=len(prompts), estimated_tokens=sum(map(window.size, prompts)))
    with stored.race(lost=StillAtWork("Another worker of this run is at it, or has ended it.")):
        return runs.change(
            process,
            saved,
            status="running",
            step="asking",
            started_at=clocks.iso_millis(process.clock()),
            attempt=run.attempt + 1,
            worker=worker,
            base=base,
            model=f"agent {run.requested_by}" if fold else process.settings.llmaas_model,
            metrics=dict(metrics),
            asking=asking,
            # The next worker of an agent's run counts all of its answers again.
            usage=run.usage if fold else run.usage + run.asking,
            fold=fold,
        )


def metrics_of(error: RunError) -> dict[str, int]:
    """The metrics of a run that failed with this error: the LLM usage until then."""
    return error.used.to_metrics() if isinstance(error, NoAnswer) else {}

"""Asking the LLM to fold the collected notes."""

from datetime import datetime, timedelta

from livemem.consolidation import mending
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.errors import RunError
from livemem.jobs.budget import Meter
from livemem.llm.answering import Answered, NoAnswer
from livemem.process import Process

APPLY_MARGIN = timedelta(seconds=45)
"""Time of an invocation that is reserved for commit and application. The LLM may not use it."""


def ask(process: Process, meter: Meter, collected: Collected, deadline: datetime) -> Answered[Folded]:
    """The checked answer of the model. `deadline` is when the invocation ends. Raises NoAnswer."""
    return mending.ask(process, meter, collected, deadline - APPLY_MARGIN)


def metrics_of(error: RunError) -> dict[str, int]:
    """The metrics of a run that failed with this error: the LLM usage until then."""
    return error.used.to_metrics() if isinstance(error, NoAnswer) else {}

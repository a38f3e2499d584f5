"""Asking the LLM to fold what was collected."""

from datetime import datetime, timedelta

from livemem.consolidation import checks
from livemem.consolidation.checks import Folded
from livemem.consolidation.collecting import Collected
from livemem.errors import RunError
from livemem.jobs.budget import Meter
from livemem.llm.answering import Answered, NoAnswer, ask_model
from livemem.process import Process

APPLY_MARGIN = timedelta(seconds=45)
"""Of an invocation, that the LLM may not use up: for commit and application."""


def ask(process: Process, meter: Meter, collected: Collected, deadline: datetime) -> Answered[Folded]:
    """What the model's answer comes to; `deadline` is when the invocation ends. Raises NoAnswer."""
    contract = checks.contract(process.settings, collected)
    return ask_model(process, meter, collected.messages(), contract, deadline - APPLY_MARGIN)


def metrics_of(error: RunError) -> dict[str, int]:
    """What a run that failed so had asked of the LLM, as its metrics."""
    return error.used.to_metrics() if isinstance(error, NoAnswer) else {}

"""One summary asked of the LLM, and the one more question that shows it what was wrong with its answer."""

from dataclasses import dataclass
from datetime import datetime

from livemem.consolidation import prompt as budget
from livemem.consolidation.budget import Meter
from livemem.conversations import answer
from livemem.conversations.answer import Source, SummaryAnswer
from livemem.conversations.parameters import Parameters
from livemem.errors import RunError
from livemem.llm.client import LlmError, Messages
from livemem.llm.contract import ContractError
from livemem.llm.usage import Usage
from livemem.process import Process

MARGIN = 5.0
"""Seconds before the end of the invocation that are kept to store what was answered."""
SHORTEST_ASK = 5.0
"""Seconds below which asking is pointless."""
ANSWER_TOKENS = 500
"""Kept for an answer besides those of the summary itself."""
OUT_OF_TIME = "out_of_time"
OF_THE_SOURCE = ("llm_contract", "llm_window", "llm_refused", "llm_empty", "llm_cut_off")
"""Failures that say nothing of other summaries: the next one is asked for all the same."""


@dataclass(frozen=True)
class Asked:
    """The model's answer, the names of its flaws, and what it took."""

    answer: SummaryAnswer
    flaws: tuple[str, ...]
    usage: Usage


def ask(
    process: Process,
    meter: Meter,
    messages: Messages,
    source: Source,
    target: int,
    parameters: Parameters,
    deadline: datetime,
) -> Asked:
    """The model's answer, checked: 1 or 2 calls; `target` in characters. Raises RunError."""
    text = _call(process, meter, messages, target, deadline)
    first, problem = _checked(text, source, target, parameters)
    if first and not problem:
        return Asked(first[0], (), meter.used)
    again = budget.corrected(messages, text, problem, window=process.settings.llmaas_context_tokens)
    second = None
    try:
        if again:
            text = _call(process, meter, again, target, deadline)
            second, problem = _checked(text, source, target, parameters)
    except RunError:
        if not first:
            raise
    best = min((one for one in (second, first) if one), key=lambda one: len(one[1]), default=None)
    if not best:
        raise RunError("llm_contract", f"The LLM's answer could not be used, so no summary was stored. {problem}")
    return Asked(best[0], best[1], meter.used)


def _checked(
    text: str, source: Source, target: int, parameters: Parameters
) -> tuple[tuple[SummaryAnswer, tuple[str, ...]] | None, str]:
    """The answer with its flaws, None if it can't be used; and what the model should mend."""
    try:
        found = answer.parse(text, source)
    except ContractError as error:
        return None, str(error)
    wrong = answer.flaws(found, source, target, parameters)
    return (found, tuple(wrong)), " ".join(wrong.values())


def _call(process: Process, meter: Meter, messages: Messages, target: int, deadline: datetime) -> str:
    settings = process.settings
    left = (deadline - process.clock()).total_seconds() - MARGIN
    if left < SHORTEST_ASK:
        raise RunError(OUT_OF_TIME, "The invocation has no time left to ask the LLM.")
    prompt_tokens = budget.size(messages)
    room = settings.llmaas_context_tokens - prompt_tokens
    if room < target // budget.BYTES_PER_TOKEN + ANSWER_TOKENS:
        raise RunError("llm_window", "What is to be summarised does not fit into the model's window.")
    limit = min(settings.llmaas_max_tokens, room) if settings.llmaas_max_tokens else None
    timeout = min(settings.llm_timeout_seconds, left)
    meter.before_call(prompt_tokens, limit, timeout)
    try:
        reply = process.ask(messages, limit, timeout, answer.schema())
    except LlmError as error:
        meter.failed(error)
        # It may be the invocation that was short, not the model that was slow.
        short = error.code == "llm_timeout" and left < settings.llm_timeout_seconds
        raise RunError(OUT_OF_TIME if short else error.code, error.detail) from error
    meter.answered(reply.usage, len(reply.text))
    return reply.text

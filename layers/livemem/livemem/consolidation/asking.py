"""The one call of the LLM, and the one more that shows it what was wrong with its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from livemem.consolidation import answer, checks, planning, prompt
from livemem.consolidation.budget import Meter
from livemem.consolidation.collecting import Collected
from livemem.consolidation.planning import Outcome
from livemem.errors import RunError
from livemem.llm.client import MAY_COST, LlmError, Messages
from livemem.process import Process

APPLY_MARGIN = 45.0
"""Seconds of an invocation that the LLM may not use up: they are for commit and application."""
SHORTEST_ASK = 5.0
"""Seconds below which asking is pointless."""


@dataclass(frozen=True)
class Asked:
    """What the model's answer comes to, its synthesis, and the counted calls and tokens."""

    outcome: Outcome
    synthesis: str
    usage: dict[str, int]


def ask(process: Process, collected: Collected, deadline: datetime, meter: Meter) -> Asked:
    """The model's answer to what was collected, checked; `deadline` is when the invocation ends. Raises RunError.

    The first call is reserved already (`reserve`).

    An answer that breaks the contract, or one that could be better, is shown to the model once with what is wrong.
    """
    messages = collected.messages()
    usage = {"llm_calls": 0, "llm_prompt_tokens": 0, "llm_completion_tokens": 0}
    text = _call(process, messages, deadline, usage)
    first, problem = _checked(process, collected, text, usage)
    if first and not problem:
        return first
    again = prompt.corrected(messages, text, problem, window=process.settings.llmaas_context_tokens)
    second: Asked | None = None
    try:
        if again:
            _reserve_again(meter, again, deadline, usage)
            second, problem = _checked(process, collected, _call(process, again, deadline, usage), usage)
    except RunError:
        if not first:
            raise
    best = min((asked for asked in (second, first) if asked), key=_faults, default=None)
    if not best:
        detail = f"The LLM's answer could not be used, so nothing was changed. {problem}"
        raise RunError("llm_contract", detail, usage)
    return replace(best, usage=usage)


def _checked(process: Process, collected: Collected, text: str, usage: dict[str, int]) -> tuple[Asked | None, str]:
    """What an answer comes to, None if it can't be used; and what the model should mend."""
    ids = [note.note_id for note in collected.notes]
    try:
        parsed = answer.parse(text)
        checks.check_placeholders(parsed, collected)
        outcome = planning.draw_up(parsed, collected.bank, ids)
        checks.check_room(process.settings, collected, outcome, parsed.synthesis)
    except answer.ContractError as error:
        return None, str(error)
    return Asked(outcome, parsed.synthesis, usage), " ".join(checks.complaints(outcome, parsed.synthesis))


def _faults(asked: Asked) -> tuple[int, int]:
    return len(asked.outcome.uncited), len(checks.complaints(asked.outcome, asked.synthesis))


def reserve(meter: Meter, messages: Messages, deadline: datetime) -> None:
    """Reserve a call with these messages, which may last until the deadline. Raises RunError."""
    process = meter.process
    left = (deadline - process.clock()).total_seconds()
    meter.before_call(prompt.size(messages), process.settings.llmaas_max_tokens, left)


def _reserve_again(meter: Meter, messages: Messages, deadline: datetime, usage: dict[str, int]) -> None:
    try:
        reserve(meter, messages, deadline)
    except RunError as error:
        raise RunError(error.code, error.detail, usage) from error


def _call(process: Process, messages: Messages, deadline: datetime, usage: dict[str, int]) -> str:
    settings = process.settings
    left = (deadline - process.clock()).total_seconds() - APPLY_MARGIN
    if left < SHORTEST_ASK:
        raise RunError("out_of_time", "The invocation has no time left to ask the LLM.", usage)
    window = settings.llmaas_context_tokens - prompt.size(messages)
    limit = min(settings.llmaas_max_tokens, window) if settings.llmaas_max_tokens else None
    usage["llm_calls"] += 1
    try:
        timeout = min(settings.llm_timeout_seconds, left)
        reply = process.ask(messages, limit, timeout, answer.schema())
    except LlmError as error:
        _count(usage, error.usage, prompt.size(messages) if error.code in MAY_COST else 0)
        raise RunError(error.code, error.detail, usage) from error
    # What comes from outside may be no text that can be encoded.
    _count(usage, reply.usage, prompt.size(messages) + len(reply.text) // prompt.BYTES_PER_TOKEN)
    if reply.cut:
        usage["llm_prompts_cut"] = usage.get("llm_prompts_cut", 0) + 1
    return reply.text


def _count(usage: dict[str, int], told: Mapping[str, int], estimate: int) -> None:
    """Add what the provider counted, or else the estimate of tokens."""
    for name in ("prompt_tokens", "completion_tokens"):
        usage[f"llm_{name}"] += told.get(name, 0)
    if estimate and not any(told.values()):
        usage["llm_tokens_estimated"] = usage.get("llm_tokens_estimated", 0) + estimate

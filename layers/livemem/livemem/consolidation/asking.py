"""The one call of the LLM, and the one more that shows it what was wrong with its answer."""

from dataclasses import dataclass
from datetime import datetime

from livemem.consolidation import answer, planning, prompt
from livemem.consolidation.collecting import Collected
from livemem.consolidation.planning import Outcome
from livemem.errors import RunError
from livemem.llm.client import LlmError, Messages
from livemem.process import Process

APPLY_MARGIN = 45.0
"""Seconds of an invocation that the LLM may not use up: they are for commit and application."""
SHORTEST_ASK = 5.0
"""Seconds below which asking is pointless."""
ASKS = 2
"""One call, and one more that shows the model what was wrong with its answer."""


@dataclass(frozen=True)
class Asked:
    """What the model's answer comes to, its synthesis, and the counted calls and tokens."""

    outcome: Outcome
    synthesis: str
    usage: dict[str, int]


def ask(process: Process, collected: Collected, deadline: datetime) -> Asked:
    """The model's answer to what was collected, checked; `deadline` is when the invocation ends. Raises RunError."""
    previous = collected.synthesis.content if collected.synthesis else None
    messages = prompt.build(collected.rules, previous, collected.bank, collected.notes, collected.rules_changed_at)
    ids = [note.note_id for note in collected.notes]
    usage = {"llm_calls": 0, "llm_prompt_tokens": 0, "llm_completion_tokens": 0}
    problem = ""
    for _ in range(ASKS):
        if prompt.size(messages) + prompt.ANSWER_BASE > process.settings.llmaas_context_tokens:
            break
        text = _call(process, messages, deadline, usage)
        try:
            parsed = answer.parse(text)
            return Asked(planning.draw_up(parsed, collected.bank, ids), parsed.synthesis, usage)
        except answer.ContractError as error:
            problem = str(error)
        messages = prompt.corrected(messages, text, problem)
    raise RunError("llm_contract", f"The LLM's answer could not be used, so nothing was changed. {problem}", usage)


def _call(process: Process, messages: Messages, deadline: datetime, usage: dict[str, int]) -> str:
    settings = process.settings
    left = (deadline - process.clock()).total_seconds() - APPLY_MARGIN
    if left < SHORTEST_ASK:
        raise RunError("out_of_time", "The invocation has no time left to ask the LLM.", usage)
    window = settings.llmaas_context_tokens - prompt.size(messages)
    limit = min(settings.llmaas_max_tokens, window) if settings.llmaas_max_tokens else None
    usage["llm_calls"] += 1
    try:
        reply = process.ask(messages, limit, min(settings.consolidation_timeout, left))
    except LlmError as error:
        raise RunError(error.code, error.detail, usage) from error
    usage["llm_prompt_tokens"] += reply.usage.get("prompt_tokens", 0)
    usage["llm_completion_tokens"] += reply.usage.get("completion_tokens", 0)
    return reply.text

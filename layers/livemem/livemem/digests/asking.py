"""One chunk asked of the LLM, and the one more question that shows it what was wrong with its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from livemem.consolidation import prompt as budget
from livemem.digests import answer
from livemem.digests.papers import Fact
from livemem.errors import RunError
from livemem.llm.client import MAY_COST, LlmError, Messages
from livemem.llm.contract import ContractError
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.rooms.message import Message

MARGIN = 20.0
"""Seconds before the end of the invocation that are kept to store what was answered."""
SHORTEST_ASK = 5.0
"""Seconds below which asking is pointless."""
ANSWER_TOKENS = 500
"""That must be left for an answer."""
OUT_OF_TIME = "out_of_time"
OF_THE_CHUNK = ("llm_contract", "llm_window", "llm_refused", "llm_empty", "llm_cut_off", "llm_too_large")
"""Failures that say nothing of other chunks: they count as tries, and the next one may be at once."""
PERHAPS_OF_THE_CHUNK = ("llm_timeout", "llm_refused_request")
"""Failures that count too; but where no other chunk gets an answer it is rather the model, which is given time."""
OF_THE_REQUEST = (400, 413, 422)
"""Statuses of a refused request that its content may be the reason of: all others are of the key or the address."""


class AskFailed(RunError):
    """The model gave nothing of use. `counts`: it is a try of the chunk; `pauses`: the model may be the reason."""

    def __init__(self, code: str, detail: str, used: Usage, *, status: int | None = None) -> None:
        super().__init__(code, detail, used.to_metrics())
        self.used = used
        refused_for_good = code == "llm_refused_request" and status not in OF_THE_REQUEST
        self.pauses = code in PERHAPS_OF_THE_CHUNK and not refused_for_good
        self.counts = code in OF_THE_CHUNK or self.pauses


@dataclass(frozen=True)
class Asked:
    """What the model found, and what it took."""

    facts: list[Fact]
    usage: Usage


def ask(process: Process, messages: Messages, said: Sequence[Message], deadline: datetime) -> Asked:
    """What the model finds in what was said: 1 call, 2 where the first answer breaks the contract. Raises AskFailed."""
    text, used = _call(process, messages, Usage(), deadline)
    try:
        return Asked(answer.parse(text, said, process.clock()), used)
    except ContractError as error:
        problem = str(error)
    again = budget.corrected(messages, text, problem, window=process.settings.llmaas_context_tokens)
    if again:
        text, used = _call(process, again, used, deadline)
        try:
            return Asked(answer.parse(text, said, process.clock()), used)
        except ContractError as error:
            problem = str(error)
    raise AskFailed("llm_contract", f"The LLM's answer could not be used. {problem}", used)


def _call(process: Process, messages: Messages, used: Usage, deadline: datetime) -> tuple[str, Usage]:
    settings = process.settings
    left = (deadline - process.clock()).total_seconds() - MARGIN
    if left < SHORTEST_ASK:
        raise AskFailed(OUT_OF_TIME, "The invocation has no time left to ask the LLM.", used)
    size = budget.size(messages)
    room = settings.llmaas_context_tokens - size
    if room < ANSWER_TOKENS:
        raise AskFailed("llm_window", "The messages do not fit into the model's window.", used)
    limit = min(settings.llmaas_max_tokens, room) if settings.llmaas_max_tokens else None
    try:
        reply = process.ask(messages, limit, min(settings.consolidation_timeout, left), answer.schema())
    except LlmError as error:
        used += Usage.of_call(error.usage, size if error.code in MAY_COST else 0)
        # It may be the invocation that was short, not the model that was slow.
        short = error.code == "llm_timeout" and left < settings.consolidation_timeout
        code = OUT_OF_TIME if short else error.code
        raise AskFailed(code, error.detail, used, status=error.http_status) from error
    return reply.text, used + Usage.of_call(reply.usage, size + len(reply.text) // budget.BYTES_PER_TOKEN)

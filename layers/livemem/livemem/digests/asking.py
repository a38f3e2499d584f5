"""One chunk asked of the LLM, and the one more question that shows it what was wrong with its answer."""

from collections.abc import Sequence
from datetime import datetime

from livemem.consolidation import prompt
from livemem.consolidation.budget import Meter
from livemem.digests import answer
from livemem.digests.papers import Fact
from livemem.errors import RunError
from livemem.llm.client import LlmError, Messages
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


def ask(process: Process, meter: Meter, messages: Messages, said: Sequence[Message], deadline: datetime) -> list[Fact]:
    """What the model finds in what was said: 1 call, 2 where the first answer breaks the contract. Raises AskFailed."""
    text = _call(process, meter, messages, deadline)
    try:
        return answer.parse(text, said, process.clock())
    except ContractError as error:
        problem = str(error)
    again = prompt.corrected(messages, text, problem, window=process.settings.llmaas_context_tokens)
    if again:
        text = _call(process, meter, again, deadline)
        try:
            return answer.parse(text, said, process.clock())
        except ContractError as error:
            problem = str(error)
    raise AskFailed("llm_contract", f"The LLM's answer could not be used. {problem}", meter.used)


def _call(process: Process, meter: Meter, messages: Messages, deadline: datetime) -> str:
    settings = process.settings
    left = (deadline - process.clock()).total_seconds() - MARGIN
    if left < SHORTEST_ASK:
        raise AskFailed(OUT_OF_TIME, "The invocation has no time left to ask the LLM.", meter.used)
    size = prompt.size(messages)
    room = settings.llmaas_context_tokens - size
    if room < ANSWER_TOKENS:
        raise AskFailed("llm_window", "The messages do not fit into the model's window.", meter.used)
    limit = min(settings.llmaas_max_tokens, room) if settings.llmaas_max_tokens else None
    timeout = min(settings.llm_timeout_seconds, left)
    try:
        meter.before_call(size, limit, timeout)
    except RunError as error:
        # The day's tokens are used up.
        raise AskFailed(error.code, error.detail, meter.used) from error
    try:
        reply = process.ask(messages, limit, timeout, answer.schema())
    except LlmError as error:
        meter.failed(error)
        # It may be the invocation that was short, not the model that was slow.
        short = error.code == "llm_timeout" and left < settings.llm_timeout_seconds
        code = OUT_OF_TIME if short else error.code
        raise AskFailed(code, error.detail, meter.used, status=error.http_status) from error
    meter.answered(reply.usage, len(reply.text))
    return reply.text

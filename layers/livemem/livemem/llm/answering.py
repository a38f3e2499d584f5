"""Asking a model under a contract: one question, its answer checked, one correction, and all of it counted.

The caller brings its messages and its contract, and handles a missing answer. Each call is reserved before it is made
(jobs/budget.py), bounded by the remaining time of the invocation, and counted whether it succeeds or fails.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import Template
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from livemem.clock import Clock
from livemem.errors import RunError
from livemem.llm import contract as contracts
from livemem.llm import templates, window
from livemem.llm.client import Ask, LlmError, Messages, Reply
from livemem.llm.contract import ContractError
from livemem.llm.tool_calling import ToolReply
from livemem.llm.usage import Usage
from livemem.settings import Settings
from livemem.text.invisible import visible

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R", Reply, ToolReply)

SHORTEST_ASK = 5.0
"""Seconds below which asking is pointless."""
SHOWN_CHARACTERS = 2_000
"""As much of an answer the model is shown when it is asked again."""
QUOTED_CHARACTERS = 100
"""Of an answer in prose that could not be used, what its error quotes."""
OUT_OF_TIME = "out_of_time"
OF_THE_QUESTION = ("llm_contract", "llm_window", "llm_refused", "llm_empty", "llm_cut_off")
"""Failures that say nothing about other questions: the next question is still asked."""


class Caller(Protocol):
    """The part of a process (process.py) that a call needs."""

    @property
    def settings(self) -> Settings: ...
    @property
    def ask(self) -> Ask: ...
    @property
    def clock(self) -> Clock: ...


class Counter(Protocol):
    """It reserves and counts the calls of one piece of work (jobs/budget.py)."""

    used: Usage

    def before_call(self, prompt: int, limit: int | None, seconds: float) -> None:
        """Reserve a call. Raises RunError if it may not be made."""
        ...

    def answered(self, reply: Reply | ToolReply) -> None:
        """Count a call that was answered."""
        ...

    def failed(self, error: LlmError) -> None:
        """Count a call that failed."""
        ...


class NoAnswer(RunError):
    """The model gave no usable answer. `used` is the usage up to then, `http_status` the status of a refusal."""

    def __init__(self, code: str, detail: str, used: Usage, *, http_status: int | None = None) -> None:
        super().__init__(code, detail)
        self.used = used
        self.http_status = http_status


@dataclass(frozen=True)
class Flaw:
    """A fault that the model is asked once to mend in an answer that keeps to the contract. `sentence` tells the
    model of it.
    """

    name: str
    sentence: str
    weight: int = 1
    """Of two answers with flaws the one with less weight counts."""


@dataclass(frozen=True)
class Contract(Generic[T]):
    """What an answer must be. `read` turns the model's text into the wanted value, or raises ContractError."""

    answer: type[BaseModel]
    read: Callable[[str], T]
    flaws: Callable[[T], Sequence[Flaw]] = lambda _: ()
    answer_tokens: int = 0
    """Tokens that must remain in the model's window for the answer."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The value of an answer, its flaws, and the usage of the model."""

    value: T
    flaws: tuple[Flaw, ...]
    used: Usage


def ask_model(
    process: Caller,
    counter: Counter,
    messages: Messages,
    contract: Contract[T],
    until: datetime,
    *,
    shortest: float | None = None,
    corrects: bool = True,
) -> Answered[T]:
    """The model's answer to `messages`, checked: 1 call, and 1 more that shows the model the fault in its answer.

    `until` is the last moment at which an answer is useful, `shortest` the seconds below which no call is made. Without
    `corrects` only the first answer counts. Raises NoAnswer.
    """

    def call(thread: Messages) -> str:
        def send(limit: int | None, timeout: float) -> Reply:
            return process.ask(thread, limit, timeout, contracts.schema(contract.answer))

        size, room = window.size(thread), contract.answer_tokens
        return call_model(process, counter, size, send, until, answer_tokens=room, shortest=shortest).text

    text = call(messages)
    first, problem = _checked(contract, counter, text)
    if first and not (problem and corrects):
        return first
    again = corrected(messages, text, problem, most=process.settings.llmaas_context_tokens) if corrects else None
    second = None
    try:
        if again:
            text = call(again)
            second, problem = _checked(contract, counter, text)
    except RunError:
        if not first:
            raise
    usable = [answer for answer in (second, first) if answer]
    if not usable:
        raise NoAnswer("llm_contract", f"The LLM's answer could not be used. {problem}{_quoted(text)}", counter.used)
    best = min(usable, key=lambda answer: sum(flaw.weight for flaw in answer.flaws))
    return Answered(best.value, best.flaws, counter.used)


def _quoted(text: str) -> str:
    """The beginning of an answer in prose, which may say why the model refuses. Empty for anything like JSON."""
    prose = " ".join(visible(contracts.without_thinking(text)[: 4 * QUOTED_CHARACTERS]).split())
    if not prose or prose.startswith(("{", "[", "<", "`")):
        return ""
    cut = prose if len(prose) <= QUOTED_CHARACTERS else f"{prose[:QUOTED_CHARACTERS]}..."
    return f' It answered: "{cut}"'


def _checked(contract: Contract[T], counter: Counter, text: str) -> tuple[Answered[T] | None, str]:
    """The value of an answer, None if it is unusable; and what the model should mend."""
    try:
        value = contract.read(text)
    except ContractError as error:
        return None, str(error)
    flaws = tuple(contract.flaws(value))
    return Answered(value, flaws, counter.used), " ".join(flaw.sentence for flaw in flaws)


def call_model(
    process: Caller,
    counter: Counter,
    prompt: int,
    send: Callable[[int | None, float], R],
    until: datetime,
    *,
    answer_tokens: int = 0,
    shortest: float | None = None,
) -> R:
    """The reply to one call with a prompt of `prompt` tokens. `send` makes the call, given the most tokens of the
    answer and the seconds that it may take. Raises NoAnswer.
    """
    settings = process.settings
    seconds = (until - process.clock()).total_seconds()
    if seconds < (SHORTEST_ASK if shortest is None else shortest):
        raise NoAnswer(OUT_OF_TIME, "There is no time left to ask the LLM.", counter.used)
    room = settings.llmaas_context_tokens - prompt
    if room < answer_tokens:
        raise NoAnswer("llm_window", "The prompt does not fit into the model's window.", counter.used)
    limit = min(settings.llmaas_max_tokens, room) if settings.llmaas_max_tokens else None
    timeout = min(settings.llm_timeout_seconds, seconds)
    try:
        counter.before_call(prompt, limit, timeout)
    except RunError as error:
        # The day's tokens are used up.
        raise NoAnswer(error.code, error.detail, counter.used) from error
    begun = process.clock()
    try:
        reply = send(limit, timeout)
    except LlmError as error:
        counter.failed(error)
        _log(process, begun, limit, error.usage, error)
        # It may be the invocation that was short, not the model that was slow.
        short = error.code == "llm_timeout" and seconds < settings.llm_timeout_seconds
        code = OUT_OF_TIME if short else error.code
        raise NoAnswer(code, error.detail, counter.used, http_status=error.http_status) from error
    counter.answered(reply)
    _log(process, begun, limit, reply.usage)
    return reply


def _log(
    process: Caller, begun: datetime, limit: int | None, used: Mapping[str, int], error: LlmError | None = None
) -> None:
    """One line for each call, in the names that OpenTelemetry gives to calls of models. It holds no text of them."""
    fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": process.settings.llmaas_model,
        "gen_ai.request.max_tokens": limit,
        "gen_ai.usage.input_tokens": used.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": used.get("completion_tokens"),
        "gen_ai.client.operation.duration": round((process.clock() - begun).total_seconds(), 3),
        "error.type": error.code if error else None,
    }
    logger.info("model call", extra={name: value for name, value in fields.items() if value is not None})


def correction() -> str:
    """The text that asks for a correction."""
    return templates.text("llm", "correction")


def corrected(messages: Messages, answer: str, problem: str, *, most: int) -> Messages | None:
    """The messages of the one correction: the beginning of the answer, and its fault.

    Half of what they leave of `most` tokens is kept for the new answer; None if that leaves nothing to show.
    """
    question = {"role": "user", "content": Template(correction()).substitute(problem=problem)}
    rest = most - window.size([*messages, question]) - window.MESSAGE_TOKENS
    excerpt = window.cut(answer[:SHOWN_CHARACTERS], min(rest // 2, rest - window.ANSWER_TOKENS))
    return [*messages, {"role": "assistant", "content": excerpt}, question] if excerpt else None

"""One turn of the loop: the next call of the model, and the answer of a question to which the model did not respond."""

from datetime import datetime

from livemem.ask import prompt, tools
from livemem.ask.arguments import MESSAGE_CHARACTERS
from livemem.ask.question import EXPRESSIONS, Answer, AskedCall, Expression, Question, Step
from livemem.jobs.budget import Meter
from livemem.llm import contract
from livemem.llm.answering import NoAnswer, call_model
from livemem.llm.tool_calling import ToolReply
from livemem.process import Process

SHORTEST_ASK = 3.0
"""Seconds below which asking is pointless."""
EMPTY = "llm_empty"
KEPT_CHARACTERS = 50_000
"""Of a text, or of the arguments of a call. Nothing longer is valid, and all of it is sent again with each turn."""


def must_respond(question: Question) -> bool:
    """Whether the model must respond now: it has had its turns, or its last answer called no tool."""
    steps = question.steps
    return len(steps) >= prompt.TURNS or bool(steps and not steps[-1].calls)


def ask(process: Process, meter: Meter, question: Question, until: datetime) -> Step:
    """The model's next answer: 1 call. Raises RunError."""
    forced = must_respond(question)
    messages = prompt.thread(question, process.settings.llmaas_context_tokens, forced=forced)
    offered = tools.offered(may_write=question.may_write, only_respond=forced, expression=question.expression)

    def send(limit: int | None, timeout: float) -> ToolReply:
        return process.converse(messages, offered, limit, timeout, required=forced)

    try:
        reply = call_model(process, meter, prompt.size(messages), send, until, shortest=SHORTEST_ASK)
    except NoAnswer as error:
        if error.code == EMPTY:
            # The model may still respond when it is forced to.
            return Step(forced=forced, called=[])
        raise
    return _step(reply, forced=forced)


def _step(reply: ToolReply, *, forced: bool) -> Step:
    calls = [AskedCall(id=call.id, name=call.name, arguments=call.arguments[:KEPT_CHARACTERS]) for call in reply.calls]
    return Step(text=reply.text[:KEPT_CHARACTERS], calls=calls, forced=forced, called=None if calls else [])


def salvaged(question: Question) -> Answer | None:
    """The answer of a model that was forced to respond and did not: the message of an invalid `respond` call, or the
    last plain text of the model. None where it said nothing.
    """
    wrong = [call.arguments for call in question.steps[-1].calls if call.name == tools.RESPOND]
    for arguments in (contract.json_object(text) for text in wrong):
        message = arguments.get("message")
        if isinstance(message, str) and message.strip():
            return _plain(question, message, arguments.get("expression"))
    texts = [contract.without_thinking(step.text) for step in reversed(question.steps)]
    message = next((text for text in texts if text), None)
    return _plain(question, message, None) if message else None


def _plain(question: Question, message: str, expression: object) -> Answer:
    faces: dict[object, Expression] = {name: name for name in EXPRESSIONS}
    message = message.strip()
    cut = message if len(message) <= MESSAGE_CHARACTERS else message[: MESSAGE_CHARACTERS - 1] + "…"
    face = faces.get(expression, "neutral") if isinstance(expression, str) else "neutral"
    return Answer(expression=face if question.expression else None, message=cut)

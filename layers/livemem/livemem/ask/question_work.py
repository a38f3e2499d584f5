"""Asking, and the steps of a question: the job that answers it.

Each answer of the model is stored before its calls are done, and their results before the model is asked again. So a
worker that resumes the question never repeats an answered model call. Calls that store something carry an id made of
their place, so that they take effect once. A lease makes the questions of one user wait for each other: it keeps their
order and saves money. A compare-and-swap on the question keeps two workers apart.

A request asks the model itself only where the answer can be expected before the request's time is over (`Pace`). Else
an invocation that has the time asks, and the request waits for it. So no call is cut off, and then paid for again.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from livemem import limits
from livemem.ask import prompt, question, sessions, tools
from livemem.ask.arguments import MESSAGE_CHARACTERS
from livemem.ask.question import EXPRESSIONS, Answer, AskedCall, AskRequest, Expression, Question, Step
from livemem.errors import (
    Busy,
    InvalidRequest,
    LiveMemoryError,
    NotConfigured,
    OutOfTime,
    PreconditionLost,
    RunError,
    StillAtWork,
)
from livemem.jobs import budget, places, shares, worker
from livemem.jobs import job as jobs
from livemem.jobs.budget import Meter
from livemem.jobs.lease import LeasePlace
from livemem.jobs.shares import AT_ONCE, Share, Waited
from livemem.jobs.worker import End, Kind, Wait, Work, Worked
from livemem.llm import contract
from livemem.llm.answering import OUT_OF_TIME, NoAnswer, call_model
from livemem.llm.tool_calling import ToolReply
from livemem.process import Process, Timer
from livemem.spaces import caps, due_index
from livemem.spaces import head as heads
from livemem.store import keys, timing
from livemem.store.bucket import QUESTION
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

BEFORE_THE_END = timedelta(seconds=30)
"""Time of an invocation that is kept to store the answers."""
MORE_WORK = timedelta(seconds=60)
"""How long an invocation waits for an earlier question of the user. Then Lambda delivers it again."""
LATER = "Ask again on the next day, or as soon as more tokens are available."
NO_ANSWER = "The LLM did not answer the question, although it had no other step left."
NO_TIME = "The LLM did not answer in the time that an invocation has."
SESSION_ENDED = "The session that the question continues has ended in the meantime. Ask again without `session`."
KNOWN = 3
"""Answers, the last ones, that count."""
HEADROOM = 1.5
"""The next answer may take so many times as long as the longest of these."""
SHORTEST_ASK = 3.0
"""Seconds below which asking is pointless."""
EMPTY = "llm_empty"
KEPT_CHARACTERS = 50_000
"""Of a text, or of the arguments of a call. Nothing longer is valid, and all of it is sent again with each turn."""


class Pace:
    """Seconds that the last answers took in this process. Nothing fits where none is known."""

    def __init__(self, _: Timer) -> None:
        self._took = deque[float](maxlen=KNOWN)

    def add(self, seconds: float) -> None:
        """Count an answer, or how long none has come."""
        self._took.append(seconds)

    def fits(self, seconds: float) -> bool:
        """Whether an answer can be expected within so many seconds."""
        return bool(self._took) and seconds >= HEADROOM * max(self._took)


def ask(
    process: Process,
    space_id: str,
    author: str,
    request: AskRequest,
    *,
    may_write: bool,
    until: datetime,
    idempotency_key: str | None = None,
    pause: Callable[[float], None] = time.sleep,
    alone: bool = False,
) -> Worked[Question]:
    """Answer a question as far as the time until `until` allows. Another invocation does the rest, and the answer is
    waited for until then. It does all of it where the model can't be expected to answer in that time (Pace).
    `alone`: there is no other invocation.

    In a process that knows the space 27 requests, of which 4 are LISTs, where the model answers at once; without
    `may_write` 17. In a session that goes on 1 GET more for each turn so far. With `session` 2 GETs more. `room` as in
    `prompt.first_message`. Each further answer of the model 3 PUTs, and the requests of its tools. While it waits
    2 GETs a second.

    A repeat with the same key returns the state of the first question. A failed question resumes where it failed.
    Without `may_write` (of the token named `author`) no session is read or kept. Raises NotConfigured without an LLM,
    NotFound (space, session), UserNotAllowed, InvalidRequest, TooLarge, StoreUnavailable and other LiveMemoryErrors
    after which a repeat may succeed.
    """
    request.check_user(author, may_write=may_write)
    request = _checked(process, request, idempotency_key)
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    saved = _take_down(process, space_id, author, request, idempotency_key, may_write=may_write)
    request_id = saved.value.job_id
    if saved.value.ended():
        return Worked("ended", saved)
    if not (alone or _fits(process, until)):
        _queue(process, saved)
        return _awaited(process, Worked("unfinished", saved), until, pause)
    try:
        worked = worker.work(
            process,
            KIND,
            space_id,
            request_id,
            until,
            by_hand=True,
            brief=not alone,
            current=saved,
            wait=Wait(until, pause),
        )
    except (Busy, StillAtWork):
        _queue(process, saved)
        return Worked("unfinished", saved)
    # The question is gone where somebody deletes the space right now.
    return _awaited(process, replace(worked, stored=worked.stored or saved), until, pause)


def _fits(process: Process, until: datetime) -> bool:
    return process.cache(Pace).fits((until - process.clock()).total_seconds())


def _queue(process: Process, saved: Stored[Question]) -> None:
    # Where the question can't be queued, the sweep finds it in the due index.
    with suppress(LiveMemoryError):
        worker.queue(process, KIND, saved.value.space_id, saved.value.job_id)


def _awaited(
    process: Process, worked: Worked[Question], until: datetime, pause: Callable[[float], None]
) -> Worked[Question]:
    """The question when another invocation has answered it, if that is before `until`."""
    while worked.result == "unfinished" and process.clock() + timedelta(seconds=worker.PAUSE) < until:
        pause(worker.PAUSE)
        assert worked.job
        saved = question.find(process, worked.job.space_id, worked.job.job_id)
        if not saved:
            break
        worked = replace(worked, result="ended" if saved.value.ended() else "unfinished", stored=saved)
        if saved.value.ended():
            process.cache(Pace).add(saved.value.slowest)
    return worked


def carry_on(
    process: Process,
    space_id: str,
    request_id: str,
    deadline: datetime,
    *,
    pause: Callable[[float], None] = time.sleep,
    waited: Waited = AT_ONCE,
) -> Worked[Question]:
    """Resume a question, until shortly before `deadline`, when the invocation ends. If other work waits for a slot, and
    its space has as many questions in progress as it may have, it is called later.

    Raises InvalidName, StoreUnavailable, and StillAtWork where another worker answers this question or another one of
    the user, so that Lambda tries again.
    """
    keys.check_space_id(space_id)
    saved = question.find(process, space_id, request_id) if heads.find(process, space_id) else None
    if not saved or saved.value.ended():
        caps.end_question(process, space_id, request_id)
        return Worked("ended" if saved else "gone", saved)
    most = process.settings.work_at_once_per_space
    share = Share("ask", space_id, request_id, most, lambda other: KIND.payload(space_id, other))
    with shares.shared(process, share, waited) as may_begin:
        return _carry_on(process, saved, deadline, pause) if may_begin else Worked("waiting", saved)


def _carry_on(
    process: Process, saved: Stored[Question], deadline: datetime, pause: Callable[[float], None]
) -> Worked[Question]:
    space_id, request_id, until = saved.value.space_id, saved.value.job_id, deadline - BEFORE_THE_END
    wait = Wait(min(until, process.clock() + MORE_WORK), pause)
    try:
        worked = worker.work(process, KIND, space_id, request_id, until, by_hand=True, current=saved, wait=wait)
    except Busy as busy:
        raise StillAtWork(busy.detail) from busy
    if worked.result == "overtaken" and worked.job and not worked.job.ended():
        raise StillAtWork("Another worker continues the question.")
    return worked


def _checked(process: Process, request: AskRequest, idempotency_key: str | None) -> AskRequest:
    request.check()
    if idempotency_key is not None and not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"must have 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    if not process.settings.llmaas_api_url:
        raise NotConfigured("No question can be answered: LLMAAS_API_URL is not set.")
    return request.redacted()


def _take_down(
    process: Process, space_id: str, author: str, request: AskRequest, idempotency_key: str | None, *, may_write: bool
) -> Stored[Question]:
    """The question in the bucket: 1 GET and 3 PUTs, with a key 1 GET before. Raises CapReached where too many questions
    are being answered.
    """
    request_id = (
        question.request_of(author, idempotency_key, may_write=may_write) if idempotency_key else process.new_id()
    )
    existing = question.find(process, space_id, request_id) if idempotency_key else None
    if not existing:
        user = request.user or author
        sessions.check(process, space_id, user if may_write else None, request.session)
        caps.begin_question(process, space_id, request_id, author)
        _open(process, space_id, request_id)
        new = question.new(process, space_id, request_id, author, request, may_write=may_write)
        existing, fresh = question.write_new(process, new)
        if fresh:
            return existing
    question.check_same(existing.value, author, request)
    if existing.value.status == "failed":
        caps.begin_question(process, space_id, request_id, author)
        _open(process, space_id, request_id)
        with suppress(PreconditionLost):
            existing = jobs.change(process, existing, status="queued", attempt=0, error=None, ended_at=None)
    return existing


def _open(process: Process, space_id: str, request_id: str) -> None:
    """Enter the question in the due index, so that the sweep resumes it if no worker does: 1 PUT."""
    due_index.leave_at(process, space_id, "question", request_id, process.clock() + timing.DEAD_AFTER)


def _turn(work: Work[Question]) -> None:
    """Do the calls of the model's last answer, or ask for the next one."""
    process, job = work.process, work.job
    last = job.steps[-1] if job.steps else None
    if last and last.called is None:
        called, answer = tools.carry_out(process, job.space_id, job, work.deadline)
        work.save(steps=[*job.steps[:-1], last.model_copy(update={"called": called})], answer=answer)
    elif last and last.forced:
        salvage = salvaged(job)
        if not salvage:
            raise RunError("llm_no_answer", NO_ANSWER)
        work.save(answer=salvage)
    else:
        if work.brief and not _fits(process, work.deadline):
            raise OutOfTime("Another invocation has the time in which the model answers.")
        begun = process.timer()
        with budget.metered(process, job.space_id, LATER) as meter:
            try:
                step = next_step(process, meter, job, work.deadline)
            except NoAnswer as error:
                if error.code == OUT_OF_TIME:
                    process.cache(Pace).add(process.timer() - begun)
                raise
            finally:
                work.used += meter.used
            took = process.timer() - begun
            process.cache(Pace).add(took)
            slowest = max(job.slowest, took)
            work.save(steps=[*job.steps, step], usage=job.usage + meter.used, slowest=slowest)


def must_respond(question: Question) -> bool:
    """Whether the model must respond now: it has had its turns, or its last answer called no tool."""
    steps = question.steps
    return len(steps) >= prompt.TURNS or bool(steps and not steps[-1].calls)


def next_step(process: Process, meter: Meter, question: Question, until: datetime) -> Step:
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


class _Questions(Kind[Question]):
    """A question."""

    name = "question"
    function = "ask"
    document = Question
    keeps_place = False
    swept = True

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return QUESTION.key(space_id, job_id)

    def place(self, job: Question) -> LeasePlace:
        return places.of_session(job.space_id, job.user)

    def is_final(self, error: LiveMemoryError) -> bool:
        # The user may ask again, with the same key.
        return isinstance(error, RunError)

    def on_failure(self, work: Work[Question], error: LiveMemoryError) -> Mapping[str, Any]:
        return {"usage": work.job.usage + error.used} if isinstance(error, NoAnswer) else {}

    def on_end(self, work: Work[Question]) -> None:
        caps.end_question(work.process, work.job.space_id, work.job.job_id)

    def on_take(self, work: Work[Question]) -> Mapping[str, Any]:
        """Settle the conversation that the question is part of, if any, and the first message to the model."""
        process, job = work.process, work.job
        if job.opening is not None:
            return {}
        if not job.may_write:
            return prompt.first_message(process, job.space_id, job, [])
        current, former = sessions.of(process, job.space_id, job.user)
        if job.session is not None and job.session != current:
            raise RunError("session_ended", SESSION_ENDED)
        exchanges = sessions.so_far(process, job.space_id, current) if current else []
        opening = prompt.first_message(process, job.space_id, job, exchanges)
        return {"conversation_id": current or process.new_id(), "former": former, **opening}

    def step(self, work: Work[Question]) -> End:
        """Let the model take its turns until it responds, and keep the session. Raises RunError, OutOfTime.

        Only calls of the model and of tools are checked against the deadline. Once answered, the question ends in this
        invocation.
        """
        try:
            while not work.job.answer:
                _turn(work)
        except RunError as error:
            if error.code != OUT_OF_TIME:
                raise
            if work.brief or work.saved:
                raise OutOfTime(error.detail) from error
            # A question without progress in a whole invocation would make none in the next one.
            raise RunError(OUT_OF_TIME, NO_TIME) from error
        if work.job.may_write:
            sessions.keep(work.process, work.job.space_id, work.job)
        return End(changes={"steps": work.job.without_results().steps, "opening": None, "known": []})


KIND = _Questions()

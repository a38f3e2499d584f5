"""Asking, and going on with a question that took longer or whose worker died.

Each answer of the model is stored before its calls are done, and what they gave before the model is asked again. So
whoever goes on asks nothing again that was answered; and calls that store something carry an id made of their place, so
that they are done once. The questions of one user are answered one after the other, by a lease: it keeps their order
and saves money, while a compare-and-swap on the question keeps two workers apart.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock, limits
from livemem.ask import context, question, sessions, tools, turns
from livemem.ask.question import Question, Wanted
from livemem.errors import Busy, InvalidRequest, LiveMemoryError, NotConfigured, PreconditionLost, RunError, StillAtWork
from livemem.jobs import budget, lease, places
from livemem.jobs import job as jobs
from livemem.jobs.job import Failure
from livemem.jobs.lease import Held
from livemem.llm.answering import OUT_OF_TIME, NoAnswer
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import caps, due_index
from livemem.spaces import head as heads
from livemem.store import ask_keys as keys
from livemem.store import keys as all_keys
from livemem.store import timing
from livemem.store.probe import require_conditional_writes
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

Pause = Callable[[float], None]
Result = Literal["done", "failed", "unfinished", "gone"]

BEFORE_THE_END = timedelta(seconds=30)
"""Time of an invocation that is kept to store what was answered."""
PAUSE = 0.5
"""Seconds between two looks whether the user's question before is answered."""
MORE_WORK = timedelta(seconds=60)
"""How long an invocation of its own waits for that, before it is delivered again."""
LATER = "Ask again on the next day, or as soon as there is more."
NO_ANSWER = "The LLM did not respond, although nothing else was left to do."
SESSION_ENDED = "The session that was to go on has ended meanwhile: ask without it."


@dataclass(frozen=True)
class Outcome:
    """The question as it stands, and what this very invocation asked of the LLM. `unfinished`: it goes on."""

    result: Result
    question: Question | None = None
    used: Usage = field(default_factory=Usage)

    @property
    def told(self) -> Question:
        """The question, which whoever asked it always gets."""
        assert self.question
        return self.question


@dataclass
class _Task:
    """A question that somebody works on until a moment; `moved`: it has come further since."""

    process: Process
    space_id: str
    saved: Stored[Question]
    until: datetime
    used: Usage = field(default_factory=Usage)
    moved: bool = False

    @property
    def question(self) -> Question:
        return self.saved.value

    def change(self, **changes: Any) -> None:
        self.saved = jobs.change(self.process, self.saved, **changes)
        self.moved = True

    def outcome(self) -> Outcome:
        return Outcome(_result(self.question), self.question, self.used)

    def payload(self) -> dict[str, str]:
        return {"space_id": self.space_id, "request_id": self.question.job_id}


def _result(asked: Question) -> Result:
    return asked.status if asked.status in ("done", "failed") else "unfinished"


def ask(
    process: Process,
    space_id: str,
    author: str,
    wanted: Wanted,
    *,
    may_write: bool,
    until: datetime,
    idempotency_key: str | None = None,
    pause: Pause = time.sleep,
) -> Outcome:
    """Answer a question as far as there is time; an invocation of its own does the rest.

    A repeat with the same key gives what became of the first; one that failed is tried again from where it failed.
    Without `may_write` (of the token named `author`) it stands alone: no session is read or kept. Raises NotConfigured
    without an LLM, NotFound (space, session), UserNotAllowed, InvalidRequest, TooLarge, StoreUnavailable and other
    LiveMemoryErrors that a repeat may get over.
    """
    wanted.check_user(author, may_write=may_write)
    wanted = _checked(process, wanted, idempotency_key)
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    saved, fresh = _take_down(process, space_id, author, wanted, idempotency_key, may_write=may_write)
    if saved.value.ended():
        return Outcome(_result(saved.value), saved.value)
    task = _Task(process, space_id, saved, until)
    try:
        held = _take_turn(task, until, pause, fresh=fresh)
    except Busy:
        return _hand_over(task)
    try:
        _work(task, held)
    except PreconditionLost:
        task.saved = question.find(process, space_id, saved.value.job_id) or task.saved
        return task.outcome()
    return task.outcome() if task.question.ended() else _hand_over(task)


def carry_on(
    process: Process, space_id: str, request_id: str, deadline: datetime, *, pause: Pause = time.sleep
) -> Outcome:
    """Go on with a question until shortly before `deadline`, when the invocation ends.

    Raises StillAtWork where another question of the user is answered now, or this very one, so that Lambda tries again;
    InvalidName, StoreUnavailable.
    """
    all_keys.check_space_id(space_id)
    require_conditional_writes(process.store)
    saved = question.find(process, space_id, request_id) if heads.find(process, space_id) else None
    if not saved or saved.value.ended():
        _close(process, space_id, request_id)
        return Outcome(_result(saved.value), saved.value) if saved else Outcome("gone")
    task = _Task(process, space_id, saved, deadline - BEFORE_THE_END)
    try:
        held = _take_turn(task, min(task.until, process.clock() + MORE_WORK), pause, fresh=False)
        _work(task, held)
    except Busy as busy:
        raise StillAtWork(busy.detail) from busy
    except PreconditionLost as overtaken:
        raise StillAtWork(overtaken.detail) from overtaken
    if task.question.ended():
        return task.outcome()
    if not task.moved:
        # Who gets nowhere in a whole invocation would get nowhere in the next one.
        _fail(task, RunError(OUT_OF_TIME, "The LLM did not answer in the time that an invocation has."))
        return task.outcome()
    return _hand_over(task)


def _checked(process: Process, wanted: Wanted, idempotency_key: str | None) -> Wanted:
    wanted.check()
    if idempotency_key is not None and not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    if not process.settings.llmaas_api_url:
        raise NotConfigured("Nobody can be asked: LLMAAS_API_URL is not set.")
    return wanted.redacted()


def _take_down(
    process: Process, space_id: str, author: str, wanted: Wanted, idempotency_key: str | None, *, may_write: bool
) -> tuple[Stored[Question], bool]:
    """The question in the bucket, and whether it is new there: 1 GET and 3 PUTs, with a key 1 GET before. Raises
    CapReached where too many are answered now.
    """
    request_id = keys.request_of(author, idempotency_key, may_write=may_write) if idempotency_key else process.new_id()
    there = question.find(process, space_id, request_id) if idempotency_key else None
    if not there:
        user = wanted.user or author
        sessions.check(process, space_id, user if may_write else None, wanted.session)
        caps.begin_question(process, space_id, request_id, author)
        _open(process, space_id, request_id)
        asked = question.new(process, space_id, request_id, author, wanted, may_write=may_write)
        there, fresh = question.write_new(process, asked)
        if fresh:
            return there, True
    question.check_same(there.value, author, wanted)
    if there.value.status == "failed":
        caps.begin_question(process, space_id, request_id, author)
        _open(process, space_id, request_id)
        with suppress(PreconditionLost):
            there = jobs.change(process, there, status="queued", error=None, ended_at=None)
    return there, False


def _open(process: Process, space_id: str, request_id: str) -> None:
    """See to it that the sweep goes on with the question if nobody else does: 1 PUT."""
    due_index.leave_at(process, space_id, "question", request_id, process.clock() + timing.DEAD_AFTER)


def _close(process: Process, space_id: str, request_id: str) -> None:
    """Nothing is to be done any more: 1 GET and 1 PUT."""
    caps.end_question(process, space_id, request_id)


def _take_turn(task: _Task, until: datetime, pause: Pause, *, fresh: bool) -> Held:
    """The lease of the user's questions, waited for until a moment; raises Busy. What others did to the question until
    then is taken in: 1 GET, unless it is `fresh`.
    """
    process = task.process
    place = places.of_session(task.space_id, task.question.user)
    while True:
        try:
            held = lease.acquire(
                process, place, task.question.job_id, "question", worker=process.new_id(), by_hand=True
            )
            break
        except Busy:
            if process.clock() + timedelta(seconds=PAUSE) >= until:
                raise
            pause(PAUSE)
            fresh = False
    if not fresh:
        try:
            found = question.find(process, task.space_id, task.question.job_id)
        except LiveMemoryError:
            lease.quietly_release(process, held)
            raise
        task.saved = found or task.saved
    return held


def _work(task: _Task, held: Held) -> None:
    """Answer the question, or fail, or stop where there is no time left. Raises StoreUnavailable, and PreconditionLost:
    somebody else has gone on with it.
    """
    try:
        with lease.kept(task.process, held):
            if not task.question.ended():
                _answer(task, held)
    except RunError as error:
        if error.code != OUT_OF_TIME:
            _fail(task, error)
    finally:
        lease.quietly_release(task.process, held)


def _answer(task: _Task, held: Held) -> None:
    if task.question.opening is None or task.question.status != "running":
        _begin(task, held)
    while not task.question.answer:
        _step(task)
    if task.question.may_write:
        sessions.keep(task.process, task.space_id, task.question)
    _end(task, status="done", steps=task.question.without_results().steps, opening=None)
    logger.info("question answered", extra={"space_id": task.space_id, "request_id": task.question.job_id})


def _begin(task: _Task, held: Held) -> None:
    """Settle which conversation it is part of, if any, and what the model is told at first."""
    process, asked = task.process, task.question
    taken = {
        "status": "running",
        "attempt": asked.attempt + 1,
        "worker": held.lease.worker,
        "started_at": asked.started_at or clock.iso_millis(process.clock()),
    }
    if asked.opening is not None:
        task.change(**taken)
        return
    if not asked.may_write:
        task.change(**taken, opening=context.opening(process, task.space_id, asked, []))
        return
    current, former = sessions.of(process, task.space_id, asked.user)
    if asked.session is not None and asked.session != current:
        raise RunError("session_ended", SESSION_ENDED)
    said = sessions.so_far(process, task.space_id, current) if current else []
    opening = context.opening(process, task.space_id, asked, said)
    mine = current or process.new_id()
    task.change(**taken, conversation_id=mine, former=former, opening=opening)


def _step(task: _Task) -> None:
    """Do the calls of the model's last answer, or ask for the next one."""
    process, asked = task.process, task.question
    last = asked.steps[-1] if asked.steps else None
    if last and last.called is None:
        called, answer = tools.carry_out(process, task.space_id, asked, task.until)
        task.change(steps=[*asked.steps[:-1], last.model_copy(update={"called": called})], answer=answer)
    elif last and last.forced:
        salvaged = turns.salvaged(asked)
        if not salvaged:
            raise RunError("llm_no_answer", NO_ANSWER)
        task.change(answer=salvaged)
    else:
        with budget.metered(process, task.space_id, LATER) as meter:
            try:
                step = turns.ask(process, meter, asked, task.until)
            finally:
                task.used += meter.used
            task.change(steps=[*asked.steps, step], usage=asked.usage + meter.used)


def _fail(task: _Task, error: RunError) -> None:
    used = error.used if isinstance(error, NoAnswer) else Usage()
    failure = Failure(code=error.code, detail=error.detail)
    _end(task, status="failed", error=failure, usage=task.question.usage + used)
    extra = {"space_id": task.space_id, "request_id": task.question.job_id, "error_code": error.code}
    logger.warning("question was not answered", extra=extra)


def _end(task: _Task, **changes: Any) -> None:
    task.change(ended_at=clock.iso_millis(task.process.clock()), **changes)
    _close(task.process, task.space_id, task.question.job_id)


def _hand_over(task: _Task) -> Outcome:
    """Leave the rest to an invocation of its own."""
    # Where it can't be queued the sweep finds the question in the due index.
    with suppress(LiveMemoryError):
        task.process.enqueue("ask", task.payload())
    return task.outcome()

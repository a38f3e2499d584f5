"""Sessions: the questions of one user form one conversation, until 15 minutes of silence or 10 questions end it."""

from contextlib import suppress
from datetime import timedelta

from livemem import clock
from livemem.ask.question import Question
from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft, ToolCall, Turn
from livemem.errors import NotFound, ObjectUnreadable, PreconditionLost
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import stored
from livemem.store.bucket import SESSION
from livemem.store.stored import Read, Revised
from livemem.store.stored_documents import Count, Moment

SILENCE = timedelta(minutes=15)
"""A question that comes later than this after the last one begins a new session. By the store's clock."""
QUESTIONS = 10
"""Questions of a session."""
TRIES = 5
GONE = "conversation_not_found"


class Session(Revised):
    """`sessions/{hash of the user}.json`."""

    user: str
    conversation_id: str
    requests: list[str] = []
    """The ids of its questions, so that none counts twice."""
    questions: Count = 0
    last_at: Moment
    """When its last question was answered. Only people read it."""


def of(process: Process, space_id: str, user: str) -> tuple[str | None, str | None]:
    """The conversation of the user's next question (None for a new one), and the user's latest one: 1 or 2 GETs."""
    saved = stored.find(process.store, SESSION.key(space_id, user), _reading(process))
    session = saved.value if saved else None
    if not saved or not session:
        return None, None
    goes_on = _goes_on(saved.age, session) and _is_there(process, space_id, session.conversation_id)
    return session.conversation_id if goes_on else None, session.conversation_id


def _is_there(process: Process, space_id: str, conversation_id: str) -> bool:
    try:
        return conversations.find(process, space_id, conversation_id) is not None
    except ObjectUnreadable:
        # The next question begins a session of its own.
        return False


def check(process: Process, space_id: str, user: str | None, session: str | None) -> None:
    """Raise NotFound unless `session` is the user's session and has not ended. A `user` of None has no session."""
    if session is not None and (user is None or of(process, space_id, user)[0] != session):
        raise NotFound("session", session)


def so_far(process: Process, space_id: str, conversation_id: str) -> list[Turn]:
    """The questions and answers of a session, the oldest first: 1 LIST, 1 GET each."""
    last = log.last_index(process, space_id, conversation_id)
    return log.readable(process, space_id, conversation_id, range(max(1, last - QUESTIONS + 1), last + 1), None)


def keep(process: Process, space_id: str, question: Question) -> None:
    """Append the answered question to its conversation as the last turn. Raises NotFound where the space is gone.

    The first question begins the conversation and closes the user's conversation before it. The last question closes
    this one. The call can be repeated.
    """
    conversation_id = question.conversation_id
    assert conversation_id
    if question.former != conversation_id:
        begun = NewConversation(title=f"Questions of {question.user}")
        conversations.create(process, space_id, question.requested_by, begun, conversation_id)
        if question.former:
            _close(process, space_id, question.former)
    try:
        log.append(process, space_id, conversation_id, question.requested_by, _turn(question))
    except NotFound as error:
        if error.code != GONE:
            raise
        # Somebody has deleted the conversation meanwhile: the answer is the user's all the same.
        return
    if len(_note(process, space_id, question).requests) >= QUESTIONS:
        _close(process, space_id, conversation_id)


def _turn(question: Question) -> Draft:
    assert question.answer
    calls = [
        ToolCall(
            name=call.name,
            arguments=call.arguments,
            # The results remain where the tool found them. Only their ids are kept here.
            result={"error": call.error} if call.error else {"ids": [source.id for source in call.sources]},
            success=call.error is None,
            duration_ms=call.ms,
        )
        for call in question.calls()
    ]
    return Draft(question.message, question.answer.message, calls, question.job_id, user=question.user, asked=True)


def _close(process: Process, space_id: str, conversation_id: str) -> None:
    with suppress(NotFound):
        # Nobody waits for the summaries: the functions that answer questions start none.
        log.close(process, space_id, conversation_id, at_once=False)


def _note(process: Process, space_id: str, question: Question) -> Session:
    """Count the question in the user's session. Returns the session that the question is part of."""
    key = SESSION.key(space_id, question.user)
    for _ in range(TRIES):
        saved = stored.find(process.store, key, _reading(process))
        existing = saved.value if saved else None
        mine = existing if existing and existing.conversation_id == question.conversation_id else None
        if mine and question.job_id in mine.requests:
            return mine
        requests = [*(mine.requests if mine else ()), question.job_id]
        session = Session(
            user=question.user,
            conversation_id=question.conversation_id or "",
            requests=requests,
            questions=len(requests),
            last_at=clock.iso_millis(process.clock()),
        )
        if saved and existing and not mine and _goes_on(saved.age, existing):
            # Another session began while this question was delayed. That one stays the user's.
            return session
        with suppress(PreconditionLost):
            stored.create(process.store, key, session, process.new_id, over=saved)
            return session
    raise PreconditionLost("The session was changed too often at the same time. Try again.")


def _goes_on(age: timedelta, session: Session) -> bool:
    return age < SILENCE and len(session.requests) < QUESTIONS


def _reading(process: Process) -> Read[Session | None]:
    # The document only names the conversation of the last questions. Without it the next question begins a session.
    return lambda document: unreadable.tolerated(process, Session, document)

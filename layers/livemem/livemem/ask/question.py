"""A question with all its steps, as it is stored. A worker that resumes it repeats no model call that was answered."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ulid import ULID

from livemem import clock, limits
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import (
    InvalidRequest,
    NotFound,
    PreconditionLost,
    QuestionBroken,
)
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import keys
from livemem.store.bucket import QUESTION
from livemem.store.stored import Stored
from livemem.store.stored_documents import Count, Finite, Line, StoredDocument
from livemem.text.redaction import Redaction, identifier, redact
from livemem.text.speakers import check_speaker

Expression = Literal[
    "neutral", "happy", "amused", "curious", "thoughtful", "concerned", "surprised", "apologetic", "sad"
]
EXPRESSIONS: tuple[Expression, ...] = get_args(Expression)

MESSAGE_BYTES = 16_000


class AnswerSource(StoredDocument):
    """A result that a tool has shown, and that an answer may name as its source."""

    kind: str
    id: str
    excerpt: str
    at: str | None = None
    """The time when it was said, or last written."""


class Called(StoredDocument):
    """One call of a tool, and its result."""

    name: str
    arguments: Any = None
    shown: dict[str, Any] = {}
    """The result as the model reads it. It is removed when the question is answered."""
    count: Count = 0
    """How many results `shown` holds."""
    sources: list[AnswerSource] = []
    error: str | None = None
    ms: Finite = 0


class AskedCall(StoredDocument):
    """A call as the model wrote it (llm/tool_calling.py)."""

    id: str
    name: str
    arguments: str


class Step(StoredDocument):
    """One answer of the model, and the results of its calls. `called` is None until the calls are done."""

    text: str = ""
    calls: list[AskedCall] = []
    forced: bool = False
    """Whether the model had to respond."""
    called: list[Called] | None = None


class Answer(StoredDocument):
    """The answer that the user gets."""

    expression: Expression | None = None
    """None where it was not asked for."""
    message: str
    sources: list[AnswerSource] = []


class Question(Job):
    """`_asks/{job_id}.json`: a job. Users know its id as the id of the request."""

    kind: Line = "question"
    requested_by: Line
    """The name of the token."""
    may_write: bool
    """Whether the token may write. Otherwise the question has no session, and only this document is kept of it, for the
    token that asked.
    """
    user: str
    message: str
    redacted: dict[str, int] = {}
    """Counts of the secrets that were removed from message and user, by kind."""
    session: str | None = None
    """The conversation that the caller asked to continue."""
    room: str | None = None
    expression: bool = False
    """Whether the caller wants an expression with the answer."""
    conversation_id: str | None = None
    """The conversation that the question is part of. It may not be begun yet."""
    former: str | None = None
    """The user's conversation before this one. It ends when this one begins."""
    opening: str | None = None
    """The first message to the model."""
    known: list[AnswerSource] = []
    """The sources that it shows."""
    steps: list[Step] = []
    slowest: Finite = 0
    """Seconds that the model took for its slowest answer."""
    answer: Answer | None = None

    def calls(self) -> Iterator[Called]:
        """All tool calls that were done, in their order."""
        for step in self.steps:
            yield from step.called or ()

    def without_results(self) -> "Question":
        """The question without the results of the tools, which remain where the tools found them."""
        steps = [
            step.model_copy(update={"called": [call.model_copy(update={"shown": {}}) for call in step.called or ()]})
            for step in self.steps
        ]
        return self.model_copy(update={"steps": steps, "opening": None, "known": []})


@dataclass(frozen=True)
class AskRequest:
    """A question as the caller sends it. It belongs to the session of `user`; None means the token's own name.
    `expression`: whether the answer has one.
    """

    message: str
    user: str | None = None
    session: str | None = None
    room: str | None = None
    expression: bool = False
    found: dict[str, int] = field(default_factory=dict, hash=False, compare=False)
    """Counts of the removed secrets by kind."""

    def redacted(self) -> "AskRequest":
        """The question without what looks like a secret."""
        done = Redaction()
        message, user = done.text(self.message), done.identifier(self.user) if self.user is not None else None
        return replace(self, message=message, user=user, found=done.counted())

    def check(self) -> None:
        """Raise InvalidRequest or TooLarge, which name the field."""
        limits.check_text("message", self.message, MESSAGE_BYTES)
        if self.user is not None:
            check_speaker("user", self.user)
        if self.room is not None:
            keys.check_room(self.room)
            if redact(self.room)[1]:
                raise InvalidRequest.of("room", "looks like a secret, so it can't be the name of a room")
        if self.session is not None:
            keys.check_ulid("session", self.session)

    def check_user(self, author: str, *, may_write: bool) -> None:
        """Raise UserNotAllowed where `user` is not the token's own name, unless the token may write."""
        decision.check_user(author, self.user, may_write=may_write)


def new(
    process: Process, space_id: str, request_id: str, author: str, request: AskRequest, *, may_write: bool
) -> Question:
    """A question that is not written yet."""
    return Question(
        job_id=request_id,
        space_id=space_id,
        requested_by=author,
        may_write=may_write,
        user=request.user or author,
        message=request.message,
        redacted=request.found,
        session=request.session,
        room=request.room,
        expression=request.expression,
        created_at=clock.iso_millis(process.clock()),
    )


def check_same(question: Question, author: str, request: AskRequest) -> None:
    """Raise InvalidRequest where the client used its key for another question before."""
    # The question may have been stored before questions were redacted.
    former = (redact(question.message)[0], identifier(question.user), question.session, question.room)
    fresh = (request.message, identifier(request.user or author), request.session, request.room)
    if (*former, question.expression) != (*fresh, request.expression):
        raise InvalidRequest.of("Idempotency-Key", "was used for another question: choose another key")


def find(process: Process, space_id: str, request_id: str) -> Stored[Question] | None:
    """The question, or None: 1 GET. Raises InvalidName, QuestionBroken."""
    key = QUESTION.key(space_id, request_id)
    return jobs.find(
        process,
        key,
        lambda document: unreadable.parsed(process, Question, document, QuestionBroken),
        space_id,
        request_id,
    )


def load(process: Process, space_id: str, request_id: str, reader: str) -> Question:
    """The question: 1 GET, and 1 for the space where this process has not read it lately. Raises InvalidName, NotFound.

    A question that was asked with `read` alone is visible to its author alone. `reader` is the name of the token.
    """
    keys.check_request_id(request_id)
    heads.load_recent(process, space_id)
    saved = find(process, space_id, request_id)
    if not saved or not (saved.value.may_write or saved.value.requested_by == reader):
        raise NotFound("question", request_id)
    return saved.value


def of_question(question: Question) -> Description:
    """The question as a job. Its subject is its conversation."""
    return replace(describable.of_job("question", question), subject=question.conversation_id, result=question)


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The question as a job, with the requests of `load`. Raises as `load`, and QuestionBroken."""
    return of_question(load(process, space_id, name, caller.name))


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> list[tuple[int, str]]:
    """When questions were written last, and their ids, the newest first: 1 LIST per 1,000. Ids made of a client's key
    hold no time.
    """
    entries = process.store.scan(QUESTION.prefix(space_id))
    moments = ((int(entry.last_modified.timestamp() * 1_000), QUESTION.last(entry.key)) for entry in entries)
    return sorted(((moment, request_id) for moment, request_id in moments if request_id), reverse=True)


def write_new(process: Process, question: Question) -> tuple[Stored[Question], bool]:
    """Write a question for the first time: 1 PUT. Returns the stored question, and whether this call wrote it."""
    try:
        return jobs.create(process, QUESTION.key(question.space_id, question.job_id), question), True
    except PreconditionLost:
        existing = find(process, question.space_id, question.job_id)
    if not existing:
        # Somebody deletes the space right now.
        raise NotFound("space", question.space_id)
    return existing, False


def request_of(author: str, idempotency_key: str, *, may_write: bool = True) -> str:
    """The id of the question that a token of this name asks under the client's key. The same input gives the same id.

    Names are not unique, so a token that may only read never meets the question of a namesake that may write.
    """
    parts = [author, idempotency_key, *([] if may_write else ["read"])]
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return str(ULID.from_bytes(digest[:16]))

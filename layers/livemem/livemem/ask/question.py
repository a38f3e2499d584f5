"""A question with all that was done about it, as it is stored: so who goes on with it asks and does nothing twice."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from livemem import clock, limits
from livemem.errors import (
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    PreconditionLost,
    QuestionBroken,
    UserNotAllowed,
)
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import ask_keys as keys
from livemem.store import documents, room_keys
from livemem.store import keys as all_keys
from livemem.store.documents import Count, Document, Finite, Moment
from livemem.text.redaction import Redaction, identifier, redact

Status = Literal["queued", "running", "done", "failed"]
Expression = Literal[
    "neutral", "happy", "amused", "curious", "thoughtful", "concerned", "surprised", "apologetic", "sad"
]
EXPRESSIONS: tuple[Expression, ...] = get_args(Expression)

MESSAGE_BYTES = 16_000
USER_BYTES = 200


class Overtaken(LiveMemoryError):
    """Somebody else has gone on with the question. No user meets it."""


class Source(Document):
    """Something that a tool has shown: what an answer may rest on."""

    kind: str
    id: str
    excerpt: str


class Called(Document):
    """One call of a tool, and what came of it."""

    name: str
    arguments: Any = None
    shown: dict[str, Any] = {}
    """What the model reads of it; taken out when the question is answered."""
    count: Count = 0
    """How many results that are."""
    sources: list[Source] = []
    error: str | None = None
    ms: Finite = 0


class AskedCall(Document):
    """A call as the model wrote it (llm/tools.py)."""

    id: str
    name: str
    arguments: str


class Step(Document):
    """One answer of the model, and what its calls gave: None as long as they are to be done."""

    text: str = ""
    calls: list[AskedCall] = []
    forced: bool = False
    """Whether it had to respond."""
    called: list[Called] | None = None


class Answer(Document):
    """What the user gets."""

    expression: Expression
    message: str
    sources: list[Source] = []


class Problem(Document):
    """Why there is no answer."""

    code: str
    detail: str


class Question(Document):
    """`_asks/{request_id}.json`."""

    request_id: str
    status: Status = "queued"
    author: str
    """The name of the token."""
    may_write: bool
    """Without it the question is of no session: nothing of it is kept but this document, for who asked it."""
    user: str
    message: str
    redacted: dict[str, int] = {}
    """What was taken out of message and user, by kind."""
    session: str | None = None
    """The conversation that it was to continue."""
    room: str | None = None
    created_at: Moment
    ended_at: Moment | None = None
    conversation_id: str | None = None
    """The conversation that it is part of; it may still have to be begun."""
    former: str | None = None
    """The user's conversation before, which ends with it."""
    opening: str | None = None
    """What the model is told at first."""
    steps: list[Step] = []
    answer: Answer | None = None
    error: Problem | None = None
    usage: Usage = Usage()

    def ended(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.status in ("done", "failed")

    def calls(self) -> Iterator[Called]:
        """All calls of tools that were done, in their order."""
        for step in self.steps:
            yield from step.called or ()

    def without_results(self) -> "Question":
        """The same without what the tools gave, which lies where they found it."""
        steps = [
            step.model_copy(update={"called": [one.model_copy(update={"shown": {}}) for one in step.called or ()]})
            for step in self.steps
        ]
        return self.model_copy(update={"steps": steps, "opening": None})


@dataclass(frozen=True)
class Wanted:
    """What is asked. `user`: whose session it belongs to; None for the token's own."""

    message: str
    user: str | None = None
    session: str | None = None
    room: str | None = None
    found: dict[str, int] = field(default_factory=dict, hash=False, compare=False)
    """What was taken out of it, by kind."""

    def redacted(self) -> "Wanted":
        """The question without what looks like a secret."""
        done = Redaction()
        message, user = done.text(self.message), done.identifier(self.user) if self.user is not None else None
        return replace(self, message=message, user=user, found=done.counted())

    def check(self) -> None:
        """Raise InvalidRequest or TooLarge, which name the field."""
        limits.check_text("message", self.message, MESSAGE_BYTES)
        if self.user is not None:
            limits.check_text("user", self.user, USER_BYTES)
        if self.room is not None:
            room_keys.check_room(self.room)
            if redact(self.room)[1]:
                raise InvalidRequest.of("room", "looks like a secret, which is no name for a room")
        if self.session is not None:
            all_keys.check_ulid("session", self.session)

    def check_user(self, author: str, *, may_write: bool) -> None:
        """Raise UserNotAllowed for another user than the token's own name, unless the token may write."""
        if not may_write and self.user not in (None, author):
            raise UserNotAllowed(
                f"With `read` alone the token {author!r} asks in its own name: leave `user` out. "
                "A token that may `write` can ask for others."
            )


@dataclass(frozen=True)
class Saved:
    """A question as it lies in the bucket."""

    space_id: str
    question: Question
    etag: str


def new(process: Process, request_id: str, author: str, wanted: Wanted, *, may_write: bool) -> Question:
    """A question that is not written yet."""
    return Question(
        request_id=request_id,
        author=author,
        may_write=may_write,
        user=wanted.user or author,
        message=wanted.message,
        redacted=wanted.found,
        session=wanted.session,
        room=wanted.room,
        created_at=clock.iso_millis(process.clock()),
    )


def check_same(question: Question, author: str, wanted: Wanted) -> None:
    """Raise InvalidRequest where the client's key has come with another question before."""
    # It may have been stored before questions were redacted.
    there = (redact(question.message)[0], identifier(question.user), question.session, question.room)
    if there != (wanted.message, identifier(wanted.user or author), wanted.session, wanted.room):
        raise InvalidRequest.of("Idempotency-Key", "was used for another question")


def find(process: Process, space_id: str, request_id: str) -> Saved | None:
    """The question, or None: 1 GET. Raises InvalidName, QuestionBroken."""
    found = process.store.get(keys.question(space_id, request_id))
    if not found:
        return None
    return Saved(space_id, unreadable.parsed(process, Question, found, QuestionBroken), found.etag)


def load(process: Process, space_id: str, request_id: str, reader: str) -> Question:
    """The question: 1 GET, and that of the space where this process has not seen it lately. Raises InvalidName,
    NotFound; one that was asked with `read` alone is there for its author alone (`reader`: the name of the token).
    """
    keys.check_request_id(request_id)
    heads.load_recent(process, space_id)
    found = find(process, space_id, request_id)
    if not found or not (found.question.may_write or found.question.author == reader):
        raise NotFound("question", request_id)
    return found.question


def write_new(process: Process, space_id: str, question: Question) -> Saved:
    """Write a question for the first time; if it is there already, that one. 1 PUT."""
    key, body = keys.question(space_id, question.request_id), question.to_bytes()
    try:
        etag = process.store.put(key, body, if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        there = find(process, space_id, question.request_id)
        if not there:
            # Somebody deletes the space right now.
            raise NotFound("space", space_id) from None
        return there
    return Saved(space_id, question, etag)


def save(process: Process, saved: Saved, question: Question) -> Saved:
    """Write the question over the one that was read: 1 PUT. Raises Overtaken."""
    key, body = keys.question(saved.space_id, question.request_id), question.to_bytes()
    try:
        etag = process.store.put(key, body, if_match=saved.etag, content_type=documents.JSON)
    except PreconditionLost:
        there = process.store.get(key)
        # Perhaps our own first try, whose answer was lost.
        if not there or there.body != body:
            raise Overtaken("Somebody else has gone on with this question.") from None
        etag = there.etag
    return Saved(saved.space_id, question, etag)


def change(process: Process, saved: Saved, **changes: Any) -> Saved:
    """Write the question with some fields changed: 1 PUT. Raises Overtaken."""
    return save(process, saved, saved.question.model_copy(update=changes))

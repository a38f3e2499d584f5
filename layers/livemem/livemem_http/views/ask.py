"""Questions as requests and answers."""

from typing import Annotated, Any, Literal

from livemem import limits
from livemem.ask.question import (
    EXPRESSIONS,
    MESSAGE_BYTES,
    Answer,
    AnswerSource,
    AskRequest,
    Called,
    Question,
)
from livemem.limits import SPEAKER_BYTES
from livemem.store import keys
from livemem_http.views.fields import (
    Body,
    Moment,
    Redacted,
    View,
    described,
)

Session = Annotated[str, described("The conversation that the question is part of.", "01KHXE5Q2V8R0M4T6W9YBNCD3G")]
IdempotencyKey = Annotated[
    str,
    described(
        "A name of your own for the question. A repeat with the same name returns the first question, and "
        "resumes it from the failed step if it failed. The same name with another question is refused "
        "(422).",
        "job-17-step-3",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


class NewQuestion(Body):
    """A question to the agent that answers from the memory of the space."""

    message: Annotated[
        str, described("The question.", "Who looks after the ferry timetable?", minLength=1, maxLength=MESSAGE_BYTES)
    ]
    user: Annotated[
        str | None,
        described(
            "The person who asks. The agent sees this name. The questions of one user form a session, which "
            "ends after 15 minutes of silence or 10 questions. They are answered one after the other. "
            "Default: the name of the token. With `read` alone, any other user is refused with 403 "
            "(`user_not_allowed`).",
            "ines",
            minLength=1,
            maxLength=SPEAKER_BYTES,
        ),
    ] = None
    session: Annotated[
        str | None,
        described(
            "The session that the question must continue. A session that has ended, or that belongs to "
            "another user, is refused with 404. With `read` alone there are no sessions."
        ),
    ] = None
    room: Annotated[
        str | None,
        described(
            "A room whose messages are added to the context: the newest messages, and those about the same subject. "
            "Default: those about the same subject in all rooms.",
            "salon",
            pattern=f"^{keys.ROOM.pattern}$",
        ),
    ] = None

    expression: Annotated[
        bool, described("Whether the answer has an `expression`, for a caller who shows a face.", False)
    ] = False

    def wanted(self) -> AskRequest:
        """The question for the domain."""
        return AskRequest(self.message, self.user, self.session, self.room, self.expression)


class SourceView(View):
    """A source of the answer: the agent was shown it for this question, at the beginning or by a tool."""

    kind: Annotated[
        str,
        described(
            "The kind of source: a memory (`fact`, `self`, `goal`), a note (`note`, `archive`), a section of "
            "the bank (`bank`), part of a conversation (`turn`, `summary`), or a message of a room (`message`). Of "
            "what the agent read by an id also `rules` and `synthesis`.",
            "fact",
        ),
    ]
    id: Annotated[
        str, described("The id of the source, as search and the memory routes return it.", "01KHXD0B7C2R0M4T6W9YBNCD3F")
    ]
    excerpt: Annotated[
        str,
        described("The beginning of the source, or its best matching part.", "Ines looks after the ferry timetable."),
    ]
    at: Annotated[
        Moment | None, described("The time when it was said, or last written, UTC.", "2026-02-20T14:00:00.010Z")
    ] = None

    @classmethod
    def of(cls, source: AnswerSource) -> "SourceView":
        return cls(kind=source.kind, id=source.id, excerpt=source.excerpt, at=source.at)


class CallView(View):
    """A tool that was called."""

    name: Annotated[str, described("The name of the tool.", "search_memories")]
    arguments: Annotated[Any, described("The arguments of the call.", {"query": "ferry timetable"})] = None
    results: Annotated[int, described("Number of results that the tool returned.", 1)]
    ms: Annotated[float, described("Duration of the call in milliseconds.", 41.5)]
    error: Annotated[str | None, described("The error, if the call was wrong.")] = None

    @classmethod
    def of(cls, called: Called) -> "CallView":
        return cls(name=called.name, arguments=called.arguments, results=called.count, ms=called.ms, error=called.error)


class QuestionResult(View):
    """A question and, once it is answered, the answer."""

    kind: Annotated[Literal["question"], described("The kind of work.", "question")] = "question"
    question: Annotated[str, described("The question.", "Who looks after the ferry timetable?")]
    user: Annotated[str, described("The person who asked.", "ines")]
    room: Annotated[str | None, described("The room whose messages were added to the context.", "salon")] = None
    expression: Annotated[
        str | None,
        described(
            "The facial expression of the agent while it says the answer, if that was asked for.",
            "happy",
            enum=list(EXPRESSIONS),
        ),
    ] = None
    message: Annotated[str | None, described("The answer.", "Ines looks after it.")] = None
    sources: Annotated[list[SourceView] | None, described("The sources that the answer rests on.")] = None
    tool_calls: Annotated[list[CallView], described("The called tools, in the order of the calls.")]
    session: Session | None = None
    redacted: Redacted = None

    @classmethod
    def of(cls, question: Question) -> "QuestionResult":
        # Until the conversation has it, the answer may still be lost with it.
        answer = question.answer if question.status == "done" else None
        return cls(
            question=question.message,
            user=question.user,
            room=question.room,
            **_answer(answer),
            tool_calls=[CallView.of(one) for one in question.calls()],
            session=question.conversation_id,
            redacted=question.redacted or None,
        )


def _answer(answer: Answer | None) -> dict[str, Any]:
    if not answer:
        return {}
    sources = [SourceView.of(one) for one in answer.sources]
    return {"expression": answer.expression, "message": answer.message, "sources": sources}

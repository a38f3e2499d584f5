"""Turns of conversations as requests and answers."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from livemem import clock
from livemem.conversations import reading
from livemem.conversations.log import Appended, Closed
from livemem.conversations.turn import (
    MESSAGE_ID_CHARACTERS,
    NAME_CHARACTERS,
    TOOL_CALLS,
    Draft,
    Role,
    ToolCall,
    Turn,
)
from livemem.conversations.turn_import import Imported
from livemem.limits import BODY_BYTES, SPEAKER_BYTES
from livemem_http.views.conversations import TurnIndex
from livemem_http.views.fields import Agent, Body, Gapped, Moment, NextCursor, Redacted, View, described

MessageId = Annotated[
    str,
    described(
        "A name of your own for the message, unique in its conversation: a repeat of it answers 200 with the turn that "
        "is there and writes nothing; with another text it is refused (422).",
        "m-7",
        minLength=1,
        maxLength=MESSAGE_ID_CHARACTERS,
    ),
]
UserMessage = Annotated[
    str, described("What the user said.", "Why does the import fail at night?", maxLength=BODY_BYTES)
]
AssistantMessage = Annotated[
    str, described("What the assistant answered.", "Port Kiel answers 503 between 2 and 3 a.m.", maxLength=BODY_BYTES)
]
ClientTimestamp = Annotated[
    Moment,
    described(
        "When it was said, where that is not now: pauses, blocks, hits and contexts go by it. What lies ahead of the "
        "service's clock counts as now.",
        "2026-02-20T14:05:00Z",
    ),
]
OfUser = Annotated[
    str, described("The person who speaks on the user's side.", "ines", minLength=1, maxLength=SPEAKER_BYTES)
]
OfAuthor = Annotated[
    str,
    described(
        "Who says it, a person or an agent; without it the name of the token.",
        "ines",
        minLength=1,
        maxLength=SPEAKER_BYTES,
    ),
]
OfOther = Annotated[
    str,
    described(
        "The person who speaks on the assistant's side, where two people talk and no agent does. Without it that side "
        "is the token's.",
        "bob",
        minLength=1,
        maxLength=SPEAKER_BYTES,
    ),
]


def _check_storable(value: Any) -> Any:
    """A number such as 1e999 is JSON, but could neither be stored as JSON nor be compared with itself later."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError("holds a number that is too large") from None
    return value


Json = Annotated[Any, AfterValidator(_check_storable)]


class CallOfTool(Body):
    """A tool that the assistant called."""

    name: Annotated[str, described("Its name.", "read_file", minLength=1, maxLength=NAME_CHARACTERS)]
    arguments: Annotated[Json, described("What it was given: any JSON.", {"path": "src/import/kiel.py"})] = None
    result: Annotated[
        Json, described("What it gave: any JSON. Above 32 kB lists of turns show its beginning only.", "200 lines")
    ] = None
    success: Annotated[bool | None, described("Whether it did what it should.", True)] = None
    duration_ms: Annotated[
        Annotated[float, AfterValidator(_check_storable)] | None, described("How long it took, in milliseconds.", 12.5)
    ] = None
    timestamp: Annotated[str | None, described("When it was called.")] = None

    def call(self) -> ToolCall:
        """The call for the domain."""
        return ToolCall(**self.model_dump())


ToolCalls = Annotated[
    list[CallOfTool], described("The tools that were called, in their order.", [], maxItems=TOOL_CALLS)
]


class NewTurn(Body):
    """A turn: a message of the user, and all that follows up to the user's next message. One side may be empty."""

    user_message: UserMessage = ""
    assistant_message: AssistantMessage = ""
    tool_calls: ToolCalls = []
    message_id: MessageId | None = None
    client_timestamp: ClientTimestamp | None = None
    user: OfUser | None = None
    author: OfOther | None = None

    def draft(self) -> Draft:
        """The turn for the domain."""
        return Draft(
            self.user_message,
            self.assistant_message,
            [one.call() for one in self.tool_calls],
            self.message_id,
            self.client_timestamp,
            user=self.user,
            author=self.author,
        )


class NewMessage(Body):
    """A single message, for clients that have no whole turns: a turn with one side empty."""

    role: Annotated[Role, described("Who says it.", "user")]
    content: Annotated[str, described("What is said.", "Try it three times.", maxLength=BODY_BYTES)]
    tool_calls: ToolCalls = []
    message_id: Annotated[MessageId | None, described("A name of your own for it, as a turn has.", "m-8")] = None
    client_timestamp: ClientTimestamp | None = None
    author: OfAuthor | None = None

    def draft(self) -> Draft:
        """The turn for the domain."""
        return Draft.of_message(
            self.role,
            self.content,
            tool_calls=[one.call() for one in self.tool_calls],
            message_id=self.message_id,
            client_timestamp=self.client_timestamp,
            author=self.author,
        )


class TurnWritten(View):
    """A turn that is in the log now."""

    turn_index: TurnIndex
    message_id: Annotated[str, described("The message's own id, or the one that the service gave it.", "m-7")]
    timestamp: Annotated[Moment, described("When it arrived, UTC.", "2026-02-20T14:05:00.010Z")]
    redacted: Redacted = None

    @classmethod
    def of(cls, appended: Appended) -> "TurnWritten":
        turn = appended.turn
        return cls(
            turn_index=turn.turn_index,
            message_id=turn.message_id,
            timestamp=turn.timestamp,
            redacted=appended.redacted or None,
        )


class ClosingView(View):
    """Whether the conversation is closed now."""

    closed: Annotated[bool, described("False: it has no turn, so there is nothing to close.", True)]
    turn_index: Annotated[int | None, described("The number of its newest turn, behind which it is closed.", 8)] = None

    @classmethod
    def of(cls, closed: Closed | None) -> "ClosingView":
        return cls(closed=True, turn_index=closed.turn_index) if closed else cls(closed=False)


class ImportedView(View):
    """The result of an import."""

    imported: Annotated[int, described("Lines that became turns.", 2)]
    repeated: Annotated[int, described("Lines whose message was there already.", 0)]
    last_turn: Annotated[int, described("The highest number of these turns.", 2)]
    left: Annotated[int, described("Lines that there was no time for: send the same again to go on.", 0)]
    redacted: Redacted = None

    @classmethod
    def of(cls, imported: Imported) -> "ImportedView":
        return cls.model_validate({**asdict(imported), "redacted": imported.redacted or None})


class ToolCallView(View):
    """A tool that was called."""

    name: Annotated[str, described("Its name.", "read_file")]
    arguments: Annotated[Any, described("What it was given.", {"path": "src/import/kiel.py"})] = None
    result: Annotated[Any, described("What it gave.", "200 lines")] = None
    success: Annotated[bool | None, described("Whether it did what it should.", True)] = None
    duration_ms: Annotated[float | None, described("How long it took, in milliseconds.", 12.5)] = None
    timestamp: Annotated[str | None, described("When it was called.")] = None
    result_size: Annotated[
        int | None,
        described("Bytes of a result above 32 kB. In a list `result` is its beginning; the turn alone has it whole."),
    ] = None


class TurnView(View):
    """A turn. Fields that do not apply are left out."""

    turn_index: TurnIndex
    message_id: Annotated[str, described("The message's own id, or the one that the service gave it.", "m-7")]
    role: Annotated[Role | None, described("Of a message that came alone: who says it.")] = None
    user_message: UserMessage | None = None
    assistant_message: AssistantMessage | None = None
    tool_calls: Annotated[list[ToolCallView] | None, described("The tools that were called, in their order.")] = None
    timestamp: Annotated[Moment, described("When it arrived, UTC.", "2026-02-20T14:05:00.010Z")]
    said_at: Annotated[
        Moment, described("When it was said, UTC: its own time where it has one.", "2026-02-20T14:05:00Z")
    ]
    client_timestamp: ClientTimestamp | None = None
    char_count: Annotated[int, described("Characters of both sides.", 76)]
    author: Annotated[
        str,
        described(
            "Who says it: the author of a message, of a turn the person on the assistant's side, else the name of the "
            "token.",
            "cline-dev",
        ),
    ]
    user: Annotated[str | None, described("The person on the user's side.")] = None
    written_by: Annotated[Agent | None, described("The name of the token, where an author is named.")] = None
    open: Annotated[Literal[True] | None, described("True while the assistant's side is missing.")] = None
    erased_on: Annotated[
        str | None, described("The day on which its words were erased, UTC. Its number, times, author and length stay.")
    ] = None

    @classmethod
    def of(cls, turn: Turn) -> "TurnView":
        return cls(
            turn_index=turn.turn_index,
            message_id=turn.message_id,
            role=turn.role,
            user_message=turn.user_message or None,
            assistant_message=turn.assistant_message or None,
            tool_calls=[ToolCallView.model_validate(one, from_attributes=True) for one in turn.tool_calls] or None,
            timestamp=turn.timestamp,
            said_at=clock.iso(turn.said_at()),
            client_timestamp=turn.client_timestamp,
            char_count=turn.char_count,
            author=turn.author,
            user=turn.user,
            written_by=turn.written_by,
            open=True if turn.open else None,
            erased_on=turn.erased_on,
        )


class TurnPage(Gapped):
    """A page of turns."""

    items: Annotated[
        list[TurnView], described("The turns. A page may hold fewer than `limit` and not be the last one.")
    ]
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, page: reading.Page, cursor: str | None) -> "TurnPage":
        return cls(items=[TurnView.of(one) for one in page.turns], next_cursor=cursor, unreadable=page.missing)

"""Turns of conversations as requests and answers."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Tag

from livemem import clock
from livemem.conversations import reading, turn_import
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
from livemem.text.code_version import CodeVersion
from livemem_http import bodies
from livemem_http.views.conversations import TurnIndex
from livemem_http.views.fields import (
    ALONE,
    BY_ITEMS,
    SEVERAL,
    AtCode,
    Body,
    Branch,
    CodeRepository,
    Commit,
    Gapped,
    Moment,
    Redacted,
    View,
    WrittenBy,
    at_most,
    by,
    described,
)

MessageId = Annotated[
    str,
    described(
        "A name of your own for the message, unique in its conversation. A repeat returns the turn that "
        "exists (200) and writes nothing. The same name with another text is refused (422).",
        "m-7",
        minLength=1,
        maxLength=MESSAGE_ID_CHARACTERS,
    ),
]
UserMessage = Annotated[
    str, described("The user's message.", "Why does the import fail at night?", maxLength=BODY_BYTES)
]
AssistantMessage = Annotated[
    str, described("The assistant's answer.", "Port Kiel answers 503 between 2 and 3 a.m.", maxLength=BODY_BYTES)
]
ClientTimestamp = Annotated[
    Moment,
    described(
        "The time when it was said. Default: now. Pauses, blocks, search hits and contexts use this time. "
        "A time ahead of the service's clock is replaced by now.",
        "2026-02-20T14:05:00Z",
    ),
]
OfUser = Annotated[
    str, described("The person who speaks on the user's side.", "ines", minLength=1, maxLength=SPEAKER_BYTES)
]
OfAuthor = Annotated[
    str,
    described(
        "The author: a person or an agent. Default: the name of the token.",
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


OF_A_ROLE = Tag(bodies.OF_A_ROLE)
BY_ROLE = by("role", bodies.OF_A_ROLE)
Json = Annotated[Any, AfterValidator(_check_storable)]


class CallOfTool(Body):
    """A tool that the assistant called."""

    name: Annotated[str, described("The name of the tool.", "read_file", minLength=1, maxLength=NAME_CHARACTERS)]
    arguments: Annotated[Json, described("The input of the tool: any JSON.", {"path": "src/import/kiel.py"})] = None
    result: Annotated[
        Json,
        described(
            "The result of the tool: any JSON. Above 32 kB, lists of turns show only its beginning.",
            "200 lines",
        ),
    ] = None
    success: Annotated[bool | None, described("Whether the call succeeded.", True)] = None
    duration_ms: Annotated[
        Annotated[float, AfterValidator(_check_storable)] | None,
        described("Duration of the call in milliseconds.", 12.5),
    ] = None
    timestamp: Annotated[str | None, described("The time of the call.")] = None

    def call(self) -> ToolCall:
        """The call for the domain."""
        return ToolCall(**self.model_dump())


ToolCalls = Annotated[
    list[CallOfTool], described("The called tools, in the order of the calls.", [], maxItems=TOOL_CALLS)
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
    repository: CodeRepository = None
    branch: Branch = None
    commit: Commit = None

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
            code=CodeVersion.of(self),
        )


class NewMessage(Body):
    """A single message, for clients that have no whole turns: a turn with one side empty."""

    role: Annotated[Role, described("The role of the author.", "user")]
    content: Annotated[str, described("The text of the message.", "Try it three times.", maxLength=BODY_BYTES)]
    tool_calls: ToolCalls = []
    message_id: Annotated[MessageId | None, described("A name of your own for the message, as for a turn.", "m-8")] = (
        None
    )
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


class NewTurns(Body):
    """Turns to append in one request. All are checked before the first is written. If some are `left`, or there is no
    answer, send the same request again: those that exist already stay as they are.
    """

    items: Annotated[
        list[Annotated[Annotated[NewTurn, ALONE] | Annotated[NewMessage, OF_A_ROLE], BY_ROLE]],
        at_most(turn_import.MOST, "turns"),
        described(
            "Turns (`user_message`, `assistant_message`) and single messages (`role`, `content`) in their order, each "
            "with a `message_id`.",
            [{"message_id": "m-1", "role": "user", "content": "Why does the import fail at night?"}],
            minItems=1,
            maxItems=turn_import.MOST,
        ),
    ]


TurnOrTurns = Annotated[Annotated[NewTurn, ALONE] | Annotated[NewTurns, SEVERAL], BY_ITEMS]


class TurnWritten(View):
    """A turn that is in the log now."""

    turn_index: TurnIndex
    message_id: Annotated[str, described("The id of the message: yours, or one that the service made.", "m-7")]
    timestamp: Annotated[Moment, described("The time when it arrived, UTC.", "2026-02-20T14:05:00.010Z")]
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
    """The result of closing a conversation."""

    closed: Annotated[bool, described("False: the conversation has no turn, so there is nothing to close.", True)]
    turn_index: Annotated[
        int | None, described("The number of the newest turn, after which the conversation is closed.", 8)
    ] = None

    @classmethod
    def of(cls, closed: Closed | None) -> "ClosingView":
        return cls(closed=True, turn_index=closed.turn_index) if closed else cls(closed=False)


class ImportedView(View):
    """The result of an import."""

    imported: Annotated[int, described("Number of `items` that became turns.", 2)]
    repeated: Annotated[int, described("Number of `items` whose message existed already.", 0)]
    last_turn: Annotated[int, described("The highest number of these turns.", 2)]
    left: Annotated[
        int,
        described(
            "Number of `items` that were not processed for lack of time. Send the same request again to continue.", 0
        ),
    ]
    redacted: Redacted = None

    @classmethod
    def of(cls, imported: Imported) -> "ImportedView":
        return cls.model_validate({**asdict(imported), "redacted": imported.redacted or None})


class ToolCallView(View):
    """A tool that was called."""

    name: Annotated[str, described("The name of the tool.", "read_file")]
    arguments: Annotated[Any, described("The input of the tool.", {"path": "src/import/kiel.py"})] = None
    result: Annotated[Any, described("The result of the tool.", "200 lines")] = None
    success: Annotated[bool | None, described("Whether the call succeeded.", True)] = None
    duration_ms: Annotated[float | None, described("Duration of the call in milliseconds.", 12.5)] = None
    timestamp: Annotated[str | None, described("The time of the call.")] = None
    result_size: Annotated[
        int | None,
        described(
            "Size in bytes of a result above 32 kB. In a list, `result` has only its beginning. The route of "
            "the single turn returns the whole result."
        ),
    ] = None


class TurnView(AtCode):
    """A turn. Fields that do not apply are left out."""

    turn_index: TurnIndex
    message_id: Annotated[str, described("The id of the message: yours, or one that the service made.", "m-7")]
    role: Annotated[Role | None, described("Only for a single message: the role of its author.")] = None
    user_message: UserMessage | None = None
    assistant_message: AssistantMessage | None = None
    tool_calls: Annotated[list[ToolCallView] | None, described("The called tools, in the order of the calls.")] = None
    timestamp: Annotated[Moment, described("The time when it arrived, UTC.", "2026-02-20T14:05:00.010Z")]
    said_at: Annotated[
        Moment,
        described(
            "The time when it was said, UTC. Without a time of its own, this is the time when it arrived.",
            "2026-02-20T14:05:00Z",
        ),
    ]
    client_timestamp: ClientTimestamp | None = None
    char_count: Annotated[int, described("Number of characters of both sides.", 76)]
    author: Annotated[
        str,
        described(
            "The author: of a message the one that it names, of a turn the person on the assistant's side. Without "
            "one the name of the token.",
            "cline-dev",
        ),
    ]
    user: Annotated[str | None, described("The person on the user's side.")] = None
    written_by: WrittenBy = None
    open: Annotated[Literal[True] | None, described("True if the assistant's side is missing so far.")] = None
    erased_on: Annotated[
        str | None,
        described(
            "The day on which the words of the turn were erased, UTC. Its number, times, author and length are kept."
        ),
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
            **turn.code.fields(),
            open=True if turn.open else None,
            erased_on=turn.erased_on,
        )


class TurnPage(Gapped):
    """A page of turns."""

    items: Annotated[
        list[TurnView], described("The turns. A page that is not the last one may hold fewer than `limit`.")
    ]

    @classmethod
    def of(cls, page: reading.Page, cursor: str | None) -> "TurnPage":
        return cls(items=[TurnView.of(one) for one in page.turns], next_cursor=cursor, unreadable=page.missing)

"""A turn: a message of the user, with everything up to the user's next one. Also a lone message: one side is empty."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from livemem import clock, limits
from livemem.conversations.boundaries import Size
from livemem.conversations.conversation import TurnIndex
from livemem.errors import InvalidRequest, TooLarge
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store.bucket import TOOL_RESULT
from livemem.store.stored_documents import Count, Finite, Line, Moment, StoredDocument
from livemem.text import code_version
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.redaction import Redaction
from livemem.text.speakers import check_speaker, said_by

Role = Literal["user", "assistant", "tool", "system"]
ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "system")

MESSAGE_ID_CHARACTERS = 200
TOOL_CALLS = 1_000
NAME_CHARACTERS = 200
RESULT_BYTES = 32_000
"""A larger result of a tool is stored in an object of its own."""
RESULT_SHOWN = 200
"""Characters of such a result that stay in the turn."""

MOST_CHARACTERS = 8 << 20
"""Of both sides of a turn: a request has less than 1 MiB, and the marks in place of secrets may be longer."""


class ToolCall(StoredDocument):
    """One call of a tool. `result_size` is set, in bytes, where only the beginning of the result is here."""

    name: str
    arguments: Any = None
    result: Any = None
    success: bool | None = None
    duration_ms: Finite | None = None
    timestamp: str | None = None
    result_size: Count | None = None


class Turn(StoredDocument):
    """`turns/....turn.json`: a turn, written once."""

    most_bytes: ClassVar[int] = 16 << 20
    most_values: ClassVar[int] = 100_000

    turn_index: TurnIndex
    message_id: str
    user_message: str = ""
    assistant_message: str = ""
    tool_calls: list[ToolCall] = []
    timestamp: Moment
    """When it arrived, by the service's clock."""
    client_timestamp: str | None = None
    """When it was said, by the client's clock."""
    char_count: Annotated[int, Field(ge=0, le=MOST_CHARACTERS)]
    """Characters of both sides."""
    author: Line
    """The speaker that the request names, of a lone message or of the assistant's side; else the token's name."""
    user: str | None = None
    """Of a whole turn: the person on the user's side, where the request names one."""
    written_by: Line | None = None
    """The token's name, where the request names the author."""
    open: bool
    """Whether the assistant's side is still to come."""
    role: Role | None = None
    """Of a lone message."""
    asked: bool = False
    """Whether it is a question to the memory with its answer. Such a turn repeats what the memory knows."""
    repository: str | None = None
    branch: str | None = None
    commit: str | None = None
    """The version of the code (`code`)."""
    erased_on: str | None = None
    """The day on which its words were erased. Its times, speaker and length stay, so that boundaries stay valid."""

    @property
    def code(self) -> CodeVersion:
        """The version of the code that its agent worked on."""
        return CodeVersion.read(vars(self))

    def said(self) -> str:
        """Both sides, one after the other. The offsets of blocks count in this text."""
        return self.user_message + self.assistant_message

    def is_of(self, message_id: str) -> bool:
        """Whether it is the turn of the message with this id."""
        return self.message_id in (message_id, erased_name(message_id))

    def size(self, closings: Collection[int] = ()) -> Size:
        """The facts that the planner needs. `closings` are the turns behind which the conversation was closed."""
        said_at = self.said_at()
        late = clock.parse(self.timestamp) - said_at
        return Size(self.turn_index, self.char_count, not self.open, self.turn_index in closings, said_at, late)

    def said_at(self) -> datetime:
        """When it was said: the client's time where it is valid and not after `timestamp`, else `timestamp`."""
        arrived = clock.parse(self.timestamp)
        try:
            return min(clock.parse(self.client_timestamp), arrived) if self.client_timestamp else arrived
        except ValueError:
            return arrived

    def speaker(self, role: str) -> str:
        """The speaker of a side: for the role `user` of a whole turn the named person or the token, else the author."""
        if self.role is None and role == "user":
            return self.user or self.written_by or self.author
        return self.author

    @property
    def token(self) -> str:
        """The name of the token that wrote it."""
        return self.written_by or self.author

    def said_by(self, side: str) -> str:
        """The speaker of a side as texts name it (speakers.said_by)."""
        return said_by(self.speaker(side), self.token)

    def role_of(self, side: str) -> str:
        """The role of what was said on a side. A person who is named on the assistant's side of a whole turn is no
        assistant.
        """
        if self.role is None:
            return "user" if self.written_by else side
        return self.role if side == "user" else side

    def sides(self, start: int = 0, end: int | None = None) -> tuple[str, str]:
        """The parts of the user's and of the assistant's side between two offsets. An erased turn gives its whole new
        text.
        """
        if self.erased_on:
            return self.user_message, self.assistant_message
        border, last = len(self.user_message), self.char_count if end is None else end
        return self.user_message[start:last], self.assistant_message[max(0, start - border) : max(0, last - border)]


class ToolResult(StoredDocument):
    """`tools/{turn_index}/{order}.json`: a tool's result, which may be any JSON."""

    most_bytes: ClassVar[int] = 16 << 20
    most_values: ClassVar[int] = 100_000

    value: Any

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The result in `body`. Raises ValueError."""
        cls.measure(body)
        return cls(value=json.loads(body))

    @classmethod
    def measure(cls, body: bytes, *, numbers: bool = False) -> None:  # noqa: ARG003
        """Raise BadShape as other documents do, but allow any numbers: a tool may return them."""
        super().measure(body, numbers=False)


@dataclass(frozen=True)
class Draft:
    """A turn to be appended. Without a `message_id` a repeat becomes another turn."""

    user_message: str = ""
    assistant_message: str = ""
    tool_calls: Sequence[ToolCall] = ()
    message_id: str | None = None
    client_timestamp: str | None = None
    role: Role | None = None
    user: str | None = None
    """Of a whole turn: the person on the user's side."""
    author: str | None = None
    """Of a lone message its speaker, of a whole turn the person on the assistant's side. None means the token."""
    asked: bool = False
    """Whether it is a question to the memory with its answer."""
    code: CodeVersion = UNKNOWN
    redacted: dict[str, int] = field(default_factory=dict, hash=False)

    @classmethod
    def of_message(cls, role: str, content: str, **more: Any) -> "Draft":
        """A lone message. The role `assistant` fills the assistant's side, all other roles the user's side."""
        if role not in ROLES:
            raise InvalidRequest.of("role", f"must be one of {', '.join(ROLES)}")
        side = "assistant_message" if role == "assistant" else "user_message"
        return cls(**{side: content, "role": role, **more})


def check(draft: Draft, where: str = "") -> None:
    """Raise InvalidRequest or TooLarge, which name the field below `where`, unless the turn is valid."""
    for name in ("user_message", "assistant_message"):
        limits.check_text(f"{where}{name}", getattr(draft, name), limits.BODY_BYTES, blank=True)
    said = (draft.user_message + draft.assistant_message).strip()
    if not said and not draft.tool_calls:
        fields = "content" if draft.role else "user_message"
        raise InvalidRequest.of(
            f"{where}{fields}", "a turn needs a message of the user or of the assistant, or a tool call"
        )
    if len(draft.tool_calls) > TOOL_CALLS:
        raise TooLarge.of(f"{where}tool_calls", len(draft.tool_calls), TOOL_CALLS, "calls")
    for place, call in enumerate(draft.tool_calls):
        limits.check_text(f"{where}tool_calls.{place}.name", call.name, 4 * NAME_CHARACTERS)
    if draft.message_id is not None:
        check_message_id(draft.message_id, where)
    for name in ("user", "author"):
        who = getattr(draft, name)
        if who is not None:
            check_speaker(f"{where}{name}", who)
    try:
        if draft.client_timestamp is not None:
            clock.parse(draft.client_timestamp)
    except ValueError:
        raise InvalidRequest.of(f"{where}client_timestamp", "must be a time in ISO 8601") from None


def check_message_id(message_id: str, where: str = "") -> str:
    """Return the client's id of a message, or raise InvalidRequest."""
    if not 1 <= len(message_id) <= MESSAGE_ID_CHARACTERS:
        raise InvalidRequest.of(f"{where}message_id", f"must have 1 to {MESSAGE_ID_CHARACTERS} characters")
    limits.check_text(f"{where}message_id", message_id, 4 * MESSAGE_ID_CHARACTERS, blank=True)
    return message_id


def redacted(draft: Draft) -> Draft:
    """The turn without what looks like a secret: on both sides, in arguments and results of tools, in all names. A
    secret that only one part of it calls so is taken out of all.
    """
    done = Redaction()
    once = _redacted(draft, done)
    return replace(_redacted(once, done) if once != draft else once, redacted=done.counted())


def _redacted(draft: Draft, done: Redaction) -> Draft:
    calls = [
        call.model_copy(
            update={
                "name": done.text(call.name),
                "arguments": done.value(call.arguments),
                "result": done.value(call.result),
                "timestamp": done.value(call.timestamp),
            }
        )
        for call in draft.tool_calls
    ]
    return replace(
        draft,
        user_message=done.text(draft.user_message),
        assistant_message=done.text(draft.assistant_message),
        tool_calls=calls,
        message_id=done.identifier(draft.message_id) if draft.message_id is not None else None,
        user=done.identifier(draft.user) if draft.user is not None else None,
        author=done.identifier(draft.author) if draft.author is not None else None,
    )


def made(draft: Draft, message_id: str, index: int, author: str, now: datetime) -> tuple[Turn, dict[int, bytes]]:
    """The turn as it is stored at `index`, and the large results that are stored apart, by the place of their calls."""
    apart: dict[int, bytes] = {}
    calls = []
    for place, call in enumerate(draft.tool_calls):
        body = json.dumps(call.result, ensure_ascii=False)
        size = len(body.encode(errors="replace"))
        if size > RESULT_BYTES:
            apart[place] = body.encode(errors="replace")
            shown = call.result if isinstance(call.result, str) else body
            call = call.model_copy(update={"result": shown[:RESULT_SHOWN], "result_size": size})  # noqa: PLW2901
        calls.append(call)
    turn = Turn(
        turn_index=index,
        message_id=message_id,
        user_message=draft.user_message,
        assistant_message=draft.assistant_message,
        tool_calls=calls,
        timestamp=clock.iso_millis(now),
        client_timestamp=draft.client_timestamp,
        char_count=len(draft.user_message) + len(draft.assistant_message),
        author=draft.author or author,
        user=draft.user,
        written_by=author if draft.author is not None else None,
        open=not draft.assistant_message.strip(),
        role=draft.role,
        asked=draft.asked,
        **draft.code.fields(),
    )
    return turn, apart


def erased_name(message_id: str) -> str:
    """The hash that replaces a message's id when its turn is erased. A repeat of the message is recognised by it."""
    return f"erased:{hashlib.sha256(message_id.encode()).hexdigest()}"


def erased(turn: Turn, day: date) -> Turn:
    """The stub of a turn that was erased on a day. It keeps the turn's place, times, speaker and length."""
    if turn.erased_on:
        return turn
    stub = f"Erased on {day.isoformat()}."
    sides = [stub if side.strip() else "" for side in (turn.user_message, turn.assistant_message)]
    if not any(sides):
        sides[0] = stub
    return turn.model_copy(
        update={
            "message_id": erased_name(turn.message_id),
            "user_message": sides[0],
            "assistant_message": sides[1],
            "tool_calls": [],
            "erased_on": day.isoformat(),
            **dict.fromkeys(code_version.FIELDS),
        }
    )


def erased_unread(index: int, day: date) -> Turn:
    """The stub of a turn that could not be read when it was erased."""
    return erased(
        Turn(
            turn_index=index,
            message_id=f"turn {index}",
            timestamp=f"{day.isoformat()}T00:00:00Z",
            char_count=0,
            author="unknown",
            open=False,
        ),
        day,
    )


def same(turn: Turn, other: Turn) -> bool:
    """Whether both have the same content; numbers, times and tokens may differ. They also count as the same where one
    was written when fewer secrets were removed.
    """
    return bool(_told(turn) == _told(other) or _told(turn, redacted=True) == _told(other, redacted=True))


def _told(turn: Turn, *, redacted: bool = False) -> Any:
    """The turn's content, as JSON values."""
    others = {"turn_index", "timestamp", "client_timestamp", "author", "written_by", "asked", *code_version.FIELDS}
    told = turn.model_dump(exclude=others)
    told["said_by"] = turn.author if turn.written_by else None
    if not redacted:
        return told
    for call in told["tool_calls"]:
        if call["result_size"] is not None:
            # The shown beginning may end within a secret.
            del call["result"], call["result_size"]
    del told["char_count"]
    return Redaction().whole(told)


def with_results(process: Process, space_id: str, conversation_id: str, turn: Turn) -> Turn:
    """The turn with the results that are stored apart: 1 GET each. Of a missing or damaged one its beginning."""

    def whole(place: int) -> ToolCall:
        call = turn.tool_calls[place]
        if call.result_size is None:
            return call
        item = process.store.get(TOOL_RESULT.key(space_id, conversation_id, turn.turn_index, place))
        result = unreadable.tolerated(process, ToolResult, item) if item else None
        return call.model_copy(update={"result": result.value}) if result else call

    calls = process.store.map(whole, range(len(turn.tool_calls)))
    return turn.model_copy(update={"tool_calls": calls})

"""Conversations from other services, and the items that import them."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from live_memory.cli.imports.unfit import BadPart
from live_memory.cli.transcripts.private_words import PrivateWords

TITLE_BYTES = 500
ID_CHARACTERS = 180
"""Characters of a message's id: the service takes 200, and parts of a long message are numbered."""
NAME_CHARACTERS = 200
ITEM_BYTES = 900_000
"""Bytes of an item: the service takes 1 MiB in a request."""
PIECE = 140_000
"""Characters of a part of a message that is too long for an item: each has at most six bytes in JSON."""
RESULT_CHARACTERS = 100_000
"""Characters at which the input or result of a tool is cut."""
CALLS = 500
MESSAGES = 20_000
"""Number of messages of a conversation."""

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True)
class Message:
    """One message. `tool`: in an assistant's message, the tool that it calls; in a tool's message, its name."""

    message_id: str
    role: Role
    text: str
    timestamp: str | None = None
    tool: str | None = None
    key: str = ""
    """Its name in the ids of hooks."""


@dataclass(frozen=True)
class Turn:
    """A message of the user, with all that follows up to the user's next message."""

    message_id: str
    user: str = ""
    assistant: str = ""
    timestamp: str | None = None
    calls: Sequence[Mapping[str, Any]] = ()
    key: str = ""
    """The key of its first message."""


@dataclass(frozen=True)
class Chat:
    """A conversation. `left_out` counts its content that is not imported, by kind."""

    service: str
    chat_id: str
    title: str
    updated_at: str | None
    turns: Sequence[Turn]
    left_out: Counter[str] = field(default_factory=Counter, hash=False)
    folders: Sequence[str] = ()
    """The folders that its agent worked in."""

    @property
    def folder(self) -> str:
        """The folder by which the service finds the conversation again, in the place of an agent's folder."""
        known = (
            self.chat_id if self.chat_id.replace("-", "").replace("_", "").isalnum() and self.chat_id.isascii() else ""
        )
        name = known or hashlib.sha256(self.chat_id.encode()).hexdigest()
        return f"/imported/{self.service}/{name}"

    @property
    def characters(self) -> int:
        return sum(len(turn.user) + len(turn.assistant) for turn in self.turns)


def turns(messages: Iterable[Message], left_out: Counter[str] | None = None) -> list[Turn]:
    """The turns that messages make. `left_out` gets the number of calls of tools that have no place in them. Raises
    BadPart for an id that occurs twice.
    """
    lost: Counter[str] = Counter() if left_out is None else left_out
    made: list[Turn] = []
    ids: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.message_id in seen:
            raise BadPart("holds a message twice")
        seen.add(message.message_id)
        if len(seen) > MESSAGES:
            raise BadPart(f"has more than {MESSAGES} messages")
        if message.role == "user" or not made:
            made.append(_with(Turn("", timestamp=message.timestamp, key=message.key), message))
            ids = [message.message_id]
        else:
            lost[f"calls of tools beyond {CALLS} of a turn"] += bool(message.tool and len(made[-1].calls) >= CALLS)
            made[-1] = _with(made[-1], message)
            ids.append(message.message_id)
        made[-1] = replace(made[-1], message_id=_id_of(ids))
    for turn in made:
        if turn.calls and size(_whole(turn)) > ITEM_BYTES:
            lost["inputs and results of tools in turns that are too long"] += len(turn.calls)
    return [turn for turn in made if turn.user.strip() or turn.assistant.strip() or turn.calls]


def _id_of(ids: Sequence[str]) -> str:
    """The id of a turn. A turn with another end gets another id, so that it never contradicts a turn that was imported
    before.
    """
    name = ids[0] if len(ids) == 1 else f"{ids[0]}:{ids[-1]}"
    return name if len(name) <= ID_CHARACTERS else hashlib.sha256(name.encode()).hexdigest()


def _with(turn: Turn, message: Message) -> Turn:
    text = message.text
    if message.role == "user":
        return replace(turn, user=text)
    if message.role == "assistant" and not message.tool:
        return replace(turn, assistant=f"{turn.assistant}\n\n{text}" if turn.assistant.strip() else text)
    if len(turn.calls) >= CALLS:
        return turn
    name = (message.tool or "tool").strip()[:NAME_CHARACTERS] or "tool"
    if message.role == "assistant":
        return replace(turn, calls=[*turn.calls, {"name": name, "arguments": _cut(text)}])
    *earlier, last = turn.calls or [{}]
    if last.get("name") == name and "result" not in last:
        return replace(turn, calls=[*earlier, {**last, "result": _cut(text)}])
    return replace(turn, calls=[*turn.calls, {"name": name, "result": _cut(text)}])


def _cut(text: str) -> str:
    return text if len(text) <= RESULT_CHARACTERS else f"{text[:RESULT_CHARACTERS]}\n[cut: {len(text)} characters]"


def turn_items(turn: Turn) -> Iterator[dict[str, Any]]:
    """A turn as items of the import: one, or several messages where no item could hold it. No character of the messages
    is lost. Of tools only the names are kept then.
    """
    item = _whole(turn)
    if size(item) <= ITEM_BYTES:
        yield item
        return
    more = _time(turn)
    calls = [{"name": call["name"]} for call in turn.calls]
    sides = (("user", turn.user), ("assistant", turn.assistant))
    pieces = [(role, text[at : at + PIECE]) for role, text in sides for at in range(0, len(text), PIECE)]
    pieces = [(role, text) for role, text in pieces if text.strip()] or [("assistant", "[tools]")]
    for number, (role, text) in enumerate(pieces, 1):
        last = {"tool_calls": calls} if calls and number == len(pieces) else {}
        yield {"message_id": f"{turn.message_id}/{number}", "role": role, "content": text, **more, **last}


def _whole(turn: Turn) -> dict[str, Any]:
    fields = {"message_id": turn.message_id, "user_message": turn.user, "assistant_message": turn.assistant}
    return {**fields, **_time(turn), **({"tool_calls": list(turn.calls)} if turn.calls else {})}


def _time(turn: Turn) -> dict[str, str]:
    return {"client_timestamp": turn.timestamp} if turn.timestamp else {}


def without_private_words(chat: Chat) -> Chat:
    """A conversation without the words that its user marked as private."""
    private = PrivateWords()
    return changed(changed(chat, private.cut), private.again)


def changed(chat: Chat, change: Callable[[str], str]) -> Chat:
    """A conversation with another title and other texts."""
    return replace(chat, title=change(chat.title), turns=[_changed(turn, change) for turn in chat.turns])


def _changed(turn: Turn, change: Callable[[str], str]) -> Turn:
    calls = [
        {name: change(value) if isinstance(value, str) else value for name, value in call.items()}
        for call in turn.calls
    ]
    return replace(turn, user=change(turn.user), assistant=change(turn.assistant), calls=calls or turn.calls)


def size(item: Mapping[str, Any]) -> int:
    """Bytes of an item in the body of a request."""
    return len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()) + 1


def text_of(value: object) -> str:
    """A text without halves of surrogate pairs, which are no text. Empty for a value that is no text."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def id_of(value: object, what: str) -> str:
    """An id; raises BadPart."""
    text = text_of(value)
    if not text.strip() or len(text) > ID_CHARACTERS or not text.isprintable():
        raise BadPart(f"has {what} without an id")
    return text


def title_of(value: object) -> str:
    """A title as long as the service takes it, in one line."""
    text = " ".join(text_of(value).split())
    return text.encode()[:TITLE_BYTES].decode(errors="ignore")


def moment(value: object) -> str | None:
    """A time in ISO 8601, from such a text or from seconds since 1970. None for a value that is no time."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            found = datetime.fromtimestamp(value, UTC)
        else:
            return None
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def branch(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """The way from the root of a tree to one of its nodes. Raises BadPart where it never ends."""
    found: list[str] = []
    at: str | None = leaf
    while at is not None and at in parents:
        found.append(at)
        if len(found) > len(parents):
            raise BadPart("has messages that follow each other in a circle")
        at = parents[at]
    return found[::-1]


def dictionary(value: object) -> dict[str, Any]:
    """A JSON object. An empty one for a value that is none."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A JSON list. An empty one for a value that is none."""
    return value if isinstance(value, list) else []

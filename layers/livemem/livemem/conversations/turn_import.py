"""Importing a conversation from elsewhere: lines of JSON, each a message or a whole turn."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from livemem import clock
from livemem.conversations import log
from livemem.conversations.turn import Draft, ToolCall, check_message_id
from livemem.errors import InvalidRequest, StoreUnavailable, TooLarge
from livemem.process import Process

MANY = 50
"""New turns of one call for which the indexer is asked."""
MOST = LINES = 2_000
"""Turns of one call: about 1 MiB of short messages."""


class _Line(BaseModel):
    """The fields of a line. Unknown fields are left out."""

    model_config = ConfigDict(extra="ignore", strict=True)

    message_id: str | None = None
    role: str | None = None
    content: str | None = None
    user_message: str = ""
    assistant_message: str = ""
    tool_calls: list[dict[str, Any]] = []
    timestamp: str | None = None
    client_timestamp: str | None = None
    user: str | None = None
    author: str | None = None


@dataclass(frozen=True)
class Imported:
    """How many lines became turns, how many were there already, and the newest turn. `left` counts the lines for which
    there was no time. The caller sends all lines again, or those alone.
    """

    imported: int
    repeated: int
    last_turn: int
    left: int = 0
    redacted: dict[str, int] = field(default_factory=dict, hash=False)
    """Counts of the secrets that were removed from the lines, by kind."""


def parse(text: str) -> list[Draft]:
    """The turns in the lines, all checked. Raises InvalidRequest or TooLarge, which names the line."""
    drafts = []
    # Editors of some systems begin a file with a byte order mark.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            drafts.append(_draft(f"line {number}", line))
    if not drafts:
        raise InvalidRequest.of("body", "has no lines")
    if len(drafts) > LINES:
        raise TooLarge.of("body", len(drafts), LINES, "lines")
    return drafts


def _draft(where: str, text: str) -> Draft:
    try:
        line = _Line.model_validate(_loaded(text))
        calls = [_call(call) for call in line.tool_calls]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest.of(f"{where}{f': {field}' if field else ''}", first["msg"]) from None
    except UnicodeEncodeError:
        raise InvalidRequest.of(where, "has half a surrogate pair, which is not valid text") from None
    except (ValueError, RecursionError):
        raise InvalidRequest.of(where, "is not JSON") from None
    if line.message_id is None:
        raise InvalidRequest.of(f"{where}: message_id", "is required, so that the import can be repeated")
    check_message_id(line.message_id, f"{where}: ")
    moment = line.client_timestamp or line.timestamp
    _check_moment(where, moment)
    more: dict[str, Any] = {
        "message_id": line.message_id,
        "client_timestamp": moment,
        "tool_calls": tuple(calls),
    }
    if line.role is None:
        return Draft(line.user_message, line.assistant_message, user=line.user, author=line.author, **more)
    try:
        return Draft.of_message(line.role, line.content or "", author=line.author, **more)
    except InvalidRequest as error:
        raise InvalidRequest.of(f"{where}: role", error.fields[0].message) from None


def _call(told: dict[str, Any]) -> ToolCall:
    """The call without unknown fields. Only the log sets the size of a result that is stored apart."""
    by_name = {name: told[name] for name in ToolCall.model_fields if name in told}
    return ToolCall.model_validate({**by_name, "result_size": None})


def _loaded(text: str) -> Any:
    """The JSON value. Raises ValueError, also for a value that can't be stored and read again."""
    value = json.loads(text, parse_constant=_number, parse_float=_number)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("no number of JSON, or too large")
    return number


def _check_moment(where: str, text: str | None) -> None:
    try:
        if text is not None:
            clock.parse(text)
    except ValueError:
        raise InvalidRequest.of(f"{where}: timestamp", "must be a time in ISO 8601") from None


def take_in(
    process: Process,
    space_id: str,
    conversation_id: str,
    author: str,
    drafts: Sequence[Draft],
    until: datetime | None = None,
) -> Imported:
    """Append the turns in their order, as many as the time until `until` allows. Turns whose `message_id` is known
    already stay as they are.

    1 round trip for each. Many new ones are indexed at once, so that no search has to read them one by one. Raises
    NotFound, InvalidRequest.
    """
    drafts = [_prepared(draft, f"items.{place}.") for place, draft in enumerate(drafts)]
    appended = log.append_all(process, space_id, conversation_id, author, drafts, until)
    fresh = sum(item.fresh for item in appended)
    newest = max((item.turn.turn_index for item in appended), default=0)
    if fresh >= MANY:
        # Without this the first search asks for it.
        with suppress(StoreUnavailable):
            process.enqueue("indexer", {"space_id": space_id})
    redacted = sum((Counter(item.redacted) for item in appended), Counter())
    return Imported(fresh, len(appended) - fresh, newest, len(drafts) - len(appended), dict(sorted(redacted.items())))


def _prepared(draft: Draft, where: str) -> Draft:
    if draft.message_id is None:
        raise InvalidRequest.of(f"{where}message_id", "is required, so that the import can be repeated")
    return log.prepare(draft, where)

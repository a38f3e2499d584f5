"""Cursors of lists: opaque to clients, inside them the name after which the next page begins."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TypeVar

from livemem.errors import InvalidRequest
from livemem.store import keys
from livemem.store.bucket import check_message_name
from livemem.store.keys import MemoryKind

P = TypeVar("P")


def encode(after: object | None) -> str | None:
    """The cursor for a name or number, None for the end of the list."""
    return None if after is None else base64.urlsafe_b64encode(str(after).encode()).decode().rstrip("=")


def decode_note(cursor: str | None) -> str | None:
    """The note id in a cursor. Raises InvalidRequest."""
    return _decode(cursor, lambda text: keys.parse_note_id(text).note_id)


def decode_name(cursor: str | None) -> str | None:
    """The space id in a cursor. Raises InvalidRequest."""
    return _decode(cursor, keys.check_space_id)


def decode_run(cursor: str | None) -> str | None:
    """The run id in a cursor, or another ULID. Raises InvalidRequest."""
    return _decode(cursor, keys.check_run_id)


def decode_token(cursor: str | None) -> str | None:
    """The hash of a token in a cursor. Raises InvalidRequest."""
    return _decode(cursor, keys.check_token_hash)


def decode_backup_of(cursor: str | None) -> tuple[str, str] | None:
    """The ids of a space and of a backup of it in a cursor. Raises InvalidRequest."""

    def check(text: str) -> str:
        space_id, _, backup_id = text.partition("/")
        return f"{keys.check_space_id(space_id)}/{keys.check_backup_id(backup_id)}"

    text = _decode(cursor, check)
    space_id, _, backup_id = (text or "").partition("/")
    return (space_id, backup_id) if text else None


def decode_number(cursor: str | None) -> int | None:
    """The number in a cursor. Raises InvalidRequest."""
    text = _decode(cursor, lambda text: str(int(text)))
    return int(text) if text is not None else None


def decode_conversation(cursor: str | None) -> str | None:
    """The id of a conversation in a cursor. Raises InvalidRequest."""
    return _decode(cursor, keys.check_conversation_id)


def decode_turn(cursor: str | None) -> int | None:
    """The index of a turn in a cursor. Raises InvalidRequest."""
    text = _decode(cursor, lambda text: str(keys.check_index(text)))
    return int(text) if text is not None else None


def decode_message(cursor: str | None) -> str | None:
    """The name of a message of a room in a cursor. Raises InvalidRequest."""
    return _decode(cursor, check_message_name)


def encode_summary(after: tuple[int, int] | None) -> str | None:
    """The cursor for a summary, by its level and its number. None for the end of the list."""
    return encode(f"{after[0]}/{after[1]}" if after else None)


def decode_summary(cursor: str | None) -> tuple[int, int] | None:
    """The level and the number of a summary in a cursor. Raises InvalidRequest."""

    def check(text: str) -> str:
        level, _, number = text.partition("/")
        return f"{keys.check_level(level)}/{keys.check_number(number)}"

    text = _decode(cursor, check)
    level, _, number = (text or "").partition("/")
    return (int(level), int(number)) if text else None


def encode_changes(after: Mapping[MemoryKind, int] | None) -> str | None:
    """The cursor for an operation of each kind. None for the end of the list."""
    return encode(",".join(f"{kind}/{number}" for kind, number in after.items()) if after else None)


def decode_changes(cursor: str | None) -> dict[MemoryKind, int] | None:
    """The operation of each kind in a cursor. Raises InvalidRequest."""
    offsets: dict[MemoryKind, int] = {}

    def check(text: str) -> str:
        for part in text.split(","):
            kind, _, number = part.partition("/")
            offsets[keys.check_memory_kind(kind)] = keys.check_operation_number(number)
        return text

    return offsets if _decode(cursor, check) else None


def decode_with(parse: Callable[[str], P], cursor: str | None) -> P | None:
    """What `parse` makes of the text in a cursor. It raises ValueError for what is none. Raises InvalidRequest."""
    text = _decode(cursor, lambda text: (parse(text), text)[1])
    return parse(text) if text is not None else None


def _decode(cursor: str | None, check: Callable[[str], str]) -> str | None:
    if cursor is None:
        return None
    try:
        return check(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode())
    except (ValueError, binascii.Error):
        raise InvalidRequest.of("cursor", "is not a cursor that this service gave out") from None

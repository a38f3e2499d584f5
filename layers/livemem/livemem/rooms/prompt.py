"""The prompt: messages and memories are JSON on one line each, so that no text can forge its structure."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from string import Template
from zoneinfo import ZoneInfo

from livemem import clock
from livemem.llm import templates, window
from livemem.llm.client import Messages
from livemem.llm.templates import json_line
from livemem.memories.memory import Memory
from livemem.rooms.message import Message

KNOWN_CHARACTERS = 400
"""Characters of a known memory: enough for the model to recognise it."""
KNOWN_TOKENS = 3_000
KNOWN_SHARE = 8
"""Known memories take at most an eighth of the model's window."""
_text = partial(templates.text, "rooms")


def system() -> str:
    """The system message, the same for all spaces."""
    return _text("system")


def build(
    room: str, messages: Sequence[Message], memories: Sequence[Memory], zone: ZoneInfo, now: datetime, most: int
) -> Messages:
    """The messages about a chunk. Times are in `zone`; `most` is the model's window in tokens."""
    fields = [
        {
            "number": number,
            "at": _local(message.timestamp, zone),
            "author": message.author,
            "content": message.content,
        }
        for number, message in enumerate(messages, 1)
    ]
    user = Template(_text("user")).substitute(
        room=json_line(room),
        first=fields[0]["at"] if fields else "-",
        last=fields[-1]["at"] if fields else "-",
        zone=zone.key,
        now=f"{now.astimezone(zone):%A %Y-%m-%d %H:%M}",
        known=json_line(_fitting(memories, min(KNOWN_TOKENS, most // KNOWN_SHARE))),
        messages=json_line(fields),
    )
    return [{"role": "system", "content": system()}, {"role": "user", "content": user}]


def _local(timestamp: str, zone: ZoneInfo) -> str:
    try:
        return f"{clock.parse(timestamp).astimezone(zone):%Y-%m-%d %H:%M}"
    except OverflowError:
        # On the first and the last day of the calendar some zones have no such time.
        return timestamp[:16]


def _fitting(memories: Sequence[Memory], room: int) -> Sequence[dict[str, str]]:
    items = [{"kind": memory.kind, "content": memory.content[:KNOWN_CHARACTERS]} for memory in memories]
    return window.fitting(items, room, lambda item: window.tokens(json_line(item)))

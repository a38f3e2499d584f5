"""The model's context window: how many tokens a text takes, by an estimate, and what fits.

Estimates plan a call. Afterwards the provider's count is used (llm/usage.py).
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from livemem.llm.client import Messages

T = TypeVar("T")

BYTES_PER_TOKEN = 4
"""The planning bound (docs/consolidation.md, "Budget"), on UTF-8 so that scripts other than Latin count for more."""
MESSAGE_TOKENS = 50
"""Of a message, besides its text."""
ANSWER_TOKENS = 2_000
"""Reserved for an answer that has no bound of its own."""


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def size(messages: Messages) -> int:
    """Estimated tokens of all messages."""
    return sum(tokens(message["content"]) + MESSAGE_TOKENS for message in messages)


def fitting(items: Sequence[T], room: int, need: Callable[[T], int]) -> Sequence[T]:
    """The first items that fit into `room` tokens together; `need` says how many each takes."""
    for count, item in enumerate(items):
        room -= need(item)
        if room < 0:
            return items[:count]
    return items


def cut(text: str, room: int) -> str:
    """The beginning of a text that fits into `room` tokens, "" where nothing does.

    Half a surrogate pair, which a broken answer may hold, can't be sent: a question mark stands in its place.
    """
    return text.encode(errors="replace")[: max(room, 0) * BYTES_PER_TOKEN].decode(errors="ignore")

"""The request for the facts worth remembering of the messages of a room, read from the chat messages that the service
sends to any model.

The user message holds two JSON arrays, each on a line of its own below its heading: memories that are known, and the
messages.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm.prompt import PromptError, text_of

_KNOWN = "# Known already (JSON array of "
_MESSAGES = "# Messages of the room, oldest first (JSON array of "


@dataclass(frozen=True)
class Said:
    """One message; `number` is how the answer names it."""

    number: int
    author: str
    content: str


@dataclass(frozen=True)
class DigestRequest:
    """The messages, and the facts that are known already."""

    known: Sequence[str]
    said: Sequence[Said]


def read_digest_request(messages: Sequence[Mapping[str, Any]]) -> DigestRequest:
    """The request in the first user message that holds one; raises PromptError if none does."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found:
                return found
    raise PromptError("There is no request for a digest.")


def _read(text: str) -> DigestRequest | None:
    # Split at \n alone: other ends of lines are spelled in JSON.
    lines = text.split("\n")
    known, said = _below(lines, _KNOWN), _below(lines, _MESSAGES)
    if known is None or said is None:
        return None
    return DigestRequest(
        [str(one.get("content") or "") for one in known],
        [
            Said(one["number"], str(one.get("author") or ""), str(one.get("content") or ""))
            for one in said
            if type(one.get("number")) is int
        ],
    )


def _below(lines: Sequence[str], heading: str) -> list[dict[str, Any]] | None:
    """The objects of the array on the line below a heading."""
    place = next((place for place, line in enumerate(lines) if line.startswith(heading)), len(lines))
    try:
        items = json.loads(lines[place + 1])
    except (ValueError, IndexError, RecursionError):
        return None
    return items if isinstance(items, list) and all(isinstance(item, dict) for item in items) else None

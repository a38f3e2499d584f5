"""The question whether two notes are of the same fact, read from the chat messages, and its answer by fixed rules.

The user message holds two JSON strings, each on a line of its own below its heading: the note that is there, and the
one that somebody wants to add.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from livemem.memories import likeness
from local.offline_llm.prompt import PromptError, text_of

_HEADINGS = ("# The note that is there (JSON string)", "# The note that somebody wants to add (JSON string)")
LEAST = 0.35
"""Likeness of the letters below which two notes are taken for two facts."""


def read_verdict_request(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The note that is there and the new one; raises PromptError if the messages ask for no verdict."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found:
                return found
    raise PromptError("There is no request for a verdict.")


def judge(old: str, new: str) -> dict[str, Any]:
    """The answer: what differs or is far by its letters is another fact, what adds something contradicts."""
    if likeness.differs(new, old) or likeness.lexical(new, old) < LEAST:
        return {"verdict": "different"}
    return {"verdict": "contradicts" if likeness.adds(new, old) else "same"}


def _read(text: str) -> tuple[str, str] | None:
    # Split at \n alone: other ends of lines are spelled in JSON.
    lines = text.split("\n")
    try:
        old, new = (json.loads(lines[lines.index(heading) + 1]) for heading in _HEADINGS)
    except (ValueError, IndexError):
        return None
    return (old, new) if isinstance(old, str) and isinstance(new, str) else None

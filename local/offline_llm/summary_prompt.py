"""The request for a summary, read from the chat messages that the service sends to any model.

The user message holds the length that is wanted, and on its last line a JSON array: turns, or summaries of earlier
parts. The text just before them is on a line of its own above, and is not summarised.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm.prompt import PromptError, text_of

_TARGET = re.compile(r"in about ([0-9]{1,9}) characters\.")
_HEADINGS = ("# Turns, oldest first (JSON array of ", "# Summaries, oldest first (JSON array of ")


@dataclass(frozen=True)
class Part:
    """A turn, or a part of an earlier summary."""

    who: str
    """`user`, `assistant`, or `` for a summary."""
    text: str


@dataclass(frozen=True)
class SummaryRequest:
    """The parts to summarise in about `target` characters."""

    target: int
    parts: Sequence[Part]
    findings: Sequence[str]
    """Of earlier summaries."""


def read_summary_request(messages: Sequence[Mapping[str, Any]]) -> SummaryRequest:
    """The request in the first user message that holds one; raises PromptError if none does."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found:
                return found
    raise PromptError("There is no request for a summary.")


def _read(text: str) -> SummaryRequest | None:
    target = _TARGET.search(text)
    lines = text.rstrip("\n").split("\n")
    heading = next((line for line in lines if line.startswith(_HEADINGS)), None)
    if not target or not heading or len(lines) < 2:
        return None
    try:
        items = json.loads(lines[-1])
    except ValueError:
        return None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    if heading.startswith(_HEADINGS[0]):
        parts = [Part(who, str(item.get(who) or "")) for item in items for who in ("user", "assistant")]
        findings: list[str] = []
    else:
        parts = [Part("", str(item.get("summary") or "")) for item in items]
        findings = [str(one) for item in items for one in item.get("key_findings") or []]
    return SummaryRequest(int(target[1]), [part for part in parts if part.text.strip()], findings)

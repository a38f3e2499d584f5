"""The request for a summary, read from the chat messages that the service sends to any model.

The user message holds the length that is wanted, and on its last line a JSON array: turns, or summaries of earlier
parts. The text just before them is on a line of its own above, and is not summarised.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local.offline_llm.prompt import PromptError, text_of

_TARGET = re.compile(r"in about ([0-9]{1,9}) characters\.")
_WITH_NOTES = "one more member, `notes`"
"""Words of the system message that asks for notes, too."""
_TALKING = (None, "user", "assistant")
"""Roles of turns in which somebody says something; a whole turn has none. Others are results of tools, or instructions.
"""
_HEADINGS = ("# Turns, oldest first (JSON array of ", "# Summaries, oldest first (JSON array of ")


@dataclass(frozen=True)
class Part:
    """A turn, or a part of an earlier summary."""

    who: str
    """`user`, `assistant`, or `` for a summary."""
    text: str
    turn: int | None = None
    """The number of the turn in which somebody says it."""


@dataclass(frozen=True)
class SummaryRequest:
    """The parts to summarise in about `target` characters."""

    target: int
    parts: Sequence[Part]
    findings: Sequence[str]
    """Of earlier summaries."""
    with_notes: bool = False
    """Whether the answer also names notes."""


def read_summary_request(messages: Sequence[Mapping[str, Any]]) -> SummaryRequest:
    """The request in the first user message that holds one; raises PromptError if none does."""
    for message in messages:
        if message.get("role") == "user":
            found = _read(text_of(message.get("content")))
            if found:
                return replace(found, with_notes=any(map(_asks_for_notes, messages)))
    raise PromptError("There is no request for a summary.")


def _asks_for_notes(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "system" and _WITH_NOTES in text_of(message.get("content"))


def _turn(item: Mapping[str, Any]) -> int | None:
    number = item.get("turn")
    return number if type(number) is int and item.get("role") in _TALKING else None


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
        parts = [Part(who, str(item.get(who) or ""), _turn(item)) for item in items for who in ("user", "assistant")]
        findings: list[str] = []
    else:
        parts = [Part("", str(item.get("summary") or "")) for item in items]
        findings = [str(one) for item in items for one in item.get("key_findings") or []]
    return SummaryRequest(int(target[1]), [part for part in parts if part.text.strip()], findings)

"""The request of a consolidation, read from the chat messages that the service sends to any model.

The user message holds, each on a line of its own, four JSON values: rules (a string), the previous synthesis (a string
or null), the bank files (an object: text by name) and the live notes (an array of arrays). All other lines are prose
for a language model.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.offline_llm.entries import Note

_LANGUAGE = re.compile(r'^Write bank and synthesis in the language "([\w-]+)"\.$', re.MULTILINE)


class PromptError(ValueError):
    """The messages hold no request that this server understands."""


@dataclass(frozen=True)
class Request:
    """The notes to fold, the rules, and the bank into which they go. `language`: the tag that the prompt names."""

    rules: str
    bank: Mapping[str, str]
    notes: Sequence[Note]
    language: str = ""


def read_request(messages: Sequence[Mapping[str, Any]]) -> Request:
    """The request in the first user message that holds one; raises PromptError if none does.

    `messages` are OpenAI chat messages; a content in parts is joined.
    """
    problem = "There is no user message."
    for message in messages:
        if message.get("role") == "user":
            try:
                return _read_text(text_of(message.get("content")))
            except PromptError as error:
                problem = str(error)
    raise PromptError(problem)


def text_of(content: object) -> str:
    """The text of a message's content, joined where it is in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _read_text(text: str) -> Request:
    # Split at \n alone: JSON may hold U+2028 and its like unescaped, and str.splitlines would cut there.
    values = [value for line in text.split("\n") for value in _json_value(line.strip())]
    if len(values) < 4:
        raise PromptError(
            f"The prompt holds {len(values)} JSON values on lines of their own; it takes rules, synthesis, bank, notes."
        )
    rules, synthesis, bank, notes = values[:4]
    if not isinstance(rules, str) or not (synthesis is None or isinstance(synthesis, str)):
        raise PromptError(
            "The first JSON value must be the rules (a string), the second the synthesis (a string or null)."
        )
    if not isinstance(bank, dict) or not all(isinstance(content, str) for content in bank.values()):
        raise PromptError("The third JSON value must be the bank files (an object of strings by name).")
    if not isinstance(notes, list):
        raise PromptError("The fourth JSON value must be the notes (an array).")
    language = _LANGUAGE.search(text)
    return Request(rules, bank, [_note(note) for note in notes], language[1] if language else "")


def _json_value(line: str) -> list[Any]:
    """The JSON value that a line is, if it is a string, an array, an object or null."""
    if not (line.startswith(('"', "[", "{")) or line == "null"):
        return []
    try:
        return [json.loads(line)]
    except (ValueError, RecursionError):
        return []


def _note(note: object) -> Note:
    """A note; only its number and text must be right, for a malformed note is consolidated as plain text."""
    fields = [*note, *[None] * 6] if isinstance(note, list) else [None] * 6
    number, timestamp, agent, category, content, more, *_ = fields
    if type(number) is not int or not isinstance(content, str):
        raise PromptError("Each note must be an array: a number, time, agent, category, and its text.")
    more = more if isinstance(more, dict) else {}
    tags = more.get("tags")
    return Note(
        number=number,
        timestamp=_string(timestamp),
        agent=_string(agent),
        category=_string(category),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        content=content,
        author=_string(more.get("author")),
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""

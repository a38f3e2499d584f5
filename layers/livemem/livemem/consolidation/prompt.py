"""The prompt, and how much of the model's window it may take.

Rules, synthesis, bank and notes are JSON values on one line each, so no note can forge the prompt's structure. What
changes least comes first, so that providers can cache the beginning.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from string import Template

from livemem.bank.files import BankFile
from livemem.llm.client import Messages
from livemem.notes.note import Note

BYTES_PER_TOKEN = 4
"""The planning bound (consolidation.md, 4), on UTF-8 so that scripts other than Latin count for more."""
ANSWER_BASE = 2_000
"""Tokens kept for an answer besides one for each token of the notes: edits are about as long as what they fold."""
MESSAGE_TOKENS = 50


@lru_cache(maxsize=8)
def _text(name: str) -> str:
    return resources.files("livemem.consolidation").joinpath("prompts", f"{name}.md").read_text("utf-8")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all prompt texts, for the record."""
    texts = "\0".join(_text(name) for name in ("system", "user", "rules_changed", "first", "retry"))
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def build(
    rules: str,
    synthesis: str | None,
    bank: Sequence[BankFile],
    notes: Sequence[Note],
    rules_changed_at: str | None = None,
) -> Messages:
    """System and user message for one consolidation; `rules_changed_at` is set if it is the first one after that."""
    user = Template(_text("user")).substitute(
        rules=_json(rules),
        rules_changed=_rules_changed(rules_changed_at) if rules_changed_at and bank else "",
        synthesis=_json(synthesis),
        bank=_json([{"filename": file.path, "content": file.content} for file in bank]),
        first="" if bank else _text("first"),
        notes=_json([_shown(number, note) for number, note in enumerate(notes, 1)]),
    )
    return [{"role": "system", "content": _text("system")}, {"role": "user", "content": user}]


def _rules_changed(moment: str) -> str:
    return Template(_text("rules_changed")).substitute(date=moment[:10])


def corrected(messages: Messages, answer: str, problem: str) -> Messages:
    """The messages of the one retry: the broken answer and what is wrong with it."""
    # Half a surrogate pair, which a broken answer may hold, can't be sent.
    shown = answer.encode(errors="replace").decode()
    return [
        *messages,
        {"role": "assistant", "content": shown},
        {"role": "user", "content": Template(_text("retry")).substitute(problem=problem)},
    ]


def size(messages: Messages) -> int:
    """Estimated tokens of all messages."""
    return sum(tokens(message["content"]) + MESSAGE_TOKENS for message in messages)


def note_tokens(note: Note) -> int:
    """Estimated tokens of one note in the prompt."""
    return tokens(_json(_shown(1_000, note))) + 1


def fitting(notes: Sequence[Note], *, fixed: int, window: int, answer_limit: int | None) -> int:
    """How many of the oldest notes fit into `window` tokens beside `fixed` ones and the answer they need."""
    used = 0
    for count, note in enumerate(notes):
        used += note_tokens(note)
        answer = ANSWER_BASE + used
        if fixed + used + min(answer, answer_limit or answer) > window:
            return count
    return len(notes)


def _shown(number: int, note: Note) -> dict[str, object]:
    return {
        "number": number,
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "content": note.content,
    }


def _json(value: object) -> str:
    # U+2028 and the like end a line for some readers; JSON may spell them.
    text = json.dumps(value, ensure_ascii=False)
    for separator in ("\u2028", "\u2029", "\x85"):
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text

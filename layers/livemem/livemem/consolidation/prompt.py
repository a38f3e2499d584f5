"""The prompt, and how much of the model's window it may take.

Rules, synthesis, bank and notes are JSON values on one line each, so no note can forge the prompt's structure. What
changes least comes first, so that providers can cache the beginning.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from importlib import resources
from string import Template

from livemem.bank.files import BankFile
from livemem.llm.client import Messages
from livemem.notes.note import Note
from livemem.text.invisible import json_escaped

BYTES_PER_TOKEN = 4
"""The planning bound (docs/consolidation.md, "Budget"), on UTF-8 so that scripts other than Latin count for more."""
ANSWER_BASE = 2_000
"""Tokens kept for an answer besides one for each token of the notes: edits are about as long as what they fold."""
LONE_NOTE_SHARE = 4
"""For a note that goes alone one token of the answer for four of its own is enough: the long ones get condensed."""
NOTES_ROOM = 1_000
"""Tokens that rules, synthesis and bank must leave for notes, else the space could not be folded any more."""
MESSAGE_TOKENS = 50


@lru_cache(maxsize=8)
def _text(name: str) -> str:
    return resources.files("livemem.consolidation").joinpath("prompts", f"{name}.md").read_text("utf-8")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all prompt texts, for the record."""
    texts = "\0".join(_text(name) for name in ("system", "user", "rules_changed", "first", "retry"))
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


def system() -> str:
    """The system message, the same for all spaces."""
    return _text("system")


def tokens(text: str) -> int:
    """Estimated tokens of a text."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def build(
    rules: str,
    synthesis: str | None,
    bank: Sequence[BankFile],
    notes: Sequence[Note],
    *,
    today: date,
    language: str | None = None,
    rules_changed_at: str | None = None,
) -> Messages:
    """System and user message for one consolidation on `today` (UTC); `language` is None for that of the rules.

    `rules_changed_at` is set if it is the first consolidation after that.
    """
    user = Template(_text("user")).substitute(
        rules=json_line(rules),
        rules_changed=_rules_changed(rules_changed_at) if rules_changed_at and bank else "",
        language=f"\nWrite bank and synthesis in the language {json_line(language)}.\n" if language else "",
        synthesis=json_line(synthesis),
        today=today.isoformat(),
        bank=json_line([{"filename": file.path, "content": file.content} for file in bank]),
        first="" if bank else _text("first"),
        notes=json_line([_shown(number, note) for number, note in enumerate(notes, 1)]),
    )
    return [{"role": "system", "content": system()}, {"role": "user", "content": user}]


def _rules_changed(moment: str) -> str:
    return Template(_text("rules_changed")).substitute(date=moment[:10])


def corrected(messages: Messages, answer: str, problem: str, *, window: int) -> Messages | None:
    """The messages of the one retry: the answer, cut where needed, and what is wrong with it.

    Half of what they leave of `window` tokens is kept for the new answer; None if that leaves nothing to show.
    """
    question = {"role": "user", "content": Template(_text("retry")).substitute(problem=problem)}
    left = window - size([*messages, question]) - MESSAGE_TOKENS
    # Half a surrogate pair, which a broken answer may hold, can't be sent.
    shown = answer.encode(errors="replace")[: max(min(left // 2, left - ANSWER_BASE), 0) * BYTES_PER_TOKEN]
    if not shown:
        return None
    return [*messages, {"role": "assistant", "content": shown.decode(errors="ignore")}, question]


def size(messages: Messages) -> int:
    """Estimated tokens of all messages."""
    return sum(tokens(message["content"]) + MESSAGE_TOKENS for message in messages)


def note_tokens(note: Note) -> int:
    """Estimated tokens of one note in the prompt."""
    return tokens(json_line(_shown(1_000, note))) + 1


def content_tokens(file: BankFile) -> int:
    """Estimated tokens of a bank file's content in the prompt."""
    return tokens(json_line(file.content))


def need(note: Note, answer_limit: int | None) -> int:
    """Tokens that a note takes if it is the only one, with room for the answer to it."""
    own = note_tokens(note)
    return own + _answer_room(own // LONE_NOTE_SHARE, answer_limit)


def least_room(answer_limit: int | None) -> int:
    """Tokens that rules, synthesis and bank must leave for notes and answer, so that a space can be folded."""
    return NOTES_ROOM + _answer_room(0, answer_limit)


def fitting(notes: Sequence[Note], *, fixed: int, window: int, answer_limit: int | None) -> int:
    """How many of the oldest notes fit into `window` tokens beside `fixed` ones and the answer they need."""
    used = 0
    for count, note in enumerate(notes):
        used += note_tokens(note)
        wanted = used + _answer_room(used, answer_limit) if count else need(note, answer_limit)
        if fixed + wanted > window:
            return count
    return len(notes)


def _answer_room(folded: int, answer_limit: int | None) -> int:
    wanted = ANSWER_BASE + folded
    return min(wanted, answer_limit or wanted)


def _shown(number: int, note: Note) -> dict[str, object]:
    return {
        "number": number,
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "content": note.content,
    }


def json_line(value: object) -> str:
    """A JSON value on one line, whatever readers take for the end of one: no text can forge what surrounds it, and what
    nobody sees is spelt.
    """
    return json_escaped(json.dumps(value, ensure_ascii=False))

"""The prompt, and how much of the model's window it may take.

Rules, synthesis, bank and notes are JSON values on one line each, so no note can forge the prompt's structure. What
changes least comes first, so that providers can cache the beginning.
"""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache, partial
from string import Template

from livemem.bank.files import BankFile
from livemem.llm import answering, templates, window
from livemem.llm.client import Messages
from livemem.llm.templates import json_line
from livemem.notes.note import Note

LONE_NOTE_SHARE = 4
"""A note that is folded alone gets one token of answer for four of its own: long notes are condensed."""
NOTES_ROOM = 1_000
"""Tokens that rules, synthesis and bank must leave for notes. With fewer the space could not be folded."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z")
_text = partial(templates.text, "consolidation")


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all prompt texts, for the record."""
    return templates.version([*map(_text, ("system", "user", "rules_changed", "first")), answering.correction()])


def system() -> str:
    """The system message, the same for all spaces."""
    return _text("system")


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
    """System and user message for one consolidation on `today` (UTC). `language` None: the language of the rules.

    `rules_changed_at` is set for the first consolidation after a change of the rules.
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


def note_tokens(note: Note) -> int:
    """Estimated tokens of one note in the prompt."""
    return window.tokens(json_line(_shown(1_000, note))) + 1


def content_tokens(file: BankFile) -> int:
    """Estimated tokens of a bank file's content in the prompt."""
    return window.tokens(json_line(file.content))


def need(note: Note, answer_limit: int | None) -> int:
    """Tokens that a note takes if it is the only one, with room for the answer to it."""
    own = note_tokens(note)
    return own + _answer_room(own // LONE_NOTE_SHARE, answer_limit)


def least_room(answer_limit: int | None) -> int:
    """Tokens that rules, synthesis and bank must leave for notes and answer, so that a space can be folded."""
    return NOTES_ROOM + _answer_room(0, answer_limit)


def fitting(notes: Sequence[Note], *, fixed: int, most: int, answer_limit: int | None) -> int:
    """How many of the oldest notes fit into `most` tokens beside `fixed` ones and the answer they need."""
    used = 0
    for count, note in enumerate(notes):
        used += note_tokens(note)
        wanted = used + _answer_room(used, answer_limit) if count else need(note, answer_limit)
        if fixed + wanted > most:
            return count
    return len(notes)


def _answer_room(folded: int, answer_limit: int | None) -> int:
    # Edits are about as long as the notes that they fold.
    wanted = window.ANSWER_TOKENS + folded
    return min(wanted, answer_limit or wanted)


def _shown(number: int, note: Note) -> list[object]:
    """A note in few letters: an array without names, and an object of what only some notes have."""
    more = {
        "tags": list(note.tags),
        "source": note.source.says() if note.source else None,
        "said_at": note.said_at and _minute(note.said_at),
        "author": note.author,
    }
    present = {name: value for name, value in more.items() if value}
    return [number, _minute(note.timestamp), note.agent, note.category, note.content, *([present] if present else [])]


def _minute(moment: str) -> str:
    """`2026-02-20T14:05:07Z` as `2026-02-20 14:05`. Any other text stays as it is."""
    match = _MOMENT.fullmatch(moment)
    return f"{match[1]} {match[2]}" if match else moment

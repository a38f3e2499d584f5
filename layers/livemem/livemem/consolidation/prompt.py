"""The prompts of a run, and how much of the model's window it may take.

Rules, synthesis, bank and notes are JSON values on one line each, so no note can forge the prompt's structure. What
changes least comes first, so that providers can cache the beginning.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from string import Template

from livemem.bank.files import BankFile
from livemem.changes.section_sources import own_texts
from livemem.consolidation import sizes
from livemem.llm import answering, templates, window
from livemem.llm.client import Messages
from livemem.llm.templates import json_line
from livemem.notes.note import Note
from livemem.spaces.rules import of_structure

LONE_NOTE_SHARE = 4
"""A note that is folded alone gets one token of answer for four of its own: long notes are condensed."""
NOTES_ROOM = 1_000
"""Tokens that rules, synthesis and bank must leave for notes. With fewer the space could not be folded."""
SYNTHESIS_CHARACTERS = 1_500
"""As prompts/system.md asks. The synthesis is part of every later prompt and of what agents load."""
SHOWN_NOTE = 2_000
"""Characters of a note that the question about what is lost shows."""
SHOWN_SYNTHESIS = 6_000
"""Characters of a synthesis that is too long which the model is shown."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z")
text = partial(templates.text, "consolidation")
TEXTS = (
    *("system", "user", "rules_changed", "first", "length", "over", "mend"),
    *("loose_ends", "changed_files", "uncited", "lost", "shorter"),
)
OUTLINE_TOKENS = 4_000
"""Tokens of the outline that a tidy run shows of all other files. The files behind them are left out of it."""


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all prompt texts, for the record."""
    return templates.version([*map(text, TEXTS), answering.correction()])


def system() -> str:
    """The system message, the same for all spaces."""
    return text("system")


def build(
    rules: str,
    synthesis: str | None,
    bank: Sequence[BankFile],
    notes: Sequence[Note],
    *,
    today: date,
    language: str | None = None,
    rules_changed_at: str | None = None,
    bank_chars: int = 0,
    numbers: Sequence[int] | None = None,
    more: str = "",
) -> Messages:
    """System and user message for one consolidation on `today` (UTC). `language` None: the language of the rules.

    `rules_changed_at` is set for the first consolidation after a change of the rules. `bank_chars` is the length that
    the bank should have, in characters, 0 if any. `numbers` are those of the notes, from 1 if None. `more` stands at
    the end.
    """
    user = Template(text("user")).substitute(
        rules=json_line(of_structure(rules)),
        rules_changed=_rules_changed(rules_changed_at) if rules_changed_at and bank else "",
        language=f"\nWrite bank and synthesis in the language {json_line(language)}.\n" if language else "",
        synthesis=json_line(synthesis),
        today=today.isoformat(),
        bank=json_line({file.path: file.content for file in bank}),
        first="" if bank or more else text("first"),
        length=_length(bank, bank_chars) if bank_chars else "",
        notes=json_line([fields_of(*pair) for pair in zip(numbers or range(1, len(notes) + 1), notes, strict=True)]),
        more=more,
    )
    return [{"role": "system", "content": system()}, {"role": "user", "content": user}]


def _length(bank: Sequence[BankFile], bank_chars: int) -> str:
    lengths = [len(file.content) for file in bank]
    return Template(text("length")).substitute(
        total=sum(lengths),
        files=json_line(lengths),
        wanted=bank_chars,
        over=f" {text('over').strip()}" if sizes.is_full(sum(lengths), bank_chars) else "",
    )


def loose_ends(
    uncited: Mapping[int, Note],
    lost: Mapping[int, tuple[Note, Sequence[str]]],
    headings: Mapping[str, Sequence[str]],
    synthesis: str,
) -> Messages:
    """The question about uncited notes, by their numbers, about `lost` ones with their missing words, and about a
    synthesis that is too long, "" if it is not.

    `headings` are those of each changed file.
    """
    notes = [fields_of(number, note)[:5] for number, note in uncited.items()]
    uncited_text = Template(text("uncited")).substitute(notes=json_line(notes))
    missing = [[number, note.content[:SHOWN_NOTE], words] for number, (note, words) in lost.items()]
    lost_text = Template(text("lost")).substitute(lost=json_line(missing))
    changed = Template(text("changed_files")).substitute(headings=json_line(headings))
    shorter = Template(text("shorter")).substitute(
        length=len(synthesis), most=SYNTHESIS_CHARACTERS, synthesis=json_line(synthesis[:SHOWN_SYNTHESIS])
    )
    question = Template(text("loose_ends")).substitute(
        files=changed if uncited or lost else "",
        uncited=uncited_text if uncited else "",
        lost=lost_text if lost else "",
        shorter=shorter if synthesis else "",
    )
    return [{"role": "user", "content": question}]


def _rules_changed(moment: str) -> str:
    return Template(text("rules_changed")).substitute(date=moment[:10])


def note_tokens(note: Note) -> int:
    """Estimated tokens of one note in the prompt."""
    return window.tokens(json_line(fields_of(1_000, note))) + 1


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
        tokens = used + _answer_room(used, answer_limit) if count else need(note, answer_limit)
        if fixed + tokens > most:
            return count
    return len(notes)


def _answer_room(folded: int, answer_limit: int | None) -> int:
    # Edits are about as long as the notes that they fold.
    tokens = window.ANSWER_TOKENS + folded
    return min(tokens, answer_limit or tokens)


def fields_of(number: int, note: Note) -> list[object]:
    """A note in few letters: an array without names, the day when it was said among them, and an object of what only
    some notes have. The order of the notes says the rest of the time.
    """
    more = {
        "tags": list(note.tags),
        "source": note.source.says() if note.source else None,
        "author": note.author,
    }
    present = {name: value for name, value in more.items() if value}
    return [number, _day(note.moment), note.agent, note.category, note.content, *([present] if present else [])]


def _day(moment: str) -> str:
    """`2026-02-20T14:05:07Z` as `2026-02-20`. Any other text stays as it is."""
    match = _MOMENT.fullmatch(moment)
    return match[1] if match else moment


def tidy_version() -> str:
    """A short hash of the texts of a tidy run, for the record."""
    return templates.version([text("tidy"), text("tidy_file"), answering.correction()])


def tidy(
    rules: str, file: BankFile, outline: Mapping[str, object], aim: int, *, today: date, language: str | None
) -> Messages:
    """System and user message for one file, which should have `aim` characters. `outline`: that of each, by path."""
    neighbours = [of_file for path, of_file in outline.items() if path != file.path]
    user = Template(text("tidy_file")).substitute(
        rules=json_line(of_structure(rules)),
        language=f"\nThe bank is written in the language {json_line(language)}.\n" if language else "",
        outline=json_line(window.fitting(neighbours, OUTLINE_TOKENS, lambda items: window.tokens(json_line(items)))),
        today=today.isoformat(),
        file=json_line({"filename": file.path, "content": file.content}),
        length=len(file.content),
        wanted=aim,
        less=len(file.content) - aim,
    )
    return [{"role": "system", "content": text("tidy")}, {"role": "user", "content": user}]


def outline(bank: Sequence[BankFile]) -> dict[str, object]:
    """The headings of each file, by its path, with the characters below them."""
    return {file.path: _headings(file) for file in bank}


def _headings(file: BankFile) -> object:
    headings = [[path[-1], len(text)] for path, text in own_texts(file.content).items() if path]
    return {"filename": file.path, "characters": len(file.content), "headings": headings}

"""Which statement of the bank a new note replaces.

Replacing wrongly costs more than keeping both. So the note must say in words that something changed or was wrong
("from today on", "instead of", "was wrong"), and one sentence of it must share most of the subject words of exactly one
statement. Numbers are no subject: they are what changes. That two notes contradict each other without a word of it, no
rule can know.
"""

import re

from local.offline_llm import sentences
from local.offline_llm.closing import OpenEntry, Waiting
from local.offline_llm.entries import Note, clean_text
from local.offline_llm.words import stems

STATEMENT = "statement"
"""The kind of an entry that stands until another one replaces it."""
CORRECTING = frozenset({"decision", "observation", "insight", "progress"})
"""Categories of notes that say what holds."""

_SAYS_SO = re.compile(
    r"\b(?:no longer|(?:not|n['’]t) [^.;:]{1,60}any ?more|instead of|rather than|from (?:now|today|tomorrow) on"
    r"|as of (?:now|today)|now, not|turned out|supersedes?|overrules?|replaces|taken back|reversed"
    r"|(?:is|was|were|are) (?:wrong|false|untrue|incorrect|a mistake)"
    r"|(?:do|does|did|is|are|was|were) not [^.;]{1,80}(?: but |: )"
    r"|au lieu de|désormais|dorénavant|(?:ne |n['’])[^.;:]{1,60} plus|(?:est|était) (?:faux|fausse|une erreur)|remplace"
    r"|nicht (?:mehr|länger)|statt|ab (?:heute|jetzt|sofort)|(?:ist|war) falsch|stellte sich heraus)\b"
    r"|\bnow\b.{1,60}, not\b",
    re.IGNORECASE,
)
_NEEDED = 0.6
"""Share of the statement's weighted subject words."""
_LEAST = 2
"""Subject words that both have in common at the least. One more where the statement has more than `_SHORT`."""
_SHORT = 4
_CLEAR = 0.85
"""What the next best statement may reach at the most, as a share of the best."""


def subject(text: str) -> frozenset[str]:
    """The subject words of a text without its numbers."""
    return frozenset(word for word in stems(text) if not word.isdigit())


def statement(text: str, place: object, *, decision: bool) -> OpenEntry:
    """An entry that a later note may replace, with the subject words of its first sentence."""
    first, *_ = [*sentences.split(text), ""]
    kinds = frozenset({STATEMENT, "decision"} if decision else {STATEMENT})
    return OpenEntry(kinds, text, "", place, subject(first), subject(first))


def find_corrected(note: Note, statements: Waiting) -> OpenEntry | None:
    """The statement that a note replaces. None where it says nothing of a change, or not clearly of which statement."""
    if note.category not in CORRECTING:
        return None
    said = sentences.split(clean_text(note.content))
    claims = [subject(text) for text in said if _SAYS_SO.search(text)]
    if not claims:
        return None
    # What was decided stands until something else is decided.
    rated = [
        (_match(entry, claims, statements), order)
        for order, entry in enumerate(statements.entries)
        if note.category == "decision" or "decision" not in entry.kinds
    ]
    (best, order), (next_best, _), *_ = [*sorted(rated, reverse=True)[:2], (0.0, -1), (0.0, -1)]
    return statements.entries[order] if best and next_best < best * _CLEAR else None


def _match(entry: OpenEntry, claims: list[frozenset[str]], statements: Waiting) -> float:
    """How much of a statement's subject a claim names: 0.0 if not enough of it."""
    needed = _LEAST if len(entry.stems) <= _SHORT else _LEAST + 1
    shares = [
        statements.weight(common) / statements.weight(entry.stems)
        for claimed in claims
        if len(common := entry.stems & claimed) >= needed
    ]
    return max((share for share in shares if share >= _NEEDED), default=0.0)

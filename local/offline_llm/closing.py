"""Which open entries a new note closes: a todo that is done, a question that is answered, an issue that is solved.

Closing wrongly costs more than leaving open, so a note must say so in words ("Done: ...", "... is fixed") and share
most of the subject words of the entry.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from local.offline_llm.affinity import CURRENT
from local.offline_llm.entries import Note, clean_text
from local.offline_llm.words import label_stems, normalise, stems

# The French words with their endings: "corrigé", "corrigées".
_FAIT = r"faite?s?|terminée?s?|finie?s?|achevée?s?|livrée?s?|réalisée?s?|déployée?s?|réglée?s?"
_RESOLU = r"corrigée?s?|résolue?s?|réglée?s?|réparée?s?"
_CLOSING_WORDS = {
    "todo": "done|finished|completed|implemented|resolved|closed|fixed|shipped|delivered|erledigt"
    rf"|{_FAIT}|corrigée?s?",
    "issue": "done|fixed|solved|resolved|repaired|cured|gone|closed|no longer|works? again|behoben"
    rf"|{_RESOLU}|disparue?s?|(?:ne |n['’])[^.;:]{{1,60}} plus|(?:marche|fonctionne)(?:nt)? (?:à|de) nouveau",
    CURRENT: rf"done|finished|completed|implemented|shipped|delivered|works now|erledigt|{_FAIT}",
    "question": "answer|answers|answered|resolved|settled|decided|clarified|solved|closed|beantwortet"
    rf"|réponse|répondue?s?|tranchée?s?|décidée?s?|clarifiée?s?|{_RESOLU}",
}
# Which categories may close what; a todo closes only when it opens with the closing word ("Done: ...").
_CLOSERS = {
    "todo": frozenset({"progress", "todo"}),
    CURRENT: frozenset({"progress"}),
    "issue": frozenset({"progress", "decision", "insight", "observation"}),
    "question": frozenset({"decision", "observation", "insight", "progress"}),
}
_NEGATION = re.compile(
    r"\b(?:not|never|nothing|half|partly|almost|nearly|hardly|isn't|wasn't|aren't|yet to be|to be|until|unless|once"
    r"|when|if|must be|should be|cannot be|nicht|noch nicht|pas|jamais|presque|rien|quand|si|sera|seront"
    r"|doit être|doivent être)"
    r"\s+(?:(?:yet|been|fully|all|encore|été|entièrement)\s+){0,2}$",
    re.IGNORECASE,
)
_SETTLED_TAGS = frozenset({"solved", "fixed", "resolved", "settled", "closed", "behoben", "résolu", "corrigé", "réglé"})
_SETTLED = re.compile(r"\b(?:now|therefore|désormais|maintenant|donc)\b", re.IGNORECASE)
# Something is left, wherever the note says so; and a "now" that tells of a new problem.
_UNSETTLED = re.compile(
    r"\b(?:still|until|would (?:cure|fix|solve|help|work)|remain(?:s|ing)?|not (?:yet|fixed|solved)|unsolved"
    r"|noch|immer|encore|toujours|restent?)\b",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"\b(?:fail(?:s|ing)?|crash(?:es)?|los(?:es?|ing)|hangs?|breaks?|broken|drops?|wrong|impossible|cannot|can't|blocked"
    r"|échoue|plante|perd|bloquée?s?|cassée?s?|perdue?s?)\b",
    re.IGNORECASE,
)
# "Fixed in 4f2a9c1": a sentence that says of the ones before it that the problem is over.
_BARE = re.compile(
    r"(?<=[.!?;])\s+(?:fixed|solved|resolved|repaired|behoben|corrigée?|résolue?|réglée?)\s+(?:in|by|with|since|at|on|durch|mit|dans|par|avec)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_BEFORE = 40  # characters in front of a closing word that may deny it
_OPENING = 0.5  # share of the entry's weighted subject words needed behind "Done: ..."
_WITHIN = 0.67  # the same where the word stands inside a sentence


@dataclass(frozen=True, eq=False)
class OpenEntry:
    """An entry that waits: its kinds (more than one where its section mixes them), its text and where it stands."""

    kinds: frozenset[str]
    text: str
    normalised: str
    place: object
    stems: frozenset[str]
    first_stems: frozenset[str]


def open_entry(kinds: Iterable[str], text: str, place: object) -> OpenEntry:
    """An open entry with its subject words: those of the whole text and those of its first sentence."""
    first = _SENTENCES.split(text, maxsplit=1)[0]
    return OpenEntry(frozenset(kinds), text, normalise(text), place, stems(text), stems(first))


@dataclass
class Waiting:
    """The open entries, oldest first, and how many of them hold each subject word."""

    entries: list[OpenEntry] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, entry: OpenEntry) -> None:
        """Another entry waits."""
        self.entries.append(entry)
        self.counts.update(entry.stems)

    def remove(self, entry: OpenEntry) -> None:
        """An entry is closed."""
        self.entries.remove(entry)
        self.counts.subtract(entry.stems)

    def weight(self, words: Iterable[str]) -> float:
        """The weight of subject words together. Words that many entries share say little about which entry is meant."""
        # fsum, because the order of a set's words differs between processes and the result must not.
        return math.fsum(math.log(1 + len(self.entries) / max(1, self.counts[word])) for word in words)


def find_closed(note: Note, waiting: Waiting) -> list[tuple[OpenEntry, str]]:
    """The entries that a note closes, best match first, each with the kind that it is closed as.

    The kind is "" where the section of the entry mixes kinds.
    """
    text = clean_text(note.content)
    claims = {kind: _claims(note, kind, text) for kind in _CLOSING_WORDS}
    if not any(claims.values()) and note.category != "progress":
        return []
    same, label = normalise(text), label_stems(text)
    found = []
    for order, entry in enumerate(waiting.entries):
        best = max((_match(entry, claims[kind], waiting) for kind in entry.kinds), default=0.0)
        if note.category == "progress" and "todo" in entry.kinds and entry.normalised == same:
            best = 1.0
        if CURRENT in entry.kinds and label and label_stems(entry.text) == label:
            best = 1.0  # "Current focus: ..." takes the place of the one before it
        if best:
            found.append((-best, order, entry))
    found.sort(key=lambda match: match[:2])
    # One note may close several entries, but only those that it names about as well as the best one.
    return [(entry, _only(entry.kinds)) for score, _, entry in found if score <= found[0][0] * 0.8]


def is_done_todo(note: Note) -> bool:
    """Whether a note of category todo reports that something is done instead of asking for it."""
    return note.category == "todo" and bool(_opening("todo").match(clean_text(note.content)))


def is_settled_issue(note: Note) -> bool:
    """Whether a note of category issue says itself that the problem is over: by a tag, or by how things are now.

    "The role now denies it too." settles; words that leave something open ("can still", "fails now") outweigh that.
    """
    if note.category != "issue":
        return False
    if any(tag.casefold() in _SETTLED_TAGS for tag in note.tags):
        return True
    # The first sentence tells the problem: "The parser now drops tabs."
    _, *later = _SENTENCES.split(clean_text(note.content))
    settled = any(_SETTLED.search(sentence) and not _FAILING.search(sentence) for sentence in later)
    return settled and not any(_UNSETTLED.search(sentence) for sentence in later)


def _claims(note: Note, kind: str, text: str) -> list[tuple[frozenset[str], float]]:
    """The parts of a note that say something is closed: their subject words and the share that must match."""
    if note.category not in _CLOSERS[kind]:
        return []
    claims = []
    if opening := _opening(kind).match(text):
        claims.append((stems(text[opening.end() :]), _OPENING))
    if kind == "issue" and note.category == "progress" and _BARE.search(text):
        claims.append((stems(text), _OPENING))
    if note.category != "todo":
        word = re.compile(rf"\b(?:{_CLOSING_WORDS[kind]})\b", re.IGNORECASE)
        claims += [
            (stems(sentence), _WITHIN)
            for sentence in _SENTENCES.split(text)
            if any(
                not _NEGATION.search(sentence[max(0, hit.start() - _BEFORE) : hit.start()])
                for hit in word.finditer(sentence)
            )
        ]
    return claims


def _opening(kind: str) -> re.Pattern[str]:
    return re.compile(
        rf"^\W*(?:\[x\]\s*)?(?:c['’]est\s+)?(?:(?:problème|question|tâche)\s+)?(?:{_CLOSING_WORDS[kind]})\b(?:\s+(?:is|now|to|of|the)\b)?\s*[:,.!–—-]?\s*",
        re.IGNORECASE,
    )


def _match(entry: OpenEntry, claims: Sequence[tuple[frozenset[str], float]], waiting: Waiting) -> float:
    """How much of an entry's subject a note's claims name, 0.0 if not enough of it."""
    best = 0.0
    for claimed, needed in claims:
        for subject in {entry.stems, entry.first_stems}:
            common = subject & claimed
            if not common or len(common) < min(3, len(subject)):
                continue
            share = waiting.weight(common) / waiting.weight(subject)
            if share >= needed:
                best = max(best, share)
    return best


def _only(kinds: frozenset[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else ""

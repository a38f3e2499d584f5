"""Documents that say again what a document above them says: they would take the place of others. Pure functions.

Different words for the same are not recognised, and in doubt a statement says something of its own: a value, a negation
or the order of two names may be all that is new.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from livemem.recall import conversation_documents
from livemem.recall.document_sources import SECTIONS
from livemem.search import words
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY, SUMMARY, TURN, Document
from livemem.search.engine import Hit
from livemem.search.words import Query

IN_ORDER = 0.8
"""The share of a statement's words that stand in the same order where all of them stand there."""
SPAN = 1.5
"""So many times as many words may be between the first and the last of them: a line may tell of two things."""
LONGEST_STATEMENT, LONGEST_TEXT = 1_000, 20_000
"""Characters of a statement, and of a text that may hold it. Longer ones are not compared."""
_DECISIVE = "not no nor never without isn't don't cannot can't won't ne pas non sans jamais aucun only seulement one"
"""Small words that decide what is said: both must have the same."""


class Saying:
    """A document as one or, of a section, as many statements: its lines."""

    def __init__(self, document: Document) -> None:
        """Its words are looked at when they are needed."""
        self.document = document

    @cached_property
    def said(self) -> list[str]:
        """Its words as a statement; none where it is too long for one, or asks."""
        text = self.document.text
        return [] if len(text) > LONGEST_STATEMENT or "?" in text else _said(text)

    @cached_property
    def words(self) -> frozenset[str]:
        """All its words, with those of its tags."""
        return frozenset(self.said).union(words.terms(" ".join(self.document.tags)))

    @cached_property
    def _context(self) -> frozenset[str]:
        return frozenset(words.terms(" ".join((self.document.title, *self.document.tags))))

    @cached_property
    def _lines(self) -> list[tuple[list[str], frozenset[str]]]:
        """The words of each line, and these with those of its context."""
        text = self.document.text
        if len(text) > LONGEST_TEXT:
            return []
        batch = text.splitlines() if self.document.kind == BANK else [text]
        # Who asks whether something is so does not say it.
        lines = [_said(line) for line in batch if "?" not in line]
        return [(line, self._context.union(line)) for line in lines]

    def holds(self, statement: "Saying") -> bool:
        """Whether one of its lines says all that a statement says, about the same. Tags and authors tell apart what is
        said of two environments in the same words.
        """
        own, other = self.document, statement.document
        if own.kind != BANK and (own.author, set(own.tags)) != (other.author, set(other.tags)):
            return False
        return len(statement.said) > 1 and any(
            here.issuperset(statement.words) and self._says(line, statement.said) for line, here in self._lines
        )

    def _says(self, line: Sequence[str], other: Sequence[str]) -> bool:
        if deciding(other) != deciding(line):
            return False
        sought = [word for word in other if word not in self._context or word in line]
        return any(
            self._context.union(part).issuperset(other) and _in_order(sought, part) >= IN_ORDER * len(sought)
            for part in _parts(line, int(SPAN * len(sought)))
        )


def _parts(line: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (line[begin : begin + size] for begin in range(max(1, len(line) - size + 1)))


def deciding(terms: Iterable[str]) -> frozenset[str]:
    """The small words among some that decide what is said. A text that denies something does not say it again."""
    return _decisive().intersection(terms)


def _said(text: str) -> list[str]:
    """The words that say something, and the small ones that decide it."""
    return [term for term in words.terms(text) if term not in words.stop_terms() or term in _decisive()]


@lru_cache(maxsize=1)
def _decisive() -> frozenset[str]:
    return frozenset(words.terms(_DECISIVE))


def _in_order(words: Sequence[str], rest: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    longest = [0] * (len(rest) + 1)
    for text in words:
        before = list(longest)
        for place, other in enumerate(rest, 1):
            longest[place] = before[place - 1] + 1 if text == other else max(before[place], longest[place - 1])
    return longest[-1]


BECAME = 0.7
"""The share of a note's words that the line has which it became: what a reader of the line may miss is little."""
MOST_SAID = 25
"""So many texts above are compared word by word with a statement."""


class _ShownLine:
    """The line that a section shows, with the headings above it."""

    def __init__(self, hit: Hit) -> None:
        """Its words are looked at when they are needed."""
        self._document = hit.document
        self._text = hit.document.text[slice(*hit.line)]

    @cached_property
    def _line(self) -> frozenset[str]:
        return words.content_terms(f"{self._document.title} {self._text}")

    @cached_property
    def _section(self) -> frozenset[str]:
        return words.content_terms(f"{self._document.title} {self._document.text}")

    def says(self, note: str, sought: frozenset[str]) -> bool:
        """Whether the line is what a note that went into the section became: it has most of the note's words, those
        with digits and those of the question among them, the section has no other of them, and both deny the same.
        """
        said = words.content_terms(note)
        shared = said & self._line
        needed = (said & self._section) | (said & sought) | {word for word in said if any(map(str.isdigit, word))}
        enough = said and len(shared) >= BECAME * len(said) and needed <= shared
        return bool(enough) and deciding(words.terms(note)) == deciding(words.terms(self._text))


class Above:
    """The documents of an answer so far, from the best one on."""

    def __init__(self, query: Query) -> None:
        """There is none yet."""
        self._sought = frozenset(query.words)
        self._turns: dict[tuple[str, int], str] = {}
        self._sections: list[tuple[str, str]] = []
        self._notes: list[tuple[str, str]] = []
        self._said: list[Saying] = []
        self._lines: dict[str, _ShownLine] = {}

    def add(self, hit: Hit) -> None:
        """The next one."""
        document = hit.document
        if document.kind in (BANK, ARCHIVE, LIVE, MEMORY) and len(self._said) < MOST_SAID:
            self._said.append(Saying(document))
        if document.kind == TURN:
            name = document.source["conversation_id"], int(document.source["turn_index"])
            self._turns.setdefault(name, document.id)
        elif document.kind == BANK:
            self._sections.append((_plain(document.text), document.id))
            if hit.line[1]:
                self._lines[document.id] = _ShownLine(hit)
        elif document.kind == ARCHIVE:
            self._notes.append((_plain(document.text), document.id))

    def original(self, document: Document) -> str | None:
        """The id of the document above that this one repeats, None if it repeats none.

        These repeat: a consolidated note the section with its words, and such a section the note; a note that was
        captured from a turn, and the summary of one turn, that turn; a note or a memory the line of a section, the note
        or the memory that says all that it says; a consolidated note the line that it became.
        """
        if document.kind == BANK:
            return self._note_of(document)
        if document.kind == ARCHIVE:
            plain = _plain(document.text)
            section = next((name for text, name in self._sections if plain in text), None)
            return section or self._turn_of(document) or self._said_before(document) or self._became(document)
        if document.kind == MEMORY:
            return self._said_before(document)
        if document.kind == LIVE:
            return self._turn_of(document) or self._said_before(document)
        return self._turn_of(document) if document.kind == SUMMARY else None

    def _said_before(self, statement: Document) -> str | None:
        saying = Saying(statement)
        return next((item.document.id for item in self._said if item.holds(saying)), None)

    def _became(self, note: Document) -> str | None:
        lines = ((name, self._lines.get(name)) for name in note.more.get(SECTIONS, ()))
        return next((name for name, line in lines if line and line.says(note.text, self._sought)), None)

    def _note_of(self, section: Document) -> str | None:
        """The best note above whose words are all that the section says to the question: each of its lines with a word
        of the question stands in such a note. A section has other lines, which may answer too.
        """
        whole = _plain(section.text)
        within = [(plain, name) for plain, name in self._notes if plain in whole]
        if not within:
            return None
        lines = [line.lstrip("-*+ ") for line in section.text.splitlines()]
        asked = [_plain(line) for line in lines if not self._sought.isdisjoint(words.terms(line))]
        told = all(any(line in plain or plain in line for plain, _ in within) for line in asked)
        return within[0][1] if asked and told else None

    def _turn_of(self, document: Document) -> str | None:
        ends = conversation_documents.ends(document.source, "covers")
        if not ends or (document.kind == SUMMARY and ends[0] != ends[1]):
            return None
        conversation = document.source["conversation_id"]
        if ends[1] - ends[0] < len(self._turns):
            numbers = range(ends[0], ends[1] + 1)
            return next((name for number in numbers if (name := self._turns.get((conversation, number)))), None)
        return next(
            (
                name
                for (said_in, item), name in self._turns.items()
                if said_in == conversation and ends[0] <= item <= ends[1]
            ),
            None,
        )


def holds(hit: Hit, note: Document, sought: frozenset[str]) -> bool:
    """Whether a section holds a note word for word, or shows the line that the note became. `sought`: the words of the
    question.
    """
    section = hit.document
    if hit.line[1] and section.id in note.more.get(SECTIONS, ()) and _ShownLine(hit).says(note.text, sought):
        return True
    return section.kind == BANK and _plain(note.text) in _plain(section.text)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()

"""The relevance that a text needs to be in a context. Small talk asks for nothing, and a text that shares nothing with
a message is no context for it. Pure functions.

A context goes into a prompt unread, so each of its texts has to pass the floor. The caller of a search judges, so there
one of the first hits is enough to keep all but memories, and where none passes, nothing was found (`is_passed`). There
memories are judged by what is usual in their space instead, and so are notes and sections where a fact is asked for
(search/evidence.py).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from livemem.search import words
from livemem.search.dates import names_relative_date
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY, PERSON, Document
from livemem.search.engine import Hit
from livemem.search.evidence import LIKELY, LIKELY_ACROSS, respelled
from livemem.search.sought import questions
from livemem.search.words import Query

ENOUGH_WORDS, ENOUGH_SHARE = 2, 1 / 3
"""Words of a message that a text must hold: so many, or this share of them."""
TOGETHER_SHARE = 1 / 2
"""The share of a question's words that the first hits of a search must hold together where no cosine speaks for one of
them. A long text holds one word of three by chance. Of several keywords other hits hold the others (docs/recall.md).
"""
UNLIKELY = 0.2
"""The cosine below which one shared word of several is chance: "my flight is on time" and "it saves time". It loses
0.2 % of the evidence of LoCoMo, and a tenth of the other texts (docs/search.md).
"""
UNLIKELY_FOUND = 0.12
"""The same in a search, whose caller judges: in a small space the one right text may be only a little nearer than
others. It loses no evidence of LoCoMo and CNIL-FR (docs/recall.md).
"""
LOOKED_AT = 10
"""The first hits of a search, of which one has to pass. With 25 the same evidence is found, and less nonsense is
recognised (docs/recall.md).
"""
LONGEST_STATEMENT = 60
"""Words of a text that is taken for one statement."""
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-Þ][^\W\d_]{2,40}(?![\w'’])")
"""A word that begins with a capital letter and is not joined to another one."""


@lru_cache(maxsize=1)
def unsaid_words() -> frozenset[str]:
    """All words that say nothing to look for, as they are written, without accents."""
    return words.little_said() | words.small_talk_words()


@dataclass(frozen=True)
class RelevanceFloor:
    """The conditions for a text to be relevant to a message. `wanted` are the message's words that say something."""

    wanted: frozenset[str]
    dated: bool = False
    names: frozenset[str] = frozenset()
    """Names that have the term of a word that says nothing, without accents: Léa (le), Sam (same)."""
    unlikely: float = UNLIKELY
    """The cosine below which one shared word of several is chance."""
    language: str | None = None
    """That of the message, where texts in another one pass by meaning more easily."""
    parts: tuple["RelevanceFloor", ...] = ()
    """Those of the questions that the message joins. A text that is relevant to one of them is enough."""

    @classmethod
    def of(cls, message: str) -> "RelevanceFloor":
        """The floor for a message."""
        whole, *parts = (cls._of(question) for question in questions(message))
        return replace(whole, parts=tuple(part for part in parts if not part.small_talk))

    @classmethod
    def _of(cls, message: str) -> "RelevanceFloor":
        asked = words.parse(words.plain(message))
        unsaid = words.stop_terms() | words.asking_terms() | words.small_talk_terms()
        # A smiley is a term too.
        said = frozenset(word for word in asked.words if word not in unsaid and any(map(str.isalnum, word)))
        return cls(said, bool(asked.dates) or names_relative_date(message), names=frozenset(_names(message, unsaid)))

    @classmethod
    def of_search(cls, text: str, query: Query, *, filtered: bool = False) -> "RelevanceFloor | None":
        """The floor for a search, whose `text` is parsed as `query`. None if the query has syntax: it says itself what
        has to be there. If no word says something, all words count, because its caller asks for just these. No floor
        either for such a query where documents are `filtered` by author, tag or time: all that pass are wanted.
        """
        if query.phrases or query.excluded or query.prefixes:
            return None
        floor = cls.of(text)
        floor = replace(
            floor,
            unlikely=UNLIKELY_FOUND,
            language=words.language(text),
            parts=tuple(replace(part, unlikely=UNLIKELY_FOUND) for part in floor.parts),
        )
        if floor.small_talk and filtered:
            return None
        return replace(floor, wanted=frozenset(query.words)) if floor.small_talk else floor

    @property
    def small_talk(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.wanted and not self.names

    @property
    def least_words(self) -> int:
        """This number of words of the message is enough without a cosine."""
        return min(ENOUGH_WORDS, len(self.wanted) + len(self.names))

    def admits(self, text: str, relevance: float | None = None) -> bool:
        """Whether a text is relevant: by its words, or by its `relevance`, a cosine where there is one."""
        if self.small_talk:
            return False
        if any(part.admits(text, relevance) for part in self.parts):
            return True
        asked = len(self.wanted) + len(self.names)
        shared = len(self._shared(text))
        if shared >= self.least_words or (relevance is not None and relevance >= LIKELY):
            return True
        return shared >= ENOUGH_SHARE * asked and (relevance is None or relevance >= self.unlikely)

    def admits_hit(self, hit: Hit) -> bool:
        """The same for a hit of a search. Its title and its author count as its text, and its day if the message names
        one.
        """
        return self._whatever_its_words(hit) or self.admits(text_of(hit.document), hit.relevance)

    def _whatever_its_words(self, hit: Hit) -> bool:
        return self._of_that_day(hit) or self._across(hit)

    def _across(self, hit: Hit) -> bool:
        """Whether a hit in another language is near in meaning. Few words are shared then. A question is near to every
        question, and no answer.
        """
        text, whole = hit.document.text, text_of(hit.document)
        if self.language is None or words.language(text) in (None, self.language) or text.rstrip().endswith("?"):
            return False
        enough = UNLIKELY if self._shared(whole) else LIKELY_ACROSS
        return (hit.relevance or 0) >= enough or self.admits(whole, hit.relevance)

    def is_no_answer(self, hit: Hit) -> bool:
        """Whether a hit is no answer however few there are: it fits worse than the average document, shares no word
        with the message, and is not near in meaning.
        """
        near = hit.relevance is not None and hit.relevance >= LIKELY
        return not (hit.score >= 0 or near or self._of_that_day(hit) or self._shared(text_of(hit.document)))

    def forgiving(self, terms: Iterable[str]) -> "RelevanceFloor":
        """The same, where a word that none of these texts holds stands for the one that was probably meant. As a search
        of memories does it (search/evidence.py).
        """
        holding = [frozenset(words.terms(text)) for text in terms]
        meant = respelled(self.wanted.difference(*holding), holding)

        def spelled(floor: RelevanceFloor) -> RelevanceFloor:
            return replace(floor, wanted=frozenset(meant.get(word, word) for word in floor.wanted))

        return replace(spelled(self), parts=tuple(map(spelled, self.parts)))

    def _by_words(self, hit: Hit) -> bool:
        """Whether nothing but its words speaks for a hit that passes."""
        return hit.relevance is None and hit.document.kind != MEMORY and not self._of_that_day(hit)

    def _of_that_day(self, hit: Hit) -> bool:
        return self.dated and hit.parts.get("near", 0.0) > 0

    def enough_together(self, words: Iterable[str]) -> bool:
        """Whether the texts of the first hits hold enough words of the message, where only words speak for them."""
        words = list(words)
        ids = frozenset[str]().union(*map(self._shared, words))
        if any(part.enough_together(words) for part in self.parts):
            return True
        return len(ids) >= min(self.least_words, TOGETHER_SHARE * (len(self.wanted) + len(self.names)))

    def _shared(self, text: str) -> frozenset[str]:
        """The words of the message that a text holds."""
        shared = self.wanted.intersection(words.terms(text))
        return shared | self.names.intersection(map(words.folded, _NAME.findall(text))) if self.names else shared

    def is_passed(self, first: Sequence[Hit], answering: Collection[str]) -> bool:
        """Whether a search with these first hits, at most LOOKED_AT, has found something: whether one passes.
        `answering`: the ids of those that may answer the question. Of memories that is enough.
        """

        def passes(hit: Hit) -> bool:
            may_answer = hit.document.id in answering
            if hit.document.kind == MEMORY:
                return may_answer
            return self.admits_hit(hit) if may_answer else self._whatever_its_words(hit)

        passing = [hit for hit in first if passes(hit)]
        if not all(map(self._by_words, passing)):
            return True
        return bool(passing) and self.enough_together(text_of(hit.document) for hit in first)


def text_of(document: Document) -> str:
    """All in which a word of the message may stand."""
    return f"{document.title} {document.author} {document.text}"


def statements_of(document: Document) -> list[str]:
    """The texts of a document that each state something by itself: of a note it is one, of a section each line. None of
    what was said in a talk, where the words of a question are often not repeated, and of long texts, which hold more
    than one fact.
    """
    if document.kind not in (LIVE, ARCHIVE, BANK) or document.role == PERSON:
        return []
    parts = [document.text[start:end] for start, end in document.passages]
    if any(len(part.split()) > LONGEST_STATEMENT for part in parts):
        return []
    return [f"{document.title} {document.author} {part}" for part in parts]


def _names(message: str, unsaid: frozenset[str]) -> Iterator[str]:
    for name in _NAME.findall(message):
        terms = words.terms(name)
        if terms and unsaid.issuperset(terms) and words.folded(name) not in unsaid_words():
            yield words.folded(name)

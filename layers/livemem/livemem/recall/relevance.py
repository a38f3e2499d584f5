"""The relevance that a text needs to be in a context. Small talk asks for nothing, and a text that shares nothing with
a message is no context for it. Pure functions.

A search has no floor, since its caller judges. A context goes into a prompt unread, so it has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from livemem.search import words
from livemem.search.engine import Hit

ENOUGH_WORDS, ENOUGH_SHARE = 2, 1 / 3
"""Words of a message that a text must hold: so many, or this share of them."""
LIKELY = 0.35
"""The cosine from which a text is relevant although it shares no word: it may be in another language. Below it the
offline model finds many texts about other subjects (benchmarks/contexts.py).
"""
_SMALL_TALK = """
ok okay k kk thanks thank thx ty cheers hello hi hey bye goodbye morning afternoon evening night good great nice cool
fine perfect excellent awesome wonderful super sure yep yeah yup nope right alright understood welcome sorry go on
continue proceed lol haha hmm wow
merci beaucoup bonjour bonsoir salut coucou revoir adieu bonne bon nuit soiree journee matin accord parfait genial
excellent impeccable nickel oui ouais non vas allez allons va y continue continuons continuez suite pardon desole
bien entendu voila chouette nouvelles plait
"""


@lru_cache(maxsize=1)
def small_talk_terms() -> frozenset[str]:
    """The terms of words that say nothing to look for."""
    return frozenset(words.terms(_SMALL_TALK))


@dataclass(frozen=True)
class RelevanceFloor:
    """The conditions for a text to be relevant to a message. `wanted` are the message's words that say something."""

    wanted: frozenset[str]
    dated: bool = False

    @classmethod
    def of(cls, message: str) -> "RelevanceFloor":
        """The floor for a message."""
        asked = words.parse(words.plain(message))
        unsaid = words.stop_terms() | words.asking_terms() | small_talk_terms()
        # A smiley is a term too.
        said = frozenset(word for word in asked.words if word not in unsaid and any(map(str.isalnum, word)))
        return cls(said, bool(asked.dates))

    @property
    def small_talk(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.wanted

    def admits(self, text: str, relevance: float | None = None) -> bool:
        """Whether a text is relevant: by its words, or by its `relevance`, a cosine where there is one."""
        if self.small_talk:
            return False
        shared = len(self.wanted.intersection(words.terms(text)))
        by_words = shared >= ENOUGH_WORDS or shared >= ENOUGH_SHARE * len(self.wanted)
        return by_words or (relevance is not None and relevance >= LIKELY)

    def admits_hit(self, hit: Hit) -> bool:
        """The same for a hit of a search. Its title and its author count as its text, and its day if the message names
        one.
        """
        document, parts = hit.document, hit.parts
        of_that_day = self.dated and _adds(parts, "near")
        return of_that_day or self.admits(f"{document.title} {document.author} {document.text}", hit.relevance)


def _adds(parts: Mapping[str, float], name: str) -> bool:
    return parts.get(name, 0.0) > 0

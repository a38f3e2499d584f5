"""Whether two texts say the same in the same words. This needs no model.

Case, punctuation between words, articles, and where a phrase such as "on Mondays" stands make no difference. Everything
else does, and the order of words too: "Lyon to Nice" is not "Nice to Lyon", and "Ann leads Bob" is not "Bob leads Ann".
Only one move keeps the order: that of a phrase with its preposition from the end to the front.
"""

import re
from dataclasses import dataclass

from livemem.text import similarity

_OPENING = "\"'`«“”‘([{"
_CLOSING = ".,;:!…\"'`»“”’)]}"
"""A question mark is none of them: a question states no fact."""
_PLAIN = re.compile(r"[-–—.,;:!…]+")
"""A token of punctuation alone."""
_SENTENCE_END = re.compile(r"[.!?:]['\"»”)\]]*\Z")
_ASKS = re.compile(r"\s*\?+(?=[\s\"'»”)]|\Z)")
_ARTICLES = {"the": "", "a": "", "an": "", "le": "m", "un": "m", "la": "f", "une": "f", "les": "les", "des": "des"}
"""Each with its meaning: "le poste" is not "la poste", and "des tests" are not "les tests"."""
_MOVABLE = frozenset(
    """
    in on at by from to with without for after before during since until till under over between through across via
    per within into around near against if when while because unless once every each
    à au aux en dans sur sous par pour avec sans après avant pendant depuis dès vers chez entre contre si quand lorsque
    car chaque tous toutes
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays lundi mardi mercredi jeudi vendredi samedi dimanche
    """.split()
)
"""Words that begin a phrase that may stand first or last."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without case and punctuation. `article`: the meaning of the article before it, empty if it has none."""

    text: str
    article: str = ""


def words(text: str) -> tuple[Word, ...]:
    """The words of a text, without articles."""
    shouted = text.upper() == text
    # In French a blank stands before it.
    tokens = _ASKS.sub(" ?", similarity.dressed(text)).split()
    result: list[Word] = []
    article, begins = "", True
    for place, token in enumerate(tokens):
        bare = _bare(token)
        if not bare or (_PLAIN.fullmatch(bare) and not _counts(bare, tokens[place + 1 : place + 2])):
            begins = begins or bool(_SENTENCE_END.search(token))
            continue
        folded = bare.casefold()
        written_small = shouted or bare == bare.lower() or (begins and bare[1:] == bare[1:].lower())
        begins = bool(_SENTENCE_END.search(token))
        # The last word is none: "hepatitis A", "plan a".
        if folded in _ARTICLES and written_small and place < len(tokens) - 1 and bare == token:
            article = _ARTICLES[folded]
            continue
        elided = folded.removeprefix("l'")
        result.append(Word(elided or folded, article))
        article = ""
    return tuple(result)


def _bare(token: str) -> str:
    """Without the punctuation around it."""
    bare = token.lstrip(_OPENING)
    # 5" and 6' are lengths, where no quote opens them.
    if bare == token and re.fullmatch(r".*\d[\"']+", token):
        return bare
    return bare.rstrip(_CLOSING) or bare


def _counts(mark: str, following: list[str]) -> bool:
    """Whether a mark that stands alone means something: the minus of a number does."""
    return mark == "-" and bool(following) and following[0][:1].isdigit()


def bag(text: str) -> str:
    """The lookup key that two texts share if they may be in the same words."""
    return " ".join(sorted(word.text for word in words(text)))


def same(text: str, other: str) -> bool:
    """Whether both say the same in the same words."""
    if similarity.normalised(text) == similarity.normalised(other):
        return True
    first, right = words(text), words(other)
    if not first or len(first) != len(right):
        return False
    if _agree(first, right):
        return True
    return any(
        _agree(moved[place:] + moved[:place], still)
        for moved, still in ((first, right), (right, first))
        for place in range(1, len(moved))
        if moved[place].text in _MOVABLE
    )


def _agree(first_words: tuple[Word, ...], other: tuple[Word, ...]) -> bool:
    return all(
        first.text == second.text and (not first.article or not second.article or first.article == second.article)
        for first, second in zip(first_words, other, strict=True)
    )

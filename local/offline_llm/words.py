"""The words of a text, reduced so that "pinned" meets "pins": light English and French stemming, no dictionary."""

import re
import unicodedata
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_TO_DO = re.compile(r"\bto[ -]do\b", re.IGNORECASE)

# Up to eight words in front of a colon.
_LABEL = re.compile(r"^(?:the\s+|our\s+)?([^\W_]+(?:[ -][^\W_]+){0,7}):\s", re.IGNORECASE)

_FRENCH = re.compile(
    r"[àâçéèêëîïôûùœ]|\b(le|la|les|des|est|une?|dans|que|qui|quoi|pour|pas|sur|avec|tu|te|toi|je|où|quand|dit|"
    r"souviens|retiens|oublie|bonjour|quel(?:le)?s?)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(the|is|are|was|were|what|who|where|when|why|how|do|does|did|you|your|of|and|that|remember|forget|in|to|i)\b",
    re.IGNORECASE,
)
READ = 20_000
"""Characters of a text that are read for its language."""


def is_french(text: str) -> bool:
    """Whether the text is in French rather than in English."""
    return len(_FRENCH.findall(text[:READ])) > len(_ENGLISH.findall(text[:READ]))


# Words that say nothing about the subject. Category words such as "done" and "todo" are among them: they decide by
# affinity and by closing phrases, so as common words they would count twice.
_STOPWORDS = """
    a about after again all also am an and any are as at be because been before being both but by can cannot
    could did do does doing don down each even few for from had has have having he her here him his how i if in
    instead into is it its itself just let like may me might more most much must my need no nor not now of off
    on once one only or other our out over own per same say says see set she should since so some still such
    take than that the their them then there these they thing this those through thus to too two under until up
    upon us use used uses using very was way we were what when where which while who whom why will with without
    would yes yet you your done finished completed started begun began todo note notes au aux avec ce ces dans
    de des du elle en est et il la le les leur lui mais ou par pas pour que qui sa se ses son sont sur un une
    als auch auf aus bei das dass dem den der die ein eine einer es ist mit nach nicht oder sich sind und von
    vor wie wird zu zum zur belong belongs behind every everything place places stay stays turn turned keep
    keeps kept make makes made takes taken give gives given go goes come comes get gets put puts really rather
    right different kind ways work works working new old first second last next a ont été être avons nous on nos
    notre cette cet plus fait faite terminé terminée fini finie commencé démarré
    question problème tâche quel quelle quels quelles comment combien quand où
"""


def unaccented(text: str) -> str:
    """The text in small letters without accents: "Décisions" is spelled "decisions" as often."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(maxsize=50_000)
def stem(word: str, *, french: bool = False) -> str:
    """The stem of one lower-case word: without plural, -ing, -ed and a final e. Short words stay as they are.

    A French one is without -er and -ée, so that "tester" meets "testées".
    """
    if len(word) > 4 and word.endswith("ies") and not french:
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if french:
        ending = next((suffix for suffix in ("er", "ee") if len(word) > 5 and word.endswith(suffix)), "")
        word = word.removesuffix(ending)
        return word[:-1] if len(word) > 3 and word[-1] == "e" else word
    for suffix in ("ing", "ed"):
        if len(word) > len(suffix) + 2 and word.endswith(suffix):
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def all_stems(text: str) -> frozenset[str]:
    """The stems of every word of a text, common words included."""
    spaced = _CAMEL.sub(" ", _TO_DO.sub("todo", text))
    french = is_french(text)
    return frozenset(stem(word, french=french) for word in _WORD.findall(unaccented(spaced)))


def word_stems(text: str) -> tuple[str, ...]:
    """The stems of every word of a text, in order."""
    french = is_french(text)
    return tuple(stem(word, french=french) for word in _WORD.findall(unaccented(text)))


def label_stems(text: str) -> tuple[str, ...]:
    """The stems of the words before a text's first colon, if it opens with such a label; else nothing."""
    found = _LABEL.match(text.strip()[:200])
    return word_stems(found[1]) if found else ()


@lru_cache(maxsize=1)
def _stop_stems() -> frozenset[str]:
    words = unaccented(_STOPWORDS).split()
    return frozenset(stem(word, french=french) for word in words for french in (False, True))


# Each note is compared with each line of the bank.
@lru_cache(maxsize=4_096)
def stems(text: str) -> frozenset[str]:
    """The stems of the words that carry the subject of a text: no common words, no single letters."""
    return frozenset(word for word in all_stems(text) - _stop_stems() if len(word) > 1)


def content_stems(text: str) -> tuple[str, ...]:
    """The same in order, with repeats."""
    return tuple(word for word in word_stems(text) if len(word) > 1 and word not in _stop_stems())


def normalise(text: str) -> str:
    """The form in which equal texts count as the same: without case, white space, escapes and a final full stop."""
    return " ".join(text.replace("\\", "").casefold().split()).rstrip(".! ")

"""The words of a text, reduced so that "pinned" meets "pins": light English and French stemming, no dictionary."""

import re
import unicodedata
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_TO_DO = re.compile(r"\bto[ -]do\b", re.IGNORECASE)

_FRENCH = re.compile(
    r"[àâçéèêëîïôûùœ]|\b(le|la|les|des|est|une?|dans|que|qui|quoi|pour|pas|sur|avec|tu|te|toi|je|où|quand|dit|"
    r"souviens|retiens|oublie|bonjour|quel(?:le)?s?)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(the|is|are|was|were|what|who|where|when|why|how|do|does|did|you|your|of|and|that|remember|forget|in|to|i)\b",
    re.IGNORECASE,
)


def is_french(text: str) -> bool:
    """Whether the text is in French rather than in English, as far as its beginning tells."""
    return len(_FRENCH.findall(text[:20_000])) > len(_ENGLISH.findall(text[:20_000]))


# Words that say nothing about the subject. Category words such as "done" and "todo" are among them: they decide by
# affinity and by closing phrases, so as common words they would count twice.
_STOPWORDS = """
    a about after again all also am an and any are as at be because been before being both but by can cannot could did
    do does doing down each even few for from had has having he here him his how i if in instead into is it its itself
    just let like may me might more most much must my need no nor now of off on once one only or other our out over own
    per same says see set she should since so some still such than that the their them then there these they thing this
    those through thus to too two under until up upon us used uses using very was we were what when where which while
    who whom why will with without would yes yet you your done finished completed started begun began todo notes au aux
    avec ce ces dans de des du elle en est et il la le les leur lui mais par pas pour que qui sa se ses son sont sur un
    une als auch auf aus bei das dass dem den der die eine einer es ist mit nach nicht oder sich sind und von vor wie
    wird zu zum zur belongs behind every everything places stays turned keeps kept makes made takes taken gives given go
    goes comes gets puts really rather right different kind ways working new old first second last next ont été être
    avons nous nos notre cette cet plus faite terminée finie commencé démarré question problème tâche quels quelles
    comment combien quand où
"""


_PLURAL, _SILENT = (re.compile(r"(?<=..[^s])s$"), ""), (re.compile(r"(?<=...)e$"), "")
_ENDINGS = (
    (re.compile(r"(?<=..)ies$"), "y"),
    _PLURAL,
    (re.compile(r"(?<=..)([^lsz])\1(?:ing|ed)$|(?<=...)(?:ing|ed)$"), r"\1"),
    _SILENT,
)
_FRENCH_ENDINGS = (_PLURAL, (re.compile(r"(?<=....)(?:er|ee)$"), ""), _SILENT)


def unaccented(text: str) -> str:
    """The text in small letters without accents: "Décisions" is spelled "decisions" as often."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@lru_cache(maxsize=50_000)
def stem(word: str, *, french: bool = False) -> str:
    """The stem of one lower-case word: without plural, -ing, -ed, a final e, and in French -er and -ée."""
    for ending, short in _FRENCH_ENDINGS if french else _ENDINGS:
        word = ending.sub(short, word)
    return word


def word_stems(text: str) -> tuple[str, ...]:
    """The stems of every word of a text, in order, common words included."""
    french, spaced = is_french(text), _CAMEL.sub(" ", _TO_DO.sub("todo", text))
    return tuple(stem(word, french=french) for word in _WORD.findall(unaccented(spaced)))


def content_stems(text: str) -> tuple[str, ...]:
    """The stems of the words that carry the subject of a text, in order: no common words, no single letters."""
    return tuple(word for word in word_stems(text) if len(word) > 1 and word not in _stop_stems())


# Each note is compared with each open line of the bank.
@lru_cache(maxsize=4_096)
def stems(text: str) -> frozenset[str]:
    """The same, each once."""
    return frozenset(content_stems(text))


@lru_cache(maxsize=1)
def _stop_stems() -> frozenset[str]:
    words = unaccented(_STOPWORDS).split()
    return frozenset(stem(word, french=french) for word in words for french in (False, True))


def normalise(text: str) -> str:
    """The form in which equal texts count as the same: without case, white space, escapes and a final full stop."""
    return " ".join(text.replace("\\", "").casefold().split()).rstrip(".! ")

"""The words of a text, reduced so that "pinned" meets "pins": light English and French stemming, no dictionary."""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from livemem.text.text_tokens import folded

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_TO_DO = re.compile(r"\bto[ -]do\b", re.IGNORECASE)

VOCABULARY: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


def alternatives(text: str) -> str:
    """The lines of a text as alternatives of one pattern."""
    return "|".join(filter(None, text.split("\n")))


def pattern(text: str) -> re.Pattern[str]:
    """A pattern of the vocabulary."""
    return re.compile(alternatives(text), re.IGNORECASE | re.DOTALL)


_FRENCH, _ENGLISH = pattern(VOCABULARY["patterns"]["french"]), pattern(VOCABULARY["patterns"]["english"])


def is_french(text: str) -> bool:
    """Whether the text is in French rather than in English, as far as its beginning tells."""
    return len(_FRENCH.findall(text[:20_000])) > len(_ENGLISH.findall(text[:20_000]))


_PLURAL, _SILENT = (re.compile(r"(?<=..[^s])s$"), ""), (re.compile(r"(?<=...)e$"), "")
_ENDINGS = (
    (re.compile(r"(?<=..)ies$"), "y"),
    _PLURAL,
    (re.compile(r"(?<=..)([^lsz])\1(?:ing|ed)$|(?<=...)(?:ing|ed)$"), r"\1"),
    _SILENT,
)
_FRENCH_ENDINGS = (_PLURAL, (re.compile(r"(?<=....)(?:er|ee)$"), ""), _SILENT)


@lru_cache(maxsize=50_000)
def stem(word: str, *, french: bool = False) -> str:
    """The stem of one lower-case word: without plural, -ing, -ed, a final e, and in French -er and -ée."""
    for ending, short in _FRENCH_ENDINGS if french else _ENDINGS:
        word = ending.sub(short, word)
    return word


def word_stems(text: str) -> tuple[str, ...]:
    """The stems of every word of a text, in order, common words included."""
    french, spaced = is_french(text), _CAMEL.sub(" ", _TO_DO.sub("todo", text))
    return tuple(stem(word, french=french) for word in _WORD.findall(folded(spaced)))


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
    words = folded(VOCABULARY["common"]).split()
    return frozenset(stem(word, french=french) for word in words for french in (False, True))


def normalise(text: str) -> str:
    """The form in which equal texts count as the same: without case, white space, escapes and a final full stop."""
    return " ".join(text.replace("\\", "").casefold().split()).rstrip(".! ")

"""Which of some languages a text is in, by its commonest words: enough to see that a summary is in another one."""

import re
from collections import Counter
from functools import cache
from typing import Literal

Lang = Literal["fr", "en"]
"""The languages of headings and pages."""
LANGUAGES: tuple[Lang, ...] = ("fr", "en")
LANGUAGE_DEFAULT: Lang = "en"
LEAST_WORDS = 8
"""Common words that a text must hold for its language to be recognised."""
LEAD = 1.5
"""By how much the first language must be ahead of the second."""
_COMMON = {
    "en": "the and of to in is that it for was with are this not be on have from by which what has were will can",
    "fr": "le la les des et est une dans que qui pour pas sur avec sont au du ce il elle nous vous mais plus par",
    "de": "der die das und ist nicht ein eine mit den von zu auf für im dem es sich auch als wird sind bei aber",
    "es": "el los las de que y es una por con para no se del como más pero su al lo esta son hay fue porque",
    "it": "il di che è un una per non con sono della nel alla le gli dei ma come anche più questo si da ha ho",
    "pt": "o os de que e é uma para com não do da em por mais como mas se dos foi ao pela são está isso",
    "nl": "de het een en van is dat niet op te zijn met voor die er maar ook aan om bij uit nog naar wordt",
}
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"`[^`\n]*`")
_OF_NAMES = re.compile(r"[/\\_.]\S")
LOOKED_AT = 20_000
"""Characters of a text that are read for its language."""


@cache
def _languages() -> dict[str, list[str]]:
    of: dict[str, list[str]] = {}
    for language, words in _COMMON.items():
        for word in words.split():
            of.setdefault(word, []).append(language)
    return of


def detect(text: str, *, least: int = LEAST_WORDS) -> str | None:
    """The language of the text (`en`), or None if it is uncertain: fewer than `least` common words."""
    prose = (part for part in _CODE.sub(" ", text[:LOOKED_AT]).lower().split() if not _OF_NAMES.search(part))
    counts = Counter(found for part in prose for word in _WORD.findall(part) for found in _languages().get(word, ()))
    first, second = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first[0] if first[1] >= least and first[1] >= LEAD * second[1] else None


def language_of(tag: str | None) -> Lang:
    """The language of the headings for the language of a space (a tag such as `fr-CA`); English for all others."""
    primary = (tag or "").casefold().partition("-")[0]
    return next((lang for lang in LANGUAGES if lang == primary), LANGUAGE_DEFAULT)


def knows(language: str) -> bool:
    """Whether a language (`en`) is one of those that are recognised."""
    return language in _COMMON


def differ(text: str, other: str) -> bool:
    """Whether the two are in different languages for sure."""
    languages = detect(text), detect(other)
    return None not in languages and languages[0] != languages[1]

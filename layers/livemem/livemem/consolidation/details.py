"""The details of a text that a reader may need word for word: identifiers, numbers, dates, names. Pure.

A detail has several forms: 3 May is 2026-05-03, 300 s is 5 minutes. A text holds a detail if it has one of its forms.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from livemem.text import text_tokens
from livemem.text.text_tokens import TextToken, folded

_MONTHS = (
    "jan january janv janvier",
    "feb february fev fevr fevrier",
    "mar march mars",
    "apr april avr avril",
    "may mai",
    "jun june juin",
    "jul july juil juillet",
    "aug august aout",
    "sep sept september septembre",
    "oct october octobre",
    "nov november novembre",
    "dec december decembre",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAMED = "|".join(sorted(_MONTH, key=len, reverse=True)).replace("fev", "f[eé]v").replace("dece", "d[eé]ce")
_NAMED = _NAMED.replace("aout", "ao[uû]t")
_YEAR = r"(?:,?\s+\d{4}\b)?"
_DATE = re.compile(
    r"\b\d{4}-(?P<m1>\d\d)-(?P<d1>\d\d)(?:T(?=\d))?"
    rf"|\b(?P<d2>[0-3]?\d)(?:st|nd|rd|th|er|\.)?\s+(?:of\s+)?(?P<m2>{_NAMED})\b\.?{_YEAR}"
    rf"|\b(?P<m3>{_NAMED})\.?\s+(?P<d3>[0-3]?\d)(?:st|nd|rd|th)?\b{_YEAR}"
    r"|\b(?P<a>[0-3]?\d)(?P<by>[./])(?P<b>[0-3]?\d)(?P=by)(?:20\d\d|\d\d)\b",
    re.IGNORECASE,
)
_MONTH_AND_DAY = re.compile(r"(?<![\w-])([01]\d)-([0-3]\d)(?![\w-])")
"""What a bank may write for a day. In a note it may be a range."""
_TIME = re.compile(
    r"\b(?P<hour>[0-2]?\d)(?::|\s?h\s?)(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[ap])m)?\b"
    r"|\b(?P<hour_alone>1?\d)\s?(?P<half_alone>[ap])m\b",
    re.IGNORECASE,
)
_DURATION = re.compile(
    r"\b(?P<number>\d+(?:[.,]\d+)?)\s?"
    r"(?P<unit>s|secs?|seconds?|secondes?|min|mins|minutes?|h|hours?|heures?|d|days?|j|jours?)\b",
    re.IGNORECASE,
)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "j": 86_400}
_ATTACHED = re.compile(r"(?P<number>\d+(?:[.,]\d+)*)(?:[^\W\d_]{1,4}|[%+]+)?")
"""A number with its unit: 10GB, 80%, 8th."""
_COMMA = re.compile(r"(?<=\d),(?=\d\d?\b)")
"""Of a decimal number in French."""
_PART = re.compile(r"[^\W_]+")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
_VERSION = re.compile(r"^v(?=\d)")
_SHORT_TAG = re.compile(r"[#@]\w+")
_COUNTED = {
    text_tokens.read(word).tokens[0].root: str(number)
    for number, words in enumerate(
        (
            "one first once premier",
            "two second twice both deux deuxieme",
            "three third thrice trois troisieme",
            "four fourth quatre quatrieme",
            "five fifth cinq cinquieme",
            "six sixth sixieme",
            "seven seventh sept septieme",
            "eight eighth huit huitieme",
            "nine ninth neuf neuvieme",
            "ten tenth dix dixieme",
            "eleven onze",
            "twelve dozen douze",
        ),
        1,
    )
    for word in words.split()
}


@dataclass(frozen=True, slots=True)
class TextDetail:
    """One detail: as it is written, its forms, and its weight. The weight is 2 if it says something by itself, 1 if it
    is weaker, 0 for the hash of a commit.
    """

    text: str
    forms: frozenset[str]
    weight: int
    kind: str

    def is_held(self, spoken: set[str]) -> bool:
        """Whether one of its forms is among `spoken`, or all parts of a path are."""
        return bool(self.forms & spoken) or any("/" in form and spoken.issuperset(_parts(form)) for form in self.forms)


def read(text: str) -> list[TextDetail]:
    """The details of a text. A part of a date, a time or a duration is no detail of its own."""
    details: list[TextDetail] = []

    def taken(pattern: re.Pattern[str], make: Callable[[re.Match[str]], TextDetail], rest: str) -> str:
        def take(match: re.Match[str]) -> str:
            details.append(make(match))
            return " "

        return pattern.sub(take, rest)

    rest = taken(_DURATION, _of_duration, taken(_TIME, _of_time, taken(_DATE, _of_date, _COMMA.sub(".", text))))
    details += (detail for token in text_tokens.read(rest).tokens if (detail := _of_token(token)))
    return details


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def held_by(texts: Iterable[str]) -> set[str]:
    """All forms of the details of the texts, and their words and the parts of these."""
    forms: set[str] = set()
    for text in texts:
        forms.update(part for detail in read(text) for form in detail.forms for part in (form, *_parts(form)))
        forms.update(f"{int(month)}-{int(day)}" for month, day in _MONTH_AND_DAY.findall(text))
        forms.update(_words(text))
    return forms


def _words(text: str) -> Iterator[str]:
    for word in map(folded, _PART.findall(text)):
        yield word
        counted = _COUNTED.get(text_tokens.root(word))
        if counted:
            yield counted


def _of_date(match: re.Match[str]) -> TextDetail:
    if match["by"]:
        a, b = int(match["a"]), int(match["b"])
        forms = {f"{a}-{b}", f"{b}-{a}"}
    else:
        month = folded(match["m1"] or match["m2"] or match["m3"])
        day = int(match["d1"] or match["d2"] or match["d3"])
        forms = {f"{int(month) if month.isdigit() else _MONTH[month]}-{day}"}
    return TextDetail(match[0].strip(), frozenset(forms), 2, "date")


def _of_time(match: re.Match[str]) -> TextDetail:
    hour = int(match["hour"] or match["hour_alone"])
    afternoon = (match["half"] or match["half_alone"] or "a").lower() == "p"
    hour += 12 if afternoon and hour < 12 else 0
    return TextDetail(match[0], frozenset({f"{hour}:{match['minute'] or '00'}"}), 1, "time")


def _of_duration(match: re.Match[str]) -> TextDetail:
    number = match["number"].replace(",", ".")
    forms = {number, f"{float(number) * _SECONDS[match['unit'][0].lower()]:g} s"}
    return TextDetail(match[0], frozenset(forms), _weight(number), "number")


def _of_token(token: TextToken) -> TextDetail | None:
    plain = folded(token.root)
    attached = _ATTACHED.fullmatch(plain)
    if attached or token.root in _COUNTED:
        number = attached["number"].replace(",", ".") if attached else _COUNTED[token.root]
        return TextDetail(token.root, frozenset({number, plain}), _weight(number), "number")
    if token.is_date or token.is_number:
        return TextDetail(token.root, frozenset({plain}), 1, "day")
    if not token.is_name:
        return None
    if plain.isalpha():
        return TextDetail(token.root, frozenset({plain, text_tokens.root(plain)}), 1, "name")
    weight = 0 if _HASH.fullmatch(plain) else 1 if _SHORT_TAG.fullmatch(plain) else 2
    return TextDetail(token.root, frozenset({plain, _VERSION.sub("", plain)}), weight, "identifier")


def _weight(number: str) -> int:
    return 2 if sum(map(str.isdigit, number)) > 1 else 1

"""The dates that a question names by their distance from today: `last week`, `three days ago`, `il y a deux mois`."""

import re
from datetime import date, timedelta

from livemem.search.dates import Date

_UNITS = {
    "day": r"days?|jours?",
    "week": r"weeks?|semaines?",
    "month": r"months?|mois",
    "year": r"years?|ans?|années?",
}
_ANY = "|".join(_UNITS.values())
_COUNTS = {"two": 2, "deux": 2, "three": 3, "trois": 3, "four": 4, "quatre": 4, "five": 5, "cinq": 5, "six": 6}
_COUNT = rf"\d{{1,3}}|an?|one|une?|{'|'.join(_COUNTS)}"
_NAMED = re.compile(
    r"\b(?:(?P<today>today|aujourd['’]hui)|(?P<two>(?:the )?day before yesterday|avant-hier)|(?P<one>yesterday|hier)"
    rf"|(?:this|cet|cette|ce) (?P<this>{_ANY})"
    rf"|(?:last|previous) (?P<last>week|month|year)|(?:la|le|l['’]) ?(?P<dernier>semaine|mois|an|année) "
    r"(?:derni(?:er|ère)|passée?)"
    rf"|(?P<ago>{_COUNT}) (?P<unit>{_ANY}) ago|il y a (?P<ilya>{_COUNT}) (?P<unite>{_ANY})"
    rf"|(?:last|past) (?P<span>{_COUNT}) (?P<of>{_ANY})|(?P<durant>{_COUNT}) derni(?:er|ère)s (?P<de>{_ANY}))\b",
    re.IGNORECASE,
)
LONGEST = 400
"""Days of a span."""


def relative_dates(text: str, today: date) -> tuple[Date, ...]:
    """The dates that a text names so, each once. Weeks begin on Monday."""
    return tuple(dict.fromkeys(_date(match, today) for match in _NAMED.finditer(text)))


def names_relative_date(text: str) -> bool:
    """Whether a text names one."""
    return bool(_NAMED.search(text))


def _date(match: re.Match[str], today: date) -> Date:
    if match["today"] or match["one"] or match["two"]:
        return _of("day", 0 if match["today"] else 1 if match["one"] else 2, today)
    if match["this"]:
        return _of(_unit(match["this"]), 0, today)
    if item := match["last"] or match["dernier"]:
        return _of(_unit(item), 1, today)
    if unit := match["unit"] or match["unite"]:
        return _of(_unit(unit), _count(match["ago"] or match["ilya"]), today)
    lengths = {"day": 1, "week": 7, "month": 30, "year": 365}
    days = min(lengths[_unit(match["of"] or match["de"])] * _count(match["span"] or match["durant"]), LONGEST)
    first = today - timedelta(days=days)
    # With today.
    return Date(first.year, first.month, first.day, days + 1)


def _of(unit: str, back: int, today: date) -> Date:
    """The day, week, month or year that is so many before the present one."""
    if unit == "year":
        return Date(max(today.year - back, 1), None, None)
    if unit == "month":
        months = max(today.year * 12 + today.month - 1 - back, 12)
        return Date(months // 12, months % 12 + 1, None)
    length = 7 if unit == "week" else 1
    first = today - timedelta(days=back * length + (today.weekday() if unit == "week" else 0))
    return Date(first.year, first.month, first.day, length)


def _unit(word: str) -> str:
    return next(unit for unit, names in _UNITS.items() if re.fullmatch(names, word, re.IGNORECASE))


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS.get(word.lower(), 1)

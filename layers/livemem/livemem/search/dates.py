"""The dates that a question names: `in May 2023`, `on 8 May`, `le 3 août 2024`, `2024-03-15`, `15/03/2024`. And the
dates that it counts from the day on which it is asked: `last week`, `il y a trois jours`.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    "january janvier jan",
    "february fevrier février feb fev fév",
    "march mars mar",
    "april avril apr avr",
    "may mai",
    "june juin jun",
    "july juillet jul juil",
    "august aout août aug",
    "september septembre sep sept",
    "october octobre oct",
    "november novembre nov",
    "december decembre décembre dec déc",
)
# Also words of other meanings: they are months only with a capital within the sentence, or beside a number.
_DOUBTFUL = {"may", "march", "mars", "mar", "mai", "jan", "jun", "sept", "dec"}


@dataclass(frozen=True)
class Date:
    """A date as a question names it. A part that the question leaves open is None. Year or month is always given. A day
    may be the first of several `days`.
    """

    year: int | None
    month: int | None
    day: int | None
    days: int = 1


def dates(text: str) -> tuple[Date, ...]:
    """The dates named in a text, each once, in order. A year that stands alone belongs to the months that have none."""
    dates = [item for match in _NUMBERS.finditer(text) for item in _of_numbers(match)]
    rest = _NUMBERS.sub(" ", text)
    years: list[int] = []
    result: list[Date] = []
    for match in _NAMED.finditer(rest):
        if match["alone"]:
            years.append(int(match["alone"]))
            continue
        word = match["month"]
        beside = match["before"] or match["after"] or match["year"]
        if word.lower() in _DOUBTFUL and not beside and not (word[0].isupper() and match.start() > 0):
            continue
        day = int(match["before"] or match["after"] or 0)
        year = int(match["year"]) if match["year"] else None
        result.append(Date(year, _MONTH_OF[word.lower()], day if 1 <= day <= 31 else None))
    if not result:
        dates += [Date(year, None, None) for year in years]
    for item in result:
        if item.year is None and years:
            dates += [Date(year, item.month, item.day) for year in years]
        else:
            dates.append(item)
    return tuple(dict.fromkeys(dates))


def _of_numbers(match: re.Match[str]) -> list[Date]:
    """The dates that numbers may stand for: of two that can both be the month, both."""
    if match["year"]:
        parts = [(int(match["year"]), int(match["month"]), int(match["day"]) if match["day"] else None)]
    else:
        item, other = int(match["one"]), int(match["other"])
        parts = [(int(match["last"]), other, item), (int(match["last"]), item, other)]
    return [Date(*part) for part in dict.fromkeys(parts) if 1 <= part[1] <= 12 and 1 <= (part[2] or 1) <= 31]


_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_YEAR = r"(?:19|20)\d\d"
_NUMBERS = re.compile(
    rf"(?<![\w./-])(?:(?P<year>{_YEAR})(?P<mark>[-/.])(?P<month>\d\d?)(?:(?P=mark)(?P<day>\d\d?))?"
    rf"|(?P<one>\d\d?)(?P<joint>[-/.])(?P<other>\d\d?)(?P=joint)(?P<last>{_YEAR}))(?![\w/-]|\.\d)"
)
_NAMED = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th|er)? (?:of )?)?\b(?P<month>{'|'.join(' '.join(_MONTHS).split())})\b\.?"
    rf"(?: (?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,? (?:of )?(?P<year>{_YEAR})\b)?|\b(?P<alone>{_YEAR})\b",
    re.IGNORECASE,
)


_UNITS = {
    "day": r"days?|jours?",
    "week": r"weeks?|semaines?",
    "month": r"months?|mois",
    "year": r"years?|ans?|années?",
}
_ANY = "|".join(_UNITS.values())
_COUNTS = {"two": 2, "deux": 2, "three": 3, "trois": 3, "four": 4, "quatre": 4, "five": 5, "cinq": 5, "six": 6}
_COUNT = rf"\d{{1,3}}|an?|one|une?|{'|'.join(_COUNTS)}"
_COUNTED = re.compile(
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
    return tuple(dict.fromkeys(_date(match, today) for match in _COUNTED.finditer(text)))


def names_relative_date(text: str) -> bool:
    """Whether a text names one."""
    return bool(_COUNTED.search(text))


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

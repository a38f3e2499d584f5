"""The dates that a question names: `in May 2023`, `on 8 May`, `le 3 août 2024`, `2024-03-15`, `15/03/2024`."""

import re
from dataclasses import dataclass
from functools import lru_cache

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
    dates = [date for match in _NUMBERS.finditer(text) for date in _of_numbers(match)]
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
        result.append(Date(year, _month_of()[word.lower()], day if 1 <= day <= 31 else None))
    if not result:
        dates += [Date(year, None, None) for year in years]
    for date in result:
        if date.year is None and years:
            dates += [Date(year, date.month, date.day) for year in years]
        else:
            dates.append(date)
    return tuple(dict.fromkeys(dates))


def _of_numbers(match: re.Match[str]) -> list[Date]:
    """The dates that numbers may stand for: of two that can both be the month, both."""
    if match["year"]:
        parts = [(int(match["year"]), int(match["month"]), int(match["day"]) if match["day"] else None)]
    else:
        item, other = int(match["one"]), int(match["other"])
        parts = [(int(match["last"]), other, item), (int(match["last"]), item, other)]
    return [Date(*part) for part in dict.fromkeys(parts) if 1 <= part[1] <= 12 and 1 <= (part[2] or 1) <= 31]


@lru_cache(maxsize=1)
def _month_of() -> dict[str, int]:
    return {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}


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

"""The dates that a question names: `in May 2023`, `on 8 May`, `le 3 août 2024`, `2024-03-15`."""

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
    """A date as a question names it. A part that the question leaves open is None. Year or month is always given."""

    year: int | None
    month: int | None
    day: int | None


def dates(text: str) -> tuple[Date, ...]:
    """The dates named in a text, each once, in order. A year that stands alone belongs to the months that have none."""
    found = [Date(int(y), int(m), int(d)) for y, m, d in _ISO.findall(text) if 1 <= int(m) <= 12 and 1 <= int(d) <= 31]
    rest = _ISO.sub(" ", text)
    years: list[int] = []
    named: list[Date] = []
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
        named.append(Date(year, _month_of()[word.lower()], day if 1 <= day <= 31 else None))
    if not named:
        found += [Date(year, None, None) for year in years]
    for date in named:
        if date.year is None and years:
            found += [Date(year, date.month, date.day) for year in years]
        else:
            found.append(date)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1)
def _month_of() -> dict[str, int]:
    return {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}


_YEAR = r"(?:19|20)\d\d"
_ISO = re.compile(rf"\b({_YEAR})-(\d\d)-(\d\d)\b")
_NAMED = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th|er)? (?:of )?)?\b(?P<month>{'|'.join(' '.join(_MONTHS).split())})\b\.?"
    rf"(?: (?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,? (?:of )?(?P<year>{_YEAR})\b)?|\b(?P<alone>{_YEAR})\b",
    re.IGNORECASE,
)

"""Subjects for which many rules have a place, for notes of several categories: people, ways of working, dates.

Phrases in English, French and German, by which headings and notes are told.
"""

import re
from collections.abc import Mapping

from local.offline_llm.words import unaccented

_DAYS = "mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?"
_JOURS = "lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?"
_MONTHS = r"(?:jan|feb|fev|mar|apr|avr|may|mai|jun|juin|jul|aug|aout|sep|oct|okt|nov|dec|dez)[a-z]*"
_DAY = rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}\.? {_MONTHS}|{_MONTHS} \d{{1,2}})"

_HEADINGS: Mapping[str, str] = {
    "people": r"people|persons|contacts?|who is who|owners|roles|stakeholders|personnes|qui (?:est qui|fait quoi)"
    r"|interlocuteurs|ansprechpartner\w*|kontakte",
    "working": r"ways? of working|how (?:we|the team) works?|working (?:agreements|rules)|(?:team|house) rules"
    r"|rules of the house|habits|rituals|facons? de travailler|comment (?:on|nous|l.equipe) travaill\w+|habitudes"
    r"|arbeitsweise\w*",
    "dates": r"dates|calendar|schedule|deadlines|on call|calendrier|echeances|planning|astreintes|fristen|kalender",
}
_NOTES: Mapping[str, str] = {
    "people": r"[\w.+-]+@[\w-]+\.\w+|(?:the|our|main|le|la|notre) contact|contact (?:at|for|chez|pour)"
    r"|is (?:responsible for|in charge of)|est (?:responsable|chargee?) d\w+|s.occupe d\w+|interlocut\w+"
    r"|ansprechpartner\w*",
    "working": rf"(?:on|every|each) (?:(?:{_DAYS})(?<=s)|(?<=y )(?:{_DAYS})|(?<=h )(?:{_DAYS}))"
    r"|(?:daily|weekly|monthly) (?:summary|meeting|report|review|stand-?up|retro\w*|call|demo)|stand-?ups?"
    rf"|(?:le|chaque|tous les) (?:{_JOURS})(?! \d)|hebdomadaires?|jeden \w+tag|(?:mon|diens|donners|frei)tags",
    "dates": rf"freezes?|deadlines?|on[- ]call|on (?:leave|holiday)|due (?:on|by)|gels?|astreintes?|echeances?|conges"
    rf"|urlaub|bereitschaft|(?:releases?|launch\w*|ships?|livraison|livre\w*|lancement) [^;]{{0,40}}\b{_DAY}",
}


def of_heading(heading: str) -> str:
    """The subject that a heading names, "" if none."""
    return next(iter(_found(_HEADINGS, heading)), "")


def of_note(text: str) -> list[str]:
    """The subjects that a note is about."""
    return _found(_NOTES, text)


def _found(table: Mapping[str, str], text: str) -> list[str]:
    words = " ".join(unaccented(text).split())
    return [topic for topic, phrases in table.items() if re.search(rf"(?<![\w@])(?:{phrases})(?!\w)", words)]

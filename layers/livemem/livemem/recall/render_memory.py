"""The text for an agent before it answers a person: messages of rooms, and facts, as two blocks of text.

Pure functions. Each message and each fact is one line with any content, and only this service begins a line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from livemem import clock
from livemem.text.invisible import visible

Lang = Literal["fr", "en"]
LANGUAGES: tuple[Lang, ...] = ("fr", "en")
LANGUAGE_DEFAULT: Lang = "en"
TEXT_CHARACTERS = 500
"""Of a message that are shown. Of a longer one the part that fits the question is shown, or its beginning."""
FACT_CHARACTERS = 1_000
ROOMS_NAMED = 3
"""Rooms up to which a heading names all of them."""
MORE = "…"
_LIVE = {
    "fr": "[Contexte live - extraits pertinents {}, pas une conversation complète]",
    "en": "[Live context - relevant excerpts from {}, not a complete conversation]",
}
_FACTS = {"fr": "[Mémoire - faits que tu connais]", "en": "[Memory - facts that you know]"}
_SEVERAL = {"fr": "de plusieurs salons", "en": "several rooms"}
# French puts a blank before a colon.
_COLON = {"fr": " :", "en": ":"}
_JOINERS = "\u200c\u200d"
_HEADING = re.compile(
    rf"\[(?=[\s{_JOINERS}]*(?:contexte\s+live|live\s+context|m(?:é|e\u0301?)moire\s*-|memory\s*-))", re.IGNORECASE
)
_OF_AUTHORS = re.compile(r"[()\[\]:]")


@dataclass(frozen=True)
class ShownMessage:
    """A message that is shown, as it was written.

    `part`: the characters of its content that are shown if it is long. `relevance`: the cosine with the question, None
    if nothing was compared.
    """

    room: str
    message_id: str
    author: str
    content: str
    timestamp: str
    part: tuple[int, int] | None = None
    relevance: float | None = None


@dataclass(frozen=True)
class ShownFact:
    """A fact that is shown, as it was stored. `score` is None if nothing was compared (memories/reading.py).

    `updated_at`: the time of its last storing or correction, empty if unknown.
    """

    memory_id: str
    content: str
    score: float | None = None
    updated_at: str = ""


def language_of(tag: str | None) -> Lang:
    """The language of the headings for the language of a space (a tag such as `fr-CA`); English for all others."""
    primary = (tag or "").casefold().partition("-")[0]
    return next((lang for lang in LANGUAGES if lang == primary), LANGUAGE_DEFAULT)


def markdown(
    shown_messages: Sequence[ShownMessage],
    facts: Sequence[ShownFact],
    lang: Lang,
    zone: tzinfo,
    room: str | None = None,
) -> str:
    """The blocks that have entries; empty if none has. `room`: the one that was asked about."""
    blocks = []
    if shown_messages:
        rooms = [room] if room is not None else sorted({item.room for item in shown_messages})
        lines = (
            f"• {_author(item.author)} ({_moment(item, zone)}){_COLON[lang]} {_text(item)}" for item in shown_messages
        )
        blocks.append("\n".join([_LIVE[lang].format(_rooms(rooms, lang)), *lines]))
    if facts:
        kept = (f"• {_cut(one_line(fact.content), FACT_CHARACTERS)}" for fact in facts)
        blocks.append("\n".join([_FACTS[lang], *kept]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def one_line(text: str) -> str:
    """The text on one line, in which nothing looks like a line or a heading of the blocks."""
    flat = visible(" ".join(text.split()))
    return _HEADING.sub("(", flat.replace("•", "·")).strip()


def _author(name: str) -> str:
    return " ".join(_OF_AUTHORS.sub(" ", one_line(name)).split()) or "?"


def _moment(shown_message: ShownMessage, zone: tzinfo) -> str:
    return f"{clock.parse(shown_message.timestamp).astimezone(zone):%d/%m %H:%M}"


def _text(shown_message: ShownMessage) -> str:
    whole = one_line(shown_message.content)
    if len(whole) <= TEXT_CHARACTERS or shown_message.part is None:
        return _cut(whole, TEXT_CHARACTERS)
    start, end = shown_message.part
    before = f"{MORE} " if shown_message.content[:start].strip() else ""
    after = f" {MORE}" if shown_message.content[end:].strip() else ""
    return f"{before}{_cut(one_line(shown_message.content[start:end]), TEXT_CHARACTERS)}{after}"


def _cut(text: str, most: int) -> str:
    """The beginning of the text, up to a blank if there is one nearby."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return f"{text[: end if end > 0 else most].rstrip()} {MORE}"


def _rooms(rooms: Sequence[str], lang: Lang) -> str:
    """The rooms as the heading has them, with what French puts before each."""
    if len(rooms) > ROOMS_NAMED:
        return _SEVERAL[lang]
    names = [f"{'du ' if lang == 'fr' else ''}{room[:1].upper()}{room[1:]}" for room in rooms]
    joint = " et " if lang == "fr" else " and "
    return joint.join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]

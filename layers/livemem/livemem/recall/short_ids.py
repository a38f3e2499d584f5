"""The short ids that agents see over MCP. Pure functions; what they mean is looked up by `by_id`.

An agent pays for each id in each answer, and half of a hit was its id. A short id has the kind, and so much of the id
that hardly another one has the same:

- `notes/20260220T140000812345`, of a consolidated note `archive/...`: the second, and six digits of the suffix as a
  number. The notes of a batch differ in them.
- `memories/01KHXH9RA0`: the millisecond. Memories are written one after the other.
- `turns/01KHXH9RA0QT/12`, `summaries/01KHXH9RA0QT/1/3`: of the conversation the millisecond and two letters more.

It is made of the id alone, so nothing that comes later changes it.
"""

import re

from livemem.errors import InvalidName
from livemem.store import keys

NOTES, ARCHIVE, MEMORIES = "notes/", "archive/", "memories/"
LETTERS = 10
"""Of an ULID that tell its millisecond."""
DIGITS = 6
_ULID = "[0-9A-HJKMNP-TV-Z]"
ULID_START = re.compile(rf"{_ULID}{{10,25}}")
MEMORY_START = re.compile(rf"{MEMORIES}(?P<name>{_ULID}{{10,25}})")
NOTE_START = re.compile(rf"(?:{NOTES}|{ARCHIVE})?(?P<name>(?P<time>[0-9]{{8}}T[0-9]{{6}})[a-zA-Z0-9_-]{{0,99}})")
OF_TALK = re.compile(
    rf"(?P<kind>turns|summaries)/(?P<conversation>{_ULID}{{10,26}})/(?P<rest>[0-9]{{1,10}}(?:/[0-9]{{1,10}})?)"
)
FULL_OF_TALK = re.compile(
    rf"(?:conversations/)?(?P<conversation>{keys.RUN_ID.pattern})/"
    r"(?:(?:turns/)?(?P<turn>[0-9]+)(?:/[a-z]+)?|(?:summaries/|l)(?P<summary>[0-9]+/[0-9]+))"
)
"""The id of a turn or a summary as `read` takes it, or as a search names it (and a side of a turn)."""


def short_id(reference: str, *, archived: bool = False) -> str:
    """The short form of an id as `document_sources.reading_id` gives it. Ids of sections, files and rooms have none."""
    talk = FULL_OF_TALK.fullmatch(reference)
    if talk:
        kind, rest = ("turns", talk["turn"]) if talk["turn"] else ("summaries", talk["summary"])
        return f"{kind}/{talk['conversation'][: LETTERS + 2]}/{rest}"
    if reference.startswith(MEMORIES):
        return reference[: len(MEMORIES) + LETTERS]
    name = of_note(reference.removeprefix(NOTES)) if reference.startswith(NOTES) else None
    return f"{ARCHIVE if archived else NOTES}{name}" if name else reference


def of_note(note_id: str) -> str | None:
    """The short form of a note's id without its kind; None for what is no such id."""
    try:
        name = keys.parse_note_id(note_id)
    except InvalidName:
        return None
    # As a number the suffix has two tokens; as it stands, up to one for each character.
    return f"{keys.compact_time(name.timestamp)}{int(name.suffix, 16) % 10**DIGITS:0{DIGITS}}"


def tells_day(name: str, day: str) -> bool:
    """Whether a short id tells the day of what it names."""
    return f"/{day.replace('-', '')}T" in name


def is_short(name: str) -> bool:
    """Whether a text may be a short id, with or without its kind, or the beginning of one."""
    note = NOTE_START.fullmatch(name)
    if note:
        return not keys.NOTE_ID.fullmatch(note["name"])
    talk = OF_TALK.fullmatch(name)
    return bool(talk or ULID_START.fullmatch(name) or MEMORY_START.fullmatch(name))

"""The keys of the due index (docs/bucket.md). Only this file builds and parses them."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import quote, unquote

from livemem.store import keys
from livemem.store.keys import SPACE_ID

DueKind = Literal["space", "notes", "conversation", "room", "memory", "question", "unreadable", "daily"]
KINDS: tuple[DueKind, ...] = ("space", "notes", "conversation", "room", "memory", "question", "unreadable", "daily")
OF_SPACES: tuple[DueKind, ...] = ("space", "room")
"""Kinds of which a space has one entry, which needs no name."""
DUE = "_due/"
STEP = timedelta(minutes=5)
EVER = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of entries that are due at every look."""
ALWAYS = f"{DUE}19700101T0000/"
"""The prefix of all entries that are due at every look."""
_DUE = re.compile(
    rf"{DUE}(?P<time>[0-9]{{8}}T[0-9]{{4}})/[0-9a-f]{{2}}-(?P<space>{SPACE_ID.pattern})/(?P<kind>{'|'.join(KINDS)})(?:/(?P<name>.+))?"
)


@dataclass(frozen=True)
class DueEntry:
    """An entry of the index. From `moment` on the sweep looks at this `kind` of work. `name` tells several of one space
    apart.
    """

    key: str
    moment: datetime
    space_id: str
    kind: DueKind
    name: str


def due(space_id: str, kind: DueKind, name: str, moment: datetime) -> str:
    """The key of an entry. Space and name are not parts of the path by themselves. Else a policy on objects of spaces,
    such as one on `*/bank/*`, would match an entry of a space `bank`.
    """
    shard = hashlib.sha256(space_id.encode()).hexdigest()[:2]
    key = f"{DUE}{_minute(moment)}/{shard}-{space_id}/{kind}"
    return f"{key}/{quote(name, safe='')}" if name else key


def due_after(moment: datetime) -> str:
    """A key that sorts behind the entries up to this moment, and before later ones."""
    return f"{DUE}{_minute(moment)}~"


def parse_due(key: str) -> DueEntry | None:
    """The parts of the key of an entry. None for every other key."""
    match = _DUE.fullmatch(key)
    moment = keys.compact_moment(f"{match['time']}00") if match else None
    if not match or not moment:
        return None
    kind = next(candidate for candidate in KINDS if candidate == match["kind"])
    name = unquote(match["name"] or "")
    return DueEntry(key, moment, match["space"], kind, name) if bool(name) != (kind in OF_SPACES) else None


def step_before(moment: datetime, step: timedelta = STEP) -> datetime:
    """The step (UTC) that begins at this moment or began before it. Steps divide an hour."""
    hour = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour + (moment - hour) // step * step


def step_after(moment: datetime) -> datetime:
    """The step (UTC) that begins at this moment or next; in the last minutes of the calendar the last one."""
    before = step_before(moment)
    try:
        return before if before == moment else before + STEP
    except OverflowError:
        return before


def _minute(moment: datetime) -> str:
    return keys.compact_time(moment)[: len("20260220T1400")]

"""Looking for objects of spaces that cannot be read: those that a reader met, and those that were written lately.

A body is checked as the package reads it that keeps the object (`kind` in its maintenance.py). No space is read as a
whole: the daily look reads what was written since the one before.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from livemem.errors import LiveMemoryError
from livemem.jobs.maintainable import Reader, Space
from livemem.process import Process
from livemem.spaces import due_index, unreadable
from livemem.spaces.due_index import Due
from livemem.store import keys
from livemem.store.objects import Entry
from livemem.upkeep import packages

logger = logging.getLogger(__name__)

LOOKED_BACK = timedelta(days=2)
"""Age up to which the daily look reads an object: twice the time between two looks."""
DAILY_MOST = 2_000
"""Objects that the daily look reads in one space."""
DAILY_LISTED = 20_000
"""Objects that it lists of a space that has more than a page of them."""
WITHOUT_DOCUMENTS = {"live", "bank", "rooms", "_search", "_vectors"}
"""Folders of a space in which any body can be read, or an object that cannot be read is made again."""
LOOKED_AT = {keys.META, "_lease.json"}
"""What every look at a space reads."""
AT_ONCE = 64
LAST_ROUND = timedelta(seconds=10)
"""Time that must be left to read further objects."""


def kind_of(name: str) -> Reader | None:
    """The reader of the document that has to be under this key below a space; None where any body can be read."""
    return next((kind for package in packages.PACKAGES if (kind := package.kind(name))), None)


def is_readable(name: str, body: bytes) -> bool:
    """Whether the body of the object with this key below a space can be read."""
    read = kind_of(name)
    if not read:
        return True
    try:
        read(body)
    except (ValueError, RecursionError):
        return False
    return True


def check(process: Process, due: Sequence[Due], deadline: datetime) -> Mapping[str, list[str]]:
    """Those of the objects in the due index that still cannot be read, by space; the entries of others are removed, and
    their spaces looked at once more: 1 GET for each, 1 DeleteObjects.
    """
    rest = list(due)
    result: dict[str, list[str]] = {}
    while rest and deadline - process.clock() > LAST_ROUND:
        batch, rest = rest[:AT_ONCE], rest[AT_ONCE:]
        broken = process.store.map(lambda item: _is_broken(process, item), batch)
        mended = [item for item, still in zip(batch, broken, strict=True) if not still]
        for one in mended:
            # What could not be done without it is done now.
            due_index.leave(process, one.space_id)
        due_index.remove(process, [key for item in mended for key in item.written])
        for one in (item for item in batch if item not in mended):
            result.setdefault(one.space_id, []).append(one.name)
    for key in (item for group in result.values() for item in group):
        logger.warning("object cannot be read: put back an earlier version", extra={"key": key})
    return result


def _is_broken(process: Process, due: Due) -> bool:
    item = process.store.get(due.name) if unreadable.is_of_space(due) else None
    return item is not None and not is_readable(due.name.removeprefix(keys.prefix(due.space_id)), item.body)


def look(process: Process, space: Space) -> list[str]:
    """The keys of the objects of a space that were written lately and cannot be read; each is in the due index then.

    1 GET for each document of the last two days, at most 2,000; in a space of more than 1,000 objects 1 LIST per 1,000
    of those that may be documents, at most 20.
    """
    space_id = space.space_id
    entries = space.entries if space.entries is not None else _listed(process, space)
    recent = (entry for entry in entries if entry.age < LOOKED_BACK)
    wanted = (entry for entry in _documents(space_id, recent) if entry.key.partition("/")[2] not in LOOKED_AT)
    broken = _broken(process, space_id, islice(wanted, DAILY_MOST))
    for entry in broken:
        unreadable.leave(process, entry.key)
    return [entry.key for entry in broken]


def _listed(process: Process, space: Space) -> Iterable[Entry]:
    folders = sorted(space.folders - WITHOUT_DOCUMENTS)
    prefix = keys.prefix(space.space_id)
    entries = (entry for folder in folders for entry in process.store.scan(f"{prefix}{folder}/"))
    return islice(entries, DAILY_LISTED)


def _documents(space_id: str, entries: Iterable[Entry]) -> Iterable[Entry]:
    prefix = keys.prefix(space_id)
    return (entry for entry in entries if kind_of(entry.key.removeprefix(prefix)))


def _broken(process: Process, space_id: str, entries: Iterable[Entry]) -> list[Entry]:
    prefix = keys.prefix(space_id)

    def one(entry: Entry) -> bool:
        try:
            item = process.store.get(entry.key)
        except LiveMemoryError:
            return False
        return item is not None and not is_readable(entry.key.removeprefix(prefix), item.body)

    batch = list(entries)
    return [entry for entry, broken in zip(batch, process.store.map(one, batch), strict=True) if broken]

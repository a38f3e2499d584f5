"""Looking for objects of spaces that cannot be read: those that a reader met, and those that were written lately.

A body is checked as the package reads it that keeps the object (`kind` in its maintenance.py). No space is read as a
whole but where an admin asks for it (`page`): the daily look reads what was written since the one before.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from livemem.errors import LiveMemoryError
from livemem.jobs.maintainable import DocumentKind, Space
from livemem.process import Process
from livemem.spaces import due_index, unreadable
from livemem.spaces import head as heads
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
PAGE_READ = 5_000
"""Objects that a page reads."""


@dataclass(frozen=True)
class Broken:
    """An object that cannot be read: its key in the bucket, its size in bytes, and when it was written."""

    key: str
    size: int
    written_at: datetime


def kind_of(name: str) -> DocumentKind | None:
    """The kind of document that has to be under this key below a space; None where any body can be read."""
    return next((kind for package in packages.PACKAGES if (kind := package.kind(name))), None)


def is_readable(name: str, body: bytes) -> bool:
    """Whether the body of the object with this key below a space can be read."""
    kind = kind_of(name)
    if not kind:
        return True
    try:
        kind.check(body)
    except (ValueError, RecursionError):
        return False
    return True


def check(process: Process, due: Sequence[Due], deadline: datetime) -> Mapping[str, list[str]]:
    """Those of the objects in the due index that still cannot be read, by space; the entries of others are removed, and
    their spaces looked at once more: 1 GET for each, 1 DeleteObjects.
    """
    left = list(due)
    found: dict[str, list[str]] = {}
    while left and deadline - process.clock() > LAST_ROUND:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        broken = process.store.map(lambda one: _is_broken(process, one), some)
        mended = [one for one, still in zip(some, broken, strict=True) if not still]
        for one in mended:
            # What could not be done without it is done now.
            due_index.leave(process, one.space_id)
        due_index.remove(process, [key for one in mended for key in one.written])
        for one in (one for one in some if one not in mended):
            found.setdefault(one.space_id, []).append(one.name)
    for key in (one for some in found.values() for one in some):
        logger.warning("object cannot be read: set it aside (livemem repair), or put it back", extra={"key": key})
    return found


def _is_broken(process: Process, one: Due) -> bool:
    found = process.store.get(one.name) if unreadable.is_of_space(one) else None
    return found is not None and not is_readable(one.name.removeprefix(keys.prefix(one.space_id)), found.body)


def look(process: Process, space: Space) -> list[str]:
    """The keys of the objects of a space that were written lately and cannot be read; each is in the due index then.

    1 GET for each document of the last two days, at most 2,000; in a space of more than 1,000 objects 1 LIST per 1,000
    of those that may be documents, at most 20.
    """
    space_id = space.space_id
    listed = space.entries if space.entries is not None else _listed(process, space)
    recent = (entry for entry in listed if entry.age < LOOKED_BACK)
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


def page(
    process: Process, space_id: str, *, limit: int, after: str | None, until: datetime
) -> tuple[list[Broken], str | None]:
    """The objects of a space that cannot be read, by their keys, and the key to continue behind, None at the end: all
    documents of the space are read, up to 5,000 for a page and until shortly before `until`, 1 GET each.

    A page may hold fewer than `limit` and not be the last. Raises NotFound, SpaceBroken.
    """
    heads.load(process, space_id)
    prefix = keys.prefix(space_id)
    listed = _documents(space_id, process.store.scan(prefix, start_after=f"{prefix}{after}" if after else ""))
    found: list[Broken] = []
    read = 0
    while batch := list(islice(listed, AT_ONCE)):
        for entry in _broken(process, space_id, batch):
            unreadable.leave(process, entry.key)
            found.append(Broken(entry.key, entry.size, entry.last_modified))
            if len(found) == limit:
                return found, entry.key.removeprefix(prefix)
        read += len(batch)
        if read >= PAGE_READ or process.clock() >= until:
            return found, batch[-1].key.removeprefix(prefix)
    return found, None


def _documents(space_id: str, entries: Iterable[Entry]) -> Iterable[Entry]:
    prefix = keys.prefix(space_id)
    return (entry for entry in entries if kind_of(entry.key.removeprefix(prefix)))


def _broken(process: Process, space_id: str, entries: Iterable[Entry]) -> list[Entry]:
    prefix = keys.prefix(space_id)

    def one(entry: Entry) -> bool:
        try:
            found = process.store.get(entry.key)
        except LiveMemoryError:
            return False
        return found is not None and not is_readable(entry.key.removeprefix(prefix), found.body)

    some = list(entries)
    return [entry for entry, broken in zip(some, process.store.map(one, some), strict=True) if broken]

"""The due index: entries that name work and the time from which it is due. One listing from the front finds all due
work.

`_due/{time}/{shard}-{space}/{kind}/{name}` is an object without content. A process leaves an entry before it begins
work that another may have to finish. The sweep lists the due entries once, and gives each package the entries of its
kinds (`Package.due`). The digests' hourly look takes the rooms. A space at rest has no entry, except one of the
kind `notes` if notes wait for more notes. Its name is the time of the oldest note. So the listing alone shows how long
notes wait.

An entry is a hint. A lost entry delays work until the daily look at all spaces. A needless entry costs a look.

No entry is lost while all goes well. An entry covers requests that were sent until RELIED_ON after its time at the
latest. Its writer relies on it until then, and writes the next entry after. All these requests have reached the bucket
when KEPT is over too. If an entry was listed after that, and its work was found done, the sweep removes it without any
condition: nobody writes that key any more. Of several entries for the same work the last is enough. It stays for as
long as a process relies on any of them.

The time comes first in a key, so that entries that are not due yet cost nothing. Due entries cost one request per
1,000. The shard, two digits of a hash of the space, lies below the time. In front of the time it would make 256
listings of one. Below the time it spreads the entries of one step, so that no common beginning of names is hot. It
costs three bytes of a key. It does not spread the writes of one moment over times. They are few: a process writes an
entry at most once in ten minutes, and S3 takes 3,500 writes a second below one prefix.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Literal, TypeVar

from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.store import due_keys, keys, objects, stored_documents, timing
from livemem.store.cache import TimedCache
from livemem.store.due_keys import DueEntry, DueKind

FromNow = Literal["space", "room"]
"""Kinds whose entries say that work is about to begin. Entries of the other kinds say when work is over."""

RELIED_ON = timedelta(minutes=10)
"""For how long a process does not write the same entry again, and the steps of entries that are due from now on."""
KEPT = timing.ANSWER + timing.REPEATED + timing.APART
"""For how long an entry stays after nobody relies on it any more. It covers the work itself, a late request of it, and
a difference of clocks."""
MOST_KNOWN = 10_000
AT_ONCE = 64
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to look at further entries."""
L = TypeVar("L")

Done = Mapping[str, Mapping[str, float]]
"""Counts of the maintenance that was done, by its name and by space."""


@dataclass(frozen=True)
class Due:
    """Work that is due, and its entries, the earliest first."""

    space_id: str
    kind: DueKind
    name: str
    entries: tuple[DueEntry, ...]

    def may_go(self, now: datetime) -> bool:
        """Whether no request that relies on any of its entries can come any more."""
        relied_on = RELIED_ON if self.kind in due_keys.OF_SPACES else timedelta()
        return self.entries[-1].moment + relied_on + KEPT <= now

    @property
    def written(self) -> list[str]:
        """The keys of its entries."""
        return [entry.key for entry in self.entries]

    @property
    def superseded(self) -> list[str]:
        """The keys of its entries before the last."""
        return self.written[:-1]


_WRITTEN = partial(TimedCache[str, datetime], MOST_KNOWN)
"""When this process has written entries, by the wall clock. Other clocks stand still while a machine sleeps."""


def leave(process: Process, space_id: str) -> None:
    """Let the sweep look at the space from now on: 1 PUT, or none if this process did so in the last ten minutes. Never
    fails.
    """
    # A lost entry must not fail the work that it belongs to.
    with suppress(LiveMemoryError):
        leave_now(process, space_id, "space")


def leave_now(process: Process, space_id: str, kind: FromNow) -> None:
    """Enter that work is about to begin: 1 PUT, or none if this process did so in the same ten minutes. Raises
    StoreUnavailable.
    """
    _write(process, due_keys.due(space_id, kind, "", due_keys.step_before(process.clock(), RELIED_ON)))


def leave_at(process: Process, space_id: str, kind: DueKind, name: str, moment: datetime) -> None:
    """Enter work that is due from `moment` on, in steps of five minutes: 1 PUT, or none if this process did so just
    now. Raises StoreUnavailable.
    """
    _write(process, due_keys.due(space_id, kind, name, due_keys.step_after(moment)))


def leave_always(process: Process, space_id: str, kind: DueKind, name: str) -> None:
    """Enter work that is due at every look, until its entry is removed: 1 PUT, or none if this process did so in the
    last ten minutes. Never fails.
    """
    with suppress(LiveMemoryError):
        _write(process, due_keys.due(space_id, kind, name, due_keys.EVER))


def leave_waiting(process: Process, space_id: str, oldest: datetime) -> None:
    """Enter since when the oldest note of a space at rest waits: 1 PUT. Raises StoreUnavailable."""
    key = due_keys.due(space_id, "notes", keys.compact_time(oldest), due_keys.step_before(oldest))
    process.store.put(key, b"", content_type=stored_documents.JSON)


def _write(process: Process, key: str) -> None:
    cache, now = process.cache(_WRITTEN), process.clock()
    written = cache.get(key)
    if written is None or not timedelta() <= now - written < RELIED_ON:
        process.store.put(key, b"", content_type=stored_documents.JSON)
        cache.put(key, now)


def due_now(process: Process) -> Mapping[DueKind, list[Due]]:
    """The work that is due now, by kind, the earliest first: 1 LIST per 1,000 entries. Objects that are no entries are
    left out.
    """
    return _grouped(process.store.scan(due_keys.DUE, stop=due_keys.due_after(process.clock())))


def always(process: Process, kind: DueKind, *, most: int) -> list[Due]:
    """The work of one kind that is due at every look, among the first `most` entries: 1 LIST."""
    return _grouped(process.store.scan(due_keys.ALWAYS, limit=most)).get(kind, [])


def _grouped(listing: Iterable[objects.Entry]) -> dict[DueKind, list[Due]]:
    groups: dict[tuple[DueKind, str, str], list[DueEntry]] = {}
    for item in listing:
        entry = due_keys.parse_due(item.key)
        if entry:
            groups.setdefault((entry.kind, entry.space_id, entry.name), []).append(entry)
    by_kind: dict[DueKind, list[Due]] = {}
    for (kind, space_id, name), entries in groups.items():
        by_kind.setdefault(kind, []).append(Due(space_id, kind, name, tuple(entries)))
    return by_kind


def waits_since(due: Due) -> datetime | None:
    """Since when the oldest note of a space at rest waits, of an entry of kind `notes`."""
    return keys.compact_moment(due.name)


def look_at(
    process: Process, due: Sequence[Due], deadline: datetime, look: Callable[[Due], L], *, at_rest: L
) -> list[tuple[Due, L]]:
    """Look at due entries, 64 at once, until shortly before `deadline`, and settle those whose look was `at_rest`: 1
    DeleteObjects for each 64. Returns the looks.
    """
    looks: list[tuple[Due, L]] = []
    rest = list(due)
    while rest and deadline - process.clock() > LAST_ROUND:
        batch, rest = rest[:AT_ONCE], rest[AT_ONCE:]
        pairs = list(zip(batch, process.store.map(look, batch), strict=True))
        done = [item for item, seen in pairs if seen == at_rest]
        settle(process, done, [item for item in batch if item not in done])
        looks += pairs
    return looks


def settle(process: Process, done: Iterable[Due], still: Iterable[Due] = ()) -> None:
    """Remove the entries that are needed no more. `done` work was found done after it was listed: all its entries go,
    or those before the last if a request of it can still come. Of work that is `still` due the entries before the last
    go. 1 DeleteObjects per 1,000. Never fails: the next look does it.
    """
    now = process.clock()
    gone = [key for due in done for key in (due.written if due.may_go(now) else due.superseded)]
    remove(process, [*gone, *(key for due in still for key in due.superseded)])


def remove(process: Process, doomed: list[str]) -> None:
    """Remove entries: 1 DeleteObjects per 1,000, none where there are none. Never fails: the next look does it."""
    cache = process.cache(_WRITTEN)
    for key in doomed:
        cache.pop(key)
    with suppress(LiveMemoryError):
        process.store.delete_many(doomed)

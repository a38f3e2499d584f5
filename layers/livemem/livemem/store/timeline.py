"""Objects whose names begin with a time: from the newest back, or all of them at once.

S3 lists in ascending order only. So the newest objects are found by listing ranges of time from the newest down.
Earlier answers give a guess of the size of the next range, so the cost hardly depends on the number of objects.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isqrt

from livemem.store.objects import Entry, Slice, Store

GROWTH = 4
PARTS = 16
"""Ranges that a listing is split into at once: as many as the store's threads."""

_BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Timeline:
    """The form of times in the names below `prefix`, as whole numbers of some unit.

    `name` is the text that the names of a moment begin with, `moment` the moment of a key, None for other objects.
    """

    prefix: str
    name: Callable[[int], str]
    moment: Callable[[str], int | None]

    def key(self, moment: int | None) -> str:
        """The key at which the keys of a moment begin. Empty for an open end."""
        return f"{self.prefix}{self.name(moment)}" if moment is not None else ""


def seconds(moment: datetime) -> int:
    """A time as whole seconds since the year 1."""
    return int((moment - _BEGINNING).total_seconds())


def from_seconds(moment: int) -> datetime:
    """The time of `seconds`."""
    return _BEGINNING + timedelta(seconds=moment)


def newest_first(
    store: Store,
    line: Timeline,
    *,
    now: int,
    since: int | None = None,
    before: int | None = None,
    near: int | None = None,
) -> Iterator[list[Entry]]:
    """The objects of the moments from `since` on and before `before`, in batches, the newest batch first.

    All objects of one moment are in one batch. Inside a batch they are in the order of their keys. It is lazy: a caller
    that takes no further batch causes no further request. Up to 1,000 objects are 1 LIST. Of more objects the newest
    cost a few LIST, for any number and any times of them. But the objects of one moment, and those dated after `now`
    (clocks differ), are listed whole where they are more than 1,000.

    `near` is a guess of the moment at which the wanted newest objects begin. A good one makes the first batch short.
    """
    if near is not None and (since is None or since < near) and (before is None or near < before):
        top = store.first(line.prefix, start_after=line.key(near), stop=line.key(before))
        if not top.more:
            yield [entry for entry in top.entries if _is_dated(line, entry)]
            before = near
    yield from _descend(store, line, since, before, now, alive=True)


def _descend(
    store: Store, line: Timeline, low: int | None, high: int | None, now: int, *, alive: bool
) -> Iterator[list[Entry]]:
    """List the range from `low` to `high`. `alive`: there probably are objects right below `high`."""
    first_slice = store.first(line.prefix, start_after=line.key(low), stop=line.key(high))
    dated = [(moment, entry) for entry in first_slice.entries if (moment := line.moment(entry.key)) is not None]
    if not first_slice.more:
        yield [entry for _, entry in dated]
        return
    if not dated:
        # A thousand objects of another form do not show where those of this timeline are.
        yield _behind(store, line, first_slice, high)
        return
    # Too many for one answer, which holds the oldest. Those before `cut` are known, the ones from there on are not.
    cut = dated[-1][0]
    span = max(cut - dated[0][0], 1)
    step = max(span // 2, 1)
    while not _is_one(cut, high, now):
        middle = max((now if high is None else high) - step, cut + 1)
        if high is not None and not alive:
            # Nothing near the top: the gap may be of years, the rest of seconds, so look in between on a scale of
            # orders of magnitude.
            middle = cut + max(min(isqrt(span * (high - cut)), (high - cut) // 2), 1)
        alive_above = alive
        alive = False
        for batch in _descend(store, line, middle, high, now, alive=alive_above):
            alive = alive or bool(batch)
            yield batch
        high, step = middle, step * GROWTH
    yield [entry for moment, entry in dated if moment >= cut] + _behind(store, line, first_slice, high)
    yield [entry for moment, entry in dated if moment < cut]


def _behind(store: Store, line: Timeline, first_slice: Slice, high: int | None) -> list[Entry]:
    entries = store.scan(line.prefix, start_after=first_slice.entries[-1].key, stop=line.key(high))
    return [entry for entry in entries if _is_dated(line, entry)]


def _is_one(cut: int, high: int | None, now: int) -> bool:
    """Whether the range can't be split: it is a single moment, or in the future."""
    return cut >= now if high is None else high - cut <= 1


def everything(store: Store, line: Timeline, *, now: int) -> list[Entry]:
    """All objects in the order of their keys: ranges of time that are listed side by side, in few round trips."""
    entries: list[Entry] = []
    todo: list[tuple[str, int | None]] = [("", None)]
    while todo:
        pages = store.map(lambda part: store.first(line.prefix, start_after=part[0], stop=line.key(part[1])), todo)
        rest: list[tuple[str, int | None]] = []
        for (_, high), page in zip(todo, pages, strict=True):
            entries += page.entries
            if page.more:
                rest += _parts(line, page.entries, high, now)
        todo = rest
    return sorted((entry for entry in entries if _is_dated(line, entry)), key=lambda entry: entry.key)


def _parts(line: Timeline, entries: list[Entry], high: int | None, now: int) -> list[tuple[str, int | None]]:
    """The keys behind the listed ones, split into as many ranges as there may be thousands of objects."""
    last = entries[-1].key
    moments = [moment for entry in entries if (moment := line.moment(entry.key)) is not None]
    if not moments:
        return [(last, high)]
    cut, span = moments[-1], max(moments[-1] - moments[0], 1)
    gap = max((now if high is None else high) - cut, 0)
    count = max(min(gap * 5 // (span * 4) + 1, PARTS, gap), 1)
    bounds = [cut + gap * index // count for index in range(1, count)]
    # Names of another form may be the last, and sort anywhere: keys that are listed already are not listed again.
    starts = [last, *(max(line.key(bound), last) for bound in bounds)]
    return list(zip(starts, [*bounds, high], strict=True))


def _is_dated(line: Timeline, entry: Entry) -> bool:
    return line.moment(entry.key) is not None

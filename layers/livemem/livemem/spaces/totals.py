"""The totals of a day: the use of the LLM, added up by space, in 16 small documents.

A space is always in the same document (`shard_of`). So the use of one space costs 1 GET however many runs there were.
The use of all spaces costs 1 LIST and at most 16 GETs: one for each document that has changed since this process read
it. At most a sixteenth of the spaces write one document.

Each change has an id, and is made once. A repeat finds its id among the last ones.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache, reduce

from pydantic import Field

from livemem import clock
from livemem.llm.usage import Usage
from livemem.process import Process, Timer
from livemem.store import stored
from livemem.store.bucket import TOTALS
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import LazyModel, Moment

SHARDS = 16
MOST_RECENT = 500
"""Ids of changes that a document remembers. A repeat comes within hours, mostly seconds."""
MOST_OPEN = 500
"""Calls under way that a document remembers. If there are more, the calls that have ended by time are added up for
good."""
MOST_COUNT = 10**15


class Sums(LazyModel, frozen=True):
    """The use of one space on a day."""

    runs: int = Field(0, ge=0, le=MOST_COUNT)
    failed_runs: int = Field(0, ge=0, le=MOST_COUNT)
    notes: int = Field(0, ge=0, le=MOST_COUNT)
    calls: int = Field(0, ge=0, le=MOST_COUNT)
    prompt_tokens: int = Field(0, ge=0, le=MOST_COUNT)
    completion_tokens: int = Field(0, ge=0, le=MOST_COUNT)
    estimated_tokens: int = Field(0, ge=0, le=MOST_COUNT)

    def plus(self, other: "Sums") -> "Sums":
        """Both together."""
        return Sums.model_construct(
            **{name: min(getattr(self, name) + getattr(other, name), MOST_COUNT) for name in Sums.model_fields}
        )

    @property
    def usage(self) -> Usage:
        """Calls and tokens."""
        return Usage(self.calls, self.prompt_tokens, self.completion_tokens, self.estimated_tokens)

    @classmethod
    def of(cls, usage: Usage, *, runs: int = 0, failed_runs: int = 0, notes: int = 0) -> "Sums":
        """The sums of a `usage` that was just counted."""
        return cls.model_construct(
            runs=runs,
            failed_runs=failed_runs,
            notes=notes,
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            estimated_tokens=usage.estimated_tokens,
        )


class Reservation(LazyModel, frozen=True):
    """A call that is under way. After `until` its worker has died. Then it counts as its prompt, which was sent."""

    space_id: str
    prompt: int = Field(ge=0, le=MOST_COUNT)
    """Tokens of the prompt, estimated."""
    tokens: int = Field(ge=0, le=MOST_COUNT)
    """Tokens of prompt and answer at most, estimated."""
    until: Moment

    def is_over(self, now: datetime) -> bool:
        """Whether it has ended by time."""
        return clock.parse(self.until) <= now

    def reserved(self, now: datetime) -> int:
        """Tokens that it keeps from others."""
        return self.prompt if self.is_over(now) else self.tokens

    def sums(self) -> Sums:
        """The sums that it counts as until its worker says more."""
        return Sums.of(Usage(calls=1, estimated_tokens=self.prompt))


class Totals(Revised):
    """`_system/usage/{day}/{shard}.json`."""

    spaces: dict[str, Sums] = {}
    open: dict[str, Reservation] = {}
    """Calls that are under way, by their ids."""
    recent: list[str] = []
    """Ids of the last changes, the newest at the end."""

    def settled(self, space_id: str | None = None) -> int:
        """Tokens of the calls that have ended, of one space or of all."""
        own = [self.spaces[space_id]] if space_id in self.spaces else []
        return sum(sums.usage.tokens for sums in (self.spaces.values() if space_id is None else own))

    def reserved(self, now: datetime, space_id: str | None = None, *, but: str = "") -> dict[str, int]:
        """Tokens that calls under way keep from others, by call: of one space or of all, but for the call `but`."""
        return {
            call_id: call.reserved(now)
            for call_id, call in self.open.items()
            if call_id != but and space_id in (None, call.space_id)
        }

    def by_space(self) -> dict[str, Sums]:
        """The use of each space, with its calls under way."""
        sums = dict(self.spaces)
        for call in self.open.values():
            sums[call.space_id] = sums.get(call.space_id, Sums()).plus(call.sums())
        return sums


@dataclass(frozen=True)
class Added:
    """Sums to be counted for a space, once for each id."""

    change_id: str
    sums: Sums = field(default_factory=Sums)


class _Seen:
    """The documents of the newest two days as this process has seen them last, and a lock for each shard. The lock
    keeps the threads of a process from racing each other.
    """

    def __init__(self, _: Timer) -> None:
        self._last: dict[tuple[date, int], Stored[Totals]] = {}
        self._lock = threading.Lock()
        self.locks = [threading.Lock() for _ in range(SHARDS)]

    def get(self, day: date, shard: int) -> Stored[Totals] | None:
        with self._lock:
            return self._last.get((day, shard))

    def put(self, day: date, shard: int, current: Stored[Totals]) -> Stored[Totals]:
        with self._lock:
            self._last[day, shard] = current
            newest = sorted({day_of_key for day_of_key, _ in self._last})[-2:]
            self._last = {key: value for key, value in self._last.items() if key[0] in newest}
        return current

    def settled(self, day: date) -> int:
        """The least number of tokens that are used up for good. Sums never fall."""
        with self._lock:
            return sum(current.value.settled() for (other, _), current in self._last.items() if other == day)


@lru_cache(10_000)
def shard_of(space_id: str) -> int:
    """Which of a day's documents a space is in."""
    return hashlib.sha256(space_id.encode()).digest()[0] % SHARDS


def least_settled(process: Process, day: date) -> int:
    """Tokens that all spaces have surely used up on this day, as far as this process knows: no request."""
    return process.cache(_Seen).settled(day)


def of_space(process: Process, day: date, space_id: str) -> Totals:
    """The document that a space is in: 1 GET. Raises StoreUnavailable."""
    document = _find(process, day, shard_of(space_id))
    return document.value if document else Totals()


def _find(process: Process, day: date, shard: int) -> Stored[Totals] | None:
    return stored.find(process.store, TOTALS.key(day, shard), stored.or_empty(Totals))


def of_day(process: Process, day: date) -> list[Totals]:
    """All documents of a day: 1 LIST, and 1 GET for each that has changed since this process read it.

    Raises StoreUnavailable.
    """
    cache = process.cache(_Seen)

    def read(listed_shard: tuple[int, str]) -> Totals:
        shard, etag = listed_shard
        last = cache.get(day, shard)
        if last and last.etag == etag:
            return last.value
        fresh = _find(process, day, shard)
        return cache.put(day, shard, fresh).value if fresh else Totals()

    entries = process.store.scan(TOTALS.prefix(day), limit=1_000)
    shards = [(parsed[1], entry.etag) for entry in entries if (parsed := TOTALS.parse(entry.key))]
    return process.store.map(read, [numbered for numbered in shards if numbered[0] < SHARDS])


def change(
    process: Process, day: date, space_id: str, make: Callable[[Totals], Totals | None], *, fresh: bool = False
) -> Totals:
    """Write what `make` makes of the document that a space is in, and return the new document: 1 PUT, and 1 GET unless
    this process has seen its newest version. `make` may be called again.

    `fresh`: `make` must decide on the newest version. Raises StoreUnavailable, PreconditionLost.
    """
    cache, shard = process.cache(_Seen), shard_of(space_id)
    with cache.locks[shard]:
        last = None if fresh else cache.get(day, shard)
        document = stored.update(
            process.store,
            TOTALS.key(day, shard),
            lambda totals: make(totals or Totals()),
            process.new_id,
            read=stored.or_empty(Totals),
            current=last or ...,
        )
        return cache.put(day, shard, document).value if document else Totals()


def add(process: Process, day: date, space_id: str, added: Sequence[Added], *, closes: str = "") -> None:
    """Count these for a space, each once, and end the call `closes`, which they describe: 1 PUT, 1 GET as in `change`.

    No PUT where all was counted before. Raises StoreUnavailable, PreconditionLost.
    """

    def make(totals: Totals) -> Totals | None:
        new = [addition for addition in added if addition.change_id not in totals.recent]
        if not new and closes not in totals.open:
            return None
        sums = totals.spaces.get(space_id, Sums())
        for addition in new:
            sums = sums.plus(addition.sums)
        return totals.model_copy(
            update={
                "spaces": totals.spaces | {space_id: sums},
                "open": _without(totals.open, closes),
                "recent": [*totals.recent, *(addition.change_id for addition in new)][-MOST_RECENT:],
            }
        )

    change(process, day, space_id, make)


def _without(calls: Mapping[str, Reservation], call_id: str) -> dict[str, Reservation]:
    return {other_id: call for other_id, call in calls.items() if other_id != call_id}


def opened(totals: Totals, call_id: str, call: Reservation, now: datetime) -> Totals:
    """The document with one more call under way."""
    spaces, calls = dict(totals.spaces), {**totals.open, call_id: call}
    over = [other_id for other_id, old in totals.open.items() if old.is_over(now)]
    for ended_id in over[: max(0, len(calls) - MOST_OPEN)]:
        # Its worker will say no more.
        old = calls.pop(ended_id)
        spaces[old.space_id] = spaces.get(old.space_id, Sums()).plus(old.sums())
    return totals.model_copy(update={"spaces": spaces, "open": calls})


def closed(totals: Totals, call_id: str) -> Totals | None:
    """The document without a call that was not made. None: the call is not under way."""
    return totals.model_copy(update={"open": _without(totals.open, call_id)}) if call_id in totals.open else None


def together(parts: Iterable[Sums]) -> Sums:
    """The sum of some."""
    return reduce(Sums.plus, parts, Sums())


@dataclass(frozen=True)
class Budget:
    """What may be used on a day (UTC), None where there is no limit, and what was used of it today."""

    tokens_per_day: int | None
    used_today: int

    @property
    def exhausted(self) -> bool:
        """Whether no further call is made today."""
        return self.tokens_per_day is not None and self.used_today >= self.tokens_per_day


def service_budget(process: Process) -> Budget:
    """What of the service's budget is used today: 1 LIST, and at most 16 GETs."""
    result = of_day(process, process.clock().date())
    used = together(sums for item in result for sums in item.by_space().values())
    return Budget(process.settings.llm_daily_token_budget or None, used.usage.tokens)

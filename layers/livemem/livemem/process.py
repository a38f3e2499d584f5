"""The process: one object per environment, given to every domain call.

A Lambda environment, a worker of the local runtime or a test's world has one. So nothing of a process is kept in
modules, and two processes can live in one interpreter.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from livemem import background
from livemem import clock as clocks
from livemem.clock import Clock
from livemem.errors import OutOfTime
from livemem.llm.client import Ask
from livemem.llm.embeddings import Embed
from livemem.llm.tool_calling import Converse
from livemem.settings import Settings
from livemem.store.cache import MB, ReadCache
from livemem.store.objects import Store

C = TypeVar("C")

Function = Literal["consolidate", "backup", "indexer", "summarize", "digest", "ask"]
"""The functions that are invoked asynchronously, by their folders."""

Enqueue = Callable[[Function, Mapping[str, Any]], None]
"""Queues one asynchronous invocation of a function with this payload, a JSON object. Raises StoreUnavailable."""

Every = Callable[[Callable[[], None], float], AbstractContextManager[None]]
"""Calls something every so many seconds for as long as the context lasts."""

InBackground = Callable[[Callable[[], None]], None]
"""Does something beside the present work, without a wait for it."""

FetchDocument = Callable[[str], bytes]
"""Fetches the small JSON document at an https URL that a stranger names. Raises NotFetched."""

Timer = Callable[[], float]
"""Seconds from any beginning, never going back: caches use it for the age of entries."""


def _fetch_document(url: str) -> bytes:
    # Only sign-in ever does it.
    from livemem.outbound import public_fetch  # noqa: PLC0415

    return public_fetch.fetch(url)


@dataclass(frozen=True, eq=False)
class Process:
    """The parts that every domain call may need. `new_suffix` makes the 8 hex digits of a note's name.

    `embed` is None where no embedding model is configured.
    """

    store: Store
    settings: Settings
    ask: Ask
    converse: Converse
    enqueue: Enqueue
    new_suffix: Callable[[], str]
    embed: Embed | None = None
    new_id: Callable[[], str] = clocks.new_id
    clock: Clock = clocks.now
    timer: Timer = time.monotonic
    every: Every = background.every
    in_background: InBackground = background.in_background
    fetch_document: FetchDocument = _fetch_document
    reads: ReadCache = field(init=False, repr=False)
    """Objects that were read and can't have changed: one bound over all kinds (READ_CACHE_MB)."""
    _caches: dict[Callable[[Timer], Any], Any] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", ReadCache(self.settings.read_cache_mb * MB))

    def within(self, until: datetime) -> "Process":
        """The same process for one piece of work among many: from `until` on its next request to the store raises
        OutOfTime. Caches are the same.
        """

        def check() -> None:
            self.store.check()
            if self.clock() >= until:
                raise OutOfTime("The time for this piece of work is over.")

        other = replace(self, store=self.store.checked(check))
        object.__setattr__(other, "reads", self.reads)
        return other

    def cache(self, kind: Callable[[Timer], C]) -> C:
        """This process's cache of a room: `kind`, called with the timer when it is first asked for."""
        with self._lock:
            if kind not in self._caches:
                self._caches[kind] = kind(self.timer)
            cache: C = self._caches[kind]
        return cache

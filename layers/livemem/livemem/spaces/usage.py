"""What the runs of a day have asked of the LLM, as the bucket tells it.

Each run is entered below its day before it is written, in an object without content that only names it: so the runs of
a day are found by listing, however many spaces there are. The numbers are read from the runs themselves, and nothing
adds up beside them that could drift. Only when a space is deleted, and its runs with it, are theirs kept in the entry.
"""

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from typing import Any

from cachetools import LRUCache
from pydantic import BaseModel

from livemem import clock
from livemem.errors import AnswerTooLarge, PreconditionLost
from livemem.llm.usage import Usage
from livemem.process import Process, Timer
from livemem.spaces import ended
from livemem.store import documents, keys
from livemem.store.objects import Entry

KEPT_DAYS = 31
"""For how many days what a deleted space has used is kept: as far back as one answer shows."""

MOST_RUNS = 10_000
"""Runs that are read for one answer: some ten seconds."""

MOST_KNOWN = 20_000


class _Run(BaseModel, defer_build=True):
    """The fields of a run (runs/run.py) that are asked for here."""

    status: str = ""
    dry_run: bool = False
    metrics: dict[str, Any] = {}
    spent: dict[str, Any] = {}
    asking: dict[str, Any] = {}


@dataclass(frozen=True)
class RunUse:
    """What one run has used, how many notes it folded, and whether it failed."""

    usage: Usage = field(default_factory=Usage)
    notes: int = 0
    failed: bool = False


@dataclass(frozen=True)
class Entered:
    """A run in the index: its day, its space, its id, and whether the entry itself holds what it used."""

    day: date
    space_id: str
    run_id: str
    kept: bool


class _Final:
    """What runs used that this process has seen to have ended: that is final."""

    def __init__(self, _: Timer) -> None:
        self._known = LRUCache[str, RunUse](MOST_KNOWN)
        self._lock = threading.Lock()

    def get(self, run_id: str) -> RunUse | None:
        with self._lock:
            return self._known.get(run_id)

    def put(self, run_id: str, use: RunUse) -> None:
        with self._lock:
            self._known[run_id] = use


def enter(process: Process, space_id: str, run_id: str) -> None:
    """Enter a run that is about to be queued below the present day (UTC): 1 PUT. Raises StoreUnavailable."""
    key = keys.run_of_day(process.clock().date(), space_id, run_id)
    try:
        process.store.put(key, b"", if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        # Our own first try, whose answer was lost: nobody else knows the id.
        return


def keep(process: Process, space_id: str, run_keys: Iterable[str]) -> None:
    """Keep what the runs of a space have used that are about to be removed: 1 GET each, and 1 GET and 1 PUT
    if it asked the LLM.

    As many as were queued in the last 31 days. It may be done again.
    """
    oldest = process.clock() - timedelta(days=KEPT_DAYS)
    recent = [run_id for key in run_keys if (run_id := _run_id(key)) and clock.id_time(run_id) >= oldest]
    process.store.map(lambda run_id: _keep_one(process, space_id, run_id), recent)


def _run_id(key: str) -> str | None:
    parsed = keys.parse_run(key)
    return parsed[0] if parsed else None


def _keep_one(process: Process, space_id: str, run_id: str) -> None:
    use, _ = _read(process, keys.run(space_id, run_id))
    key = keys.run_of_day(clock.id_time(run_id).date(), space_id, run_id)
    # One that ran in another space, and came with what was restored from there, counts there.
    if use.usage.calls and process.store.get(key):
        process.store.put(key, documents.dump(asdict(use)), content_type=documents.JSON)


class _Spent:
    """What jobs of this process have used, by day and space: under the id of the entry the usage of each part."""

    def __init__(self, _: Timer) -> None:
        self._parts: dict[tuple[date, str], tuple[str, dict[Hashable, Usage]]] = {}
        self._lock = threading.Lock()

    def add(self, day: date, space_id: str, entry_id: str, part: Hashable, usage: Usage) -> tuple[str, Usage]:
        """The entry, and all that is in it now."""
        with self._lock:
            for old in [one for one in self._parts if one[0] < day]:
                del self._parts[old]
            known_id, parts = self._parts.setdefault((day, space_id), (entry_id, {}))
            parts[part] = usage
            return known_id, sum(parts.values(), Usage())


def note(process: Process, space_id: str, entry_id: str, part: Hashable, used: Usage) -> None:
    """Note what `part` of a job that is no run has used by now, below the present day (UTC): 1 PUT.

    One entry for all jobs of this process in a space, since there may be one for each turn of a conversation.
    `entry_id` (an ULID) names it if it is the first.
    """
    day = process.clock().date()
    known_id, total = process.cache(_Spent).add(day, space_id, entry_id, part, used)
    kept = {"usage": asdict(total), "notes": 0, "failed": False, "final": False}
    process.store.put(keys.run_of_day(day, space_id, known_id), documents.dump(kept), content_type=documents.JSON)


def runs_of(process: Process, days: Sequence[date], space_id: str | None = None) -> list[Entered]:
    """The runs that were queued on these days, in one space or in all: 1 LIST a day and 1,000 runs."""
    listed = process.store.map(lambda day: list(process.store.scan(keys.runs_of_day(day, space_id))), days)
    return [found for entries in listed for entry in entries if (found := _entered(entry))]


def _entered(entry: Entry) -> Entered | None:
    parsed = keys.parse_run_of_day(entry.key)
    return Entered(*parsed, kept=entry.size > 0) if parsed else None


def read(process: Process, entered: Sequence[Entered]) -> Mapping[Entered, RunUse]:
    """What these runs have used by now: 1 GET for each that this process has not seen to have ended.

    Raises AnswerTooLarge for more than 10,000.
    """
    if len(entered) > MOST_RUNS:
        raise AnswerTooLarge(f"{len(entered)} runs were started in that time: ask for fewer days.")
    return dict(zip(entered, process.store.map(lambda one: _use(process, one), entered), strict=True))


def _use(process: Process, one: Entered) -> RunUse:
    final = process.cache(_Final)
    known = final.get(one.run_id)
    if known:
        return known
    key = keys.run_of_day(one.day, one.space_id, one.run_id) if one.kept else keys.run(one.space_id, one.run_id)
    use, is_final = _read(process, key)
    if is_final:
        final.put(one.run_id, use)
    return use


def _read(process: Process, key: str) -> tuple[RunUse, bool]:
    """What the run, or the entry that kept it, says; nothing where it is gone or can't be read."""
    found = process.store.get(key)
    try:
        if found and keys.parse_run_of_day(key):
            kept = _Kept.model_validate_json(found.body)
            return kept.use(), kept.final
        run = _Run.model_validate_json(found.body) if found else _Run()
    except ValueError:
        return RunUse(), False
    # What a worker was asking when it died is all that is known of it.
    last = run.metrics if "llm_calls" in run.metrics else run.asking
    usage = Usage.of(run.spent) + Usage.of(last)
    notes = run.metrics.get("notes_processed", 0) if run.status == "ok" and not run.dry_run else 0
    is_final = run.status in ended.FINAL
    return RunUse(usage, notes if isinstance(notes, int) else 0, run.status == "error"), is_final


class _Kept(BaseModel, defer_build=True):
    """An entry that keeps what its run used, or what jobs have used by now."""

    usage: Usage
    notes: int
    failed: bool
    final: bool = True

    def use(self) -> RunUse:
        return RunUse(self.usage, self.notes, self.failed)

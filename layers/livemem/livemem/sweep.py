"""The sweep: every 15 minutes, what events and retries did not finish.

For each space: a change that is committed but not applied, a run that died, a threshold that no event noticed; and the
remains of deletions and creations that were interrupted. Once a day also for expired Idempotency-Keys.
"""

import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from livemem import appending, commit, counter, keys, lease, spaces
from livemem.clock import Clock
from livemem.errors import Busy, Conflict, LiveMemoryError, NotFound
from livemem.spaces import INTERRUPTED_AFTER, Head
from livemem.store import Entry, Store, require_conditional_writes

logger = logging.getLogger(__name__)

SPACES_AT_ONCE = 64
QUARTERS_A_DAY = 96
SHORTEST_ROUND = 30.0
"""Seconds that must be left to begin with further spaces."""


@dataclass
class Report:
    """What a sweep found and did; ages in seconds."""

    spaces: int = 0
    recovered: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    expired_keys: int = 0
    oldest_pending_note_seconds: float = 0.0


def sweep(
    store: Store, *, clock: Clock, new_id: Callable[[], str], start: counter.Start, time_left: Callable[[], float]
) -> Report:
    """Look at every space once; `time_left` in seconds bounds it. One space's failure does not stop the others."""
    require_conditional_writes(store)
    report = Report()
    waiting = spaces.ids(store)
    # Looking is done for many spaces at once; what needs work is worked off one by one.
    while time_left() > SHORTEST_ROUND and (some := list(islice(waiting, SPACES_AT_ONCE))):
        for look in store.map(lambda space_id: _look(store, space_id, clock), some):
            report.spaces += 1
            report.oldest_pending_note_seconds = max(report.oldest_pending_note_seconds, look.oldest_pending_seconds)
            if look.needs_work:
                _work(store, look.space_id, report, clock, new_id, start)
            elif look.failed:
                report.failed.append(look.space_id)
            if not look.failed and _is_turn(look.space_id, clock()):
                _drop_expired(store, look.space_id, report, clock())
    if next(waiting, None) is not None:
        logger.warning("sweep ran out of time", extra={"spaces": report.spaces})
    return report


@dataclass(frozen=True)
class _Look:
    space_id: str
    needs_work: bool = False
    failed: bool = False
    oldest_pending_seconds: float = 0.0


def _look(store: Store, space_id: str, clock: Clock) -> _Look:
    """Whether there is anything to do for the space: 2 GET and 1 LIST."""
    now = clock()
    try:
        head = spaces.find_any(store, space_id)
        if not head or head.meta.deleted_at:
            return _Look(space_id, needs_work=True)
        unfinished = _unfinished(store, head, now)
        if not head.meta.automatic():
            return _Look(space_id, needs_work=unfinished)
        live = spaces.live_notes(store, space_id, limit=head.meta.consolidation_threshold + 1)
        due = len(live) >= head.meta.consolidation_threshold
        return _Look(space_id, needs_work=unfinished or due, oldest_pending_seconds=pending_age(live, now))
    except LiveMemoryError as error:
        logger.warning("sweep can't look at a space", extra={"space_id": space_id, "error_code": error.code})
        return _Look(space_id, failed=True)


def _work(
    store: Store, space_id: str, report: Report, clock: Clock, new_id: Callable[[], str], start: counter.Start
) -> None:
    try:
        head = spaces.find_any(store, space_id)
        if not head or head.meta.deleted_at:
            if _clean(store, space_id, head, clock()):
                report.cleaned.append(space_id)
            return
        if _unfinished(store, head, clock()) and _recover(store, space_id, clock, new_id):
            report.recovered.append(space_id)
        outcome = counter.start_if_due(store, space_id, "sweep", now=clock(), new_id=new_id, start=start)
        if outcome.result == "started":
            report.started.append(space_id)
    except LiveMemoryError as error:
        logger.warning("sweep of a space failed", extra={"space_id": space_id, "error_code": error.code})
        report.failed.append(space_id)


def _is_turn(space_id: str, now: datetime) -> bool:
    """Whether it is the space's quarter of an hour of the day: each has one, so that not all are cleaned at once."""
    return zlib.crc32(space_id.encode()) % QUARTERS_A_DAY == (now.hour * 60 + now.minute) // 15


def _drop_expired(store: Store, space_id: str, report: Report, now: datetime) -> None:
    try:
        report.expired_keys += appending.drop_expired_claims(store, space_id, now)
    except LiveMemoryError as error:
        logger.warning("sweep can't clean a space", extra={"space_id": space_id, "error_code": error.code})
        report.failed.append(space_id)


def oldest_pending_seconds(store: Store, head: Head, now: datetime) -> float:
    """Age of the oldest live note of a space that consolidates by itself, else 0: 1 LIST."""
    if not head.meta.automatic():
        return 0.0
    return pending_age(spaces.live_notes(store, head.meta.space_id, limit=2), now)


def pending_age(live: list[Entry], now: datetime) -> float:
    """Age in seconds of the oldest of the listed notes, by its name; 0 if there is none."""
    parsed = keys.parse_note(live[0].key) if live else None
    return max((now - parsed[1].timestamp).total_seconds(), 0.0) if parsed else 0.0


def _unfinished(store: Store, head: Head, now: datetime) -> bool:
    seen = lease.look(store, head.meta.space_id)
    if seen and seen[0].live(now):
        return False
    return bool(head.meta.committed_run) or bool(seen and (seen[0].kind != "backoff" or seen[0].abandoned))


def _recover(store: Store, space_id: str, clock: Clock, new_id: Callable[[], str]) -> bool:
    now = clock()
    try:
        held = lease.acquire(store, space_id, new_id(), "sweep", now=now, until=now + INTERRUPTED_AFTER, by_hand=False)
    except Busy:
        return False
    try:
        head = commit.recover(store, spaces.load(store, space_id), clock)
        commit.clear_abandoned(store, head, held, clock)
    except NotFound:
        pass
    lease.release(store, held)
    return True


def _clean(store: Store, space_id: str, head: Head | None, now: datetime) -> bool:
    """Remove what an interrupted deletion or creation, or a write just after a deletion, left behind."""
    if head:
        try:
            spaces.finish_deletion(store, head, now)
        except Conflict:
            return False
        return True
    entries = list(store.scan(keys.prefix(space_id)))
    if not entries or any(now - entry.last_modified < INTERRUPTED_AFTER for entry in entries):
        return False
    ours = list(_own(space_id, entries))
    # A folder of the bucket that is not ours stays as it is.
    if not ours or len(ours) != len(entries):
        return False
    store.delete_many(ours)
    return True


def _own(space_id: str, entries: list[Entry]) -> Iterator[str]:
    for entry in entries:
        name = entry.key.removeprefix(keys.prefix(space_id))
        if name.startswith(("_runs/", "_consolidations/", "_idempotency/")) or name in (
            "_rules.md", "_synthesis.md", "_lease.json", "live/.keep", "bank/.keep"
        ) or keys.parse_note(entry.key) or keys.parse_bank_file(entry.key):  # fmt: skip
            yield entry.key

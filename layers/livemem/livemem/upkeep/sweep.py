"""The sweep finishes what events and retries did not. Every 15 minutes it looks at the due spaces, once a day at all.

It lists the due index once (spaces/due_index.py). The index also says what the last daily look has not reached: so the
daily look may take as many sweeps as it needs, and a sweep without a rest makes no request for it. Each package looks
at the due entries of its kinds, and maintains its part of the due spaces. This module only walks through them, and
handles the orphans of interrupted deletions and creations, and spaces that are being provisioned.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import ClassVar, Literal

from livemem.access import page_codes, request_rate
from livemem.copies import export, provisioning
from livemem.errors import LiveMemoryError, ObjectUnreadable, PreconditionLost, StoreUnavailable
from livemem.jobs import run_retention
from livemem.jobs.package import MORE_WORK, OLDEST, Space, look_at_space
from livemem.process import Process
from livemem.spaces import directory, due_index, lifecycle, pending, unreadable
from livemem.spaces import head as heads
from livemem.spaces.due_index import Due
from livemem.spaces.lifecycle import TOMBSTONE_LIFE
from livemem.store import bucket, due_keys, keys, stored_documents, timing
from livemem.store.bucket import IN_SPACE, SWEEP_PLACE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry
from livemem.store.stored_documents import Line, StoredDocument
from livemem.upkeep import packages

logger = logging.getLogger(__name__)

SweepKind = Literal["all", "due"]

SPACES_AT_ONCE = 64
SHORTEST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further spaces."""
SHARE = timedelta(minutes=1)
"""Time for one space, however much there is to do in it. The next sweep continues."""
DUE_SHARE = 0.25
"""Share of the time that remains, for all due entries of one kind."""
LAST_ROUND = timedelta(seconds=10)
"""The same, to enter those that were not reached, or to read further objects."""
LOOKED_BACK = timedelta(days=2)
"""Age up to which the daily look reads an object: twice the time between two looks."""
OBJECTS_READ = 2_000
"""Objects that the daily look reads in one space."""
OBJECTS_LISTED = 20_000
"""Objects that it lists of a space that has more than a page of them."""
OBJECTS_AT_ONCE = 64
WITHOUT_DOCUMENTS = {"live", "bank", "rooms", "_search", "_vectors"}
"""Folders of a space in which any body can be read, or an object that cannot be read is made again."""
READ_ALWAYS = {keys.META, "_lease.json"}
"""What every look at a space reads."""


@dataclass(frozen=True)
class Entered:
    """What the due index says of a space: that it is to be looked at, and since when its oldest note waits."""

    space: Due | None = None
    waiting: tuple[Due, ...] = ()

    def moments(self) -> list[datetime]:
        """Since when."""
        return [moment for item in self.waiting if (moment := due_index.waits_since(item))]


@dataclass
class SweepReport:
    """What a sweep did: `done` by what it was and by space, with how many or how old (in seconds) where that tells."""

    spaces: int = 0
    done: dict[str, dict[str, float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    unreadable: dict[str, list[str]] = field(default_factory=dict)
    """Keys of the objects that cannot be read, by space."""

    def did(self, what: str) -> list[str]:
        """The spaces in which it was done."""
        return list(self.done.get(what, {}))

    def most(self, what: str) -> float:
        """The largest number of it in one space."""
        return max(self.done.get(what, {}).values(), default=0.0)

    def add(self, space_id: str, done: Mapping[str, float]) -> None:
        """Take in what was done for one space."""
        for what, number in done.items():
            by_space = self.done.setdefault(what, {})
            # What was due was done before, and the daily look has done some too.
            by_space[space_id] = by_space.get(space_id, 0) + number


def sweep(process: Process, *, deadline: datetime, everything: bool = False) -> SweepReport:
    """Look at all that is due, and at every space that is, or at all there are (`everything`), until shortly before
    `deadline`.

    1 LIST per 1,000 entries of the due index where no space is due. One space's failure does not stop the others.
    """
    due = due_index.due_now(process)
    entered = _entered(due)
    # Without put events nobody hears of a note, so nobody enters its space.
    everything = everything or not process.settings.put_events
    rest = due.get("daily", [])
    known = sorted({*directory.ids(process), *entered}) if everything or rest else []
    left = known if everything else sorted(space_id for space_id, existing in entered.items() if existing.space)
    if left or rest:
        require_conditional_writes(process.store)
    # Before the spaces: neither waits for what lies in them, and each has its share.
    report = SweepReport()
    _look_at_due(process, due, report, deadline)
    report.unreadable = _check_unreadable(process, due.get("unreadable", []), _share(process, deadline))
    look = _Look(process, entered, dict(entered), report, deadline)
    if everything:
        _look_daily(look, _in_order(process, "all", left), None, rest)
    elif not _look_at_spaces(look, _in_order(process, "due", left), "due") and rest:
        _look_daily(look, _in_order(process, "all", rest_of(latest(rest), known)), latest(rest).name, rest)
    _add_oldest(report, look.resting, process.clock())
    return report


@dataclass(frozen=True)
class _Look:
    """What a sweep works with: the entries of spaces, those that it has not looked at yet, and until when."""

    process: Process
    entered: Mapping[str, Entered]
    resting: dict[str, Entered]
    report: SweepReport
    deadline: datetime


def _look_daily(look: _Look, space_ids: list[str], end: str | None, rest: Sequence[Due]) -> None:
    """Look at all spaces, or at those that the last daily sweep has left, and leave what there is no time for to the
    next sweep. `end`: the space with which that daily sweep began; None: this is a new one.
    """
    process = look.process
    look_at_spaces = _look_at_spaces(look, space_ids, "all")
    if end and look_at_spaces and look_at_spaces == space_ids:
        # Without progress the entry stays as it is.
        return
    if look_at_spaces:
        leave_rest(process, look_at_spaces, end or space_ids[0])
    else:
        _remove_old(process)
    due_index.remove(process, [key for item in rest for key in item.written])


def _look_at_spaces(look: _Look, space_ids: list[str], kind: SweepKind) -> list[str]:
    """Look at these spaces, and add to the report what was done; those for which there was no time. A sweep that has
    many notes how far it is.
    """
    process, many = look.process, len(space_ids) > SPACES_AT_ONCE
    rest, end = space_ids, look.deadline - LAST_ROUND
    while rest and look.deadline - process.clock() > SHORTEST_ROUND:
        batch, rest = rest[:SPACES_AT_ONCE], rest[SPACES_AT_ONCE:]
        if many:
            note_place(process, kind, batch[-1])
        looks = process.store.map(
            lambda space_id: _look_after(
                process, space_id, look.entered.get(space_id, Entered()), end, daily=kind == "all"
            ),
            batch,
        )
        for space_id, (done, _) in zip(batch, looks, strict=True):
            look.report.spaces += 1
            if done is None:
                look.report.failed.append(space_id)
            else:
                look.report.add(space_id, done)
                look.resting.pop(space_id, None)
        due_index.remove(process, [key for _, doomed in looks for key in doomed])
    if rest:
        logger.warning("sweep ran out of time", extra={"spaces": look.report.spaces, "left": len(rest)})
    elif many:
        note_place(process, kind, "")
    return rest


def _entered(due: Mapping[due_keys.DueKind, Sequence[Due]]) -> dict[str, Entered]:
    """What the index says of spaces themselves."""
    by_space_id = {item.space_id: Entered(item) for item in due.get("space", ())}
    for one in due.get("notes", ()):
        before = by_space_id.get(one.space_id, Entered())
        by_space_id[one.space_id] = Entered(before.space, (*before.waiting, one))
    return by_space_id


def _look_at_due(
    process: Process, due: Mapping[due_keys.DueKind, Sequence[Due]], report: SweepReport, deadline: datetime
) -> None:
    """Let each package look at the due entries of its kinds, and add to the report what was done."""
    for package in packages.PACKAGES:
        for kind, look in package.due.items():
            if not due.get(kind):
                continue
            try:
                done = look(process, due[kind], _share(process, deadline))
            except LiveMemoryError as error:
                logger.warning("due work was not checked", extra={"kind": kind, "error_code": error.code})
                continue
            except Exception as error:  # noqa: BLE001 - as for a space: what lies in one must not stop the sweep for all
                logger.error("due work was not checked", extra={"kind": kind, "error": type(error).__name__})  # noqa: TRY400
                continue
            for what, by_space in done.items():
                for space_id, count in by_space.items():
                    report.add(space_id, {what: count})


def _check_unreadable(process: Process, due: Sequence[Due], deadline: datetime) -> dict[str, list[str]]:
    """Which of the objects in the index still cannot be read, by space. The entries of others are removed, and their
    spaces looked at once more: 1 GET for each, 1 DeleteObjects.
    """
    rest = list(due)
    result: dict[str, list[str]] = {}
    try:
        while rest and deadline - process.clock() > LAST_ROUND:
            batch, rest = rest[:OBJECTS_AT_ONCE], rest[OBJECTS_AT_ONCE:]
            for entry, is_damaged in zip(batch, process.store.map(partial(_is_damaged, process), batch), strict=True):
                if is_damaged:
                    logger.warning("object cannot be read: put back an earlier version", extra={"key": entry.name})
                    result.setdefault(entry.space_id, []).append(entry.name)
                else:
                    # What could not be done without it is done now.
                    due_index.leave(process, entry.space_id)
            mended = [entry for entry in batch if entry.name not in result.get(entry.space_id, ())]
            due_index.remove(process, [key for entry in mended for key in entry.written])
    except LiveMemoryError as error:
        logger.warning("unreadable objects were not looked at", extra={"error_code": error.code})
    return result


def _is_damaged(process: Process, due: Due) -> bool:
    item = process.store.get(due.name) if unreadable.is_of_space(due) else None
    name = due.name.removeprefix(IN_SPACE.prefix(due.space_id))
    return item is not None and not packages.is_readable(name, item.body)


def _find_damaged(process: Process, space: Space) -> None:
    """Enter the objects of a space that were written lately and cannot be read.

    1 GET for each document of the last two days, at most 2,000; in a space of more than 1,000 objects 1 LIST per 1,000
    of those that may be documents, at most 20.
    """
    prefix = IN_SPACE.prefix(space.space_id)
    if space.entries is not None:
        entries: Iterable[Entry] = space.entries
    else:
        folders = sorted(space.folders - WITHOUT_DOCUMENTS)
        listed = (entry for folder in folders for entry in process.store.scan(f"{prefix}{folder}/"))
        entries = islice(listed, OBJECTS_LISTED)

    def is_looked_at(entry: Entry) -> bool:
        name = entry.key.removeprefix(prefix)
        return entry.age < LOOKED_BACK and name not in READ_ALWAYS and packages.reader(name) is not None

    def look(entry: Entry) -> None:
        with suppress(LiveMemoryError):
            item = process.store.get(entry.key)
            if item and not packages.is_readable(entry.key.removeprefix(prefix), item.body):
                unreadable.leave(process, entry.key)

    process.store.map(look, list(islice(filter(is_looked_at, entries), OBJECTS_READ)))


def _share(process: Process, deadline: datetime) -> datetime:
    """Until when one part of the work may take its time."""
    now = process.clock()
    return now + DUE_SHARE * (deadline - now)


def _remove_old(process: Process) -> None:
    """Remove what is kept no longer and belongs to no space. Where that fails, the next daily sweep tries again."""
    kinds: dict[str, Callable[[Process], object]] = {
        "days of runs": run_retention.remove_days,
        "archives": export.expire,
        "codes of the page": page_codes.remove_old,
        "counts of requests": request_rate.remove_old,
    }
    if process.settings.oauth_issuer is not None:
        # A service without sign-in never loads it.
        from livemem.signin import grant_expiry  # noqa: PLC0415

        kinds["grants"] = grant_expiry.expire
    for name, remove in kinds.items():
        try:
            remove(process)
        except LiveMemoryError as error:
            logger.warning("old %s were not removed", name, extra={"error_code": error.code})


def _add_oldest(report: SweepReport, resting: Mapping[str, Entered], now: datetime) -> None:
    """Take in how long a note waits in the spaces that were not looked at: that of the oldest is enough."""
    waiting = [(moment, space_id) for space_id, existing in resting.items() for moment in existing.moments()]
    if waiting:
        moment, space_id = min(waiting)
        report.add(space_id, {OLDEST: pending.age(moment, now)})


def _look_after(
    process: Process, space_id: str, entered: Entered, end: datetime, *, daily: bool
) -> tuple[Mapping[str, float] | None, list[str]]:
    """The work done for the space in its share of the time, None if it failed; and the index entries that may go."""
    try:
        done, oldest = _maintain(process.within(min(process.clock() + SHARE, end)), space_id, daily=daily)
    except LiveMemoryError as error:
        logger.warning("sweep of a space failed", extra={"space_id": space_id, "error_code": error.code})
        done = None
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the sweep for all
        # Not with its text, which may hold data.
        logger.error("sweep of a space failed", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        done = None
    if done is not None and MORE_WORK not in done:
        return done, _at_rest(process, space_id, entered, oldest)
    if not entered.space:
        due_index.leave(process, space_id)
    return done, entered.space.superseded if entered.space else []


def _at_rest(process: Process, space_id: str, entered: Entered, oldest: datetime | None) -> list[str]:
    """The entries that may go of a space in which nothing is to be done; `oldest` is the time of its oldest note that
    waits, which is entered: 1 PUT unless it is. Nothing changes while something may come.
    """
    if entered.space and not entered.space.may_go(process.clock()):
        return entered.space.superseded
    if oldest and oldest not in entered.moments():
        try:
            due_index.leave_waiting(process, space_id, oldest)
        except LiveMemoryError:
            return []
    stale = [key for item in entered.waiting if due_index.waits_since(item) != oldest for key in item.written]
    return [*stale, *(entered.space.written if entered.space else ())]


def _maintain(process: Process, space_id: str, *, daily: bool) -> tuple[Mapping[str, float], datetime | None]:
    """The work done for the space, and when the oldest of its waiting notes was written."""
    space = look_at_space(process, space_id, daily=daily)
    if not space:
        return _clear_orphans(process, space_id), None
    done: dict[str, float] = {}
    for package in packages.PACKAGES:
        try:
            done.update(package.maintain(process, space))
        except ObjectUnreadable as error:
            # The other packages do not need it. The reader that could not read it has entered it.
            logger.warning("an object cannot be read", extra={"space_id": space_id, "key": error.key})
    if daily:
        _find_damaged(process, space)
    return done, pending.oldest(space.live)


def _clear_orphans(process: Process, space_id: str) -> Mapping[str, float]:
    """Remove what an interrupted deletion or creation, or a write just after a deletion, left behind. Continue the
    provisioning of spaces.
    """
    head = heads.find_any(process, space_id)
    if head and not head.meta.deleted_at:
        # Just created.
        return {MORE_WORK: 1}
    if head and head.meta.is_being_provisioned():
        return provisioning.maintain(process, head)
    if head:
        if lifecycle.clear_orphans(process, head):
            return {"cleaned": 1, MORE_WORK: 1}
        return {MORE_WORK: 1} if head.age < TOMBSTONE_LIFE else {}
    entries = list(process.store.scan(IN_SPACE.prefix(space_id)))
    names = [entry.key.removeprefix(IN_SPACE.prefix(space_id)) for entry in entries]
    # A folder of the bucket that is not ours stays as it is; and so does what anybody may miss: an interrupted creation
    # leaves no memory.
    if not entries or not all(bucket.is_own(name) and not bucket.is_memory(name) for name in names):
        return {}
    if any(entry.age < timing.DEAD_AFTER for entry in entries):
        return {MORE_WORK: 1}
    try:
        lifecycle.bury(process, space_id)
    except PreconditionLost:
        # Somebody creates the space right now.
        return {MORE_WORK: 1}
    return {"cleaned": 1, MORE_WORK: 1}


def leave_rest(process: Process, space_ids: Sequence[str], first: str) -> None:
    """Note that these spaces are left, in this order, of a daily sweep that began with the space `first`: 1 PUT.

    Never fails: the next daily sweep begins with them.
    """
    with suppress(LiveMemoryError):
        due_index.leave_at(process, space_ids[0], "daily", first, process.clock())


def latest(rest: Sequence[Due]) -> Due:
    """The last of several entries about the rest of a daily sweep. Its name is the space with which that began."""
    return max(rest, key=lambda item: item.entries[-1].moment)


def rest_of(rest: Due, ids: Sequence[str]) -> list[str]:
    """Which of all spaces (sorted) are left: from the entry's space on, up to the one with which the sweep began."""
    begin, stop = rest.space_id, rest.name
    if begin < stop:
        return [item for item in ids if begin <= item < stop]
    return [*(item for item in ids if item >= begin), *(item for item in ids if item < stop)]


class SweepCursor(StoredDocument):
    """`_system/sweeps/{kind}.json`: how far a kind of sweep over many spaces came.

    The next one begins behind that. So neither a space that takes all the time nor one that kills the process keeps the
    next sweep from what comes behind.
    """

    most_bytes: ClassVar[int] = 4 << 10

    behind: Line = ""
    """The last space of those that were looked at, or being looked at."""


def _in_order(process: Process, kind: SweepKind, space_ids: list[str]) -> list[str]:
    """The spaces (sorted) in the order in which a kind of sweep looks at them: 1 GET where they are many."""
    if len(space_ids) <= SPACES_AT_ONCE:
        return space_ids
    item = process.store.get(SWEEP_PLACE.key(kind))
    try:
        behind = SweepCursor.from_bytes(item.body).behind if item else ""
    except ValueError:
        behind = ""
    # Stable: what follows an earlier look begins in the middle, and stays in its order.
    return sorted(space_ids, key=lambda space_id: space_id <= behind)


def note_place(process: Process, kind: SweepKind, behind: str) -> None:
    """Note how far the sweep is: 1 PUT. Never fails: it is a matter of order alone."""
    with suppress(StoreUnavailable):
        body = SweepCursor(behind=behind).to_bytes()
        process.store.put(SWEEP_PLACE.key(kind), body, content_type=stored_documents.JSON)

"""How many requests a second one token, and one space, may have answered. A refused one costs no request to the store.

A process knows only what it gets itself, and Lambda spreads the requests of one space over many processes. So each
process counts what it gets within ten seconds. From 20 on it leaves its count in the bucket, and adds up what the
others left. It does so again each time its count has doubled. The sum tells which part of the requests is answered,
and every process answers that part. So the rate holds however many processes there are. Their number changes: a flood
that is refused needs few.

It is no exact limit. No process knows the sum before its 20 requests, and a count may be half of what it is now. So in
the first ten seconds of a flood much more is answered, and later up to twice the limit. The look goes on beside the
answers, so nobody waits for it. Where the store does not answer, what was known stays.
"""

import logging
import math
import threading
from dataclasses import dataclass
from typing import Literal

from cachetools import TTLCache

from livemem.access.principal import Permission, Principal
from livemem.errors import CapReached, LiveMemoryError
from livemem.process import Process, Timer
from livemem.store import keys
from livemem.store.bucket import REQUEST_COUNT

logger = logging.getLogger(__name__)

SECONDS = 10
"""The length of a window of time."""
UNCOUNTED = 20
"""Requests of a token, or a space, that a process answers in a window before it tells of them."""
MOST_SUBJECTS = 10_000
KEPT = 60
"""Seconds for which a process remembers a flood. Older counts are needed by nobody."""
REMOVED_AT_ONCE = 50_000
"""Counts that one daily sweep removes. On AWS a lifecycle rule removes the others."""

Setting = Literal["requests_per_space_per_second", "requests_per_token_per_second"]


@dataclass
class _Window:
    """The requests of one token, or one space, that a process got in ten seconds."""

    number: int
    share: float
    """The part of them that is answered."""
    next_look: int
    seen: int = 0
    answered: int = 0
    before: int | None = None
    """How many all processes got in the window before this one. None: not known yet."""


class _Rates:
    """The windows of this process by whose they are, and its name among the processes."""

    def __init__(self, timer: Timer) -> None:
        self._windows = TTLCache[str, _Window](MOST_SUBJECTS, KEPT, timer)
        self._lock = threading.Lock()
        self._name = ""

    def name(self, process: Process) -> str:
        """The name of this process, made once."""
        with self._lock:
            self._name = self._name or process.new_id()
            return self._name

    def arrive(self, subject: str, number: int, count: int) -> tuple[_Window, bool, bool]:
        """Count so many more requests. Their window, whether they are answered, and whether it is time for a look."""
        with self._lock:
            window = self._at(subject, number)
            window.seen += count
            looks = window.seen >= window.next_look
            if looks:
                window.next_look = max(2 * window.seen, UNCOUNTED)
            answers = window.answered < window.seen * window.share
            window.answered += answers * count
            return window, answers, looks

    def _at(self, subject: str, number: int) -> _Window:
        former = self._windows.get(subject)
        if former and former.number == number:
            return former
        # What was a flood a moment ago is taken for one until the first look says otherwise, which is at once.
        share = former.share if former else 1.0
        window = self._windows[subject] = _Window(number, share, 1 if share < 1 else UNCOUNTED)
        return window


def check(
    process: Process, principal: Principal, space_id: str | None, count: int = 1, needs: Permission | None = None
) -> None:
    """Count a request of the token, and about the space where it may use that. Raises CapReached. `count`: of a batch,
    what it holds, since each note or turn of it takes as much of the service as one that comes alone. `needs`: the
    permission that the request needs. What writes has a share of the space of its own, which no reader takes.

    No requests to the store, but for those of a token or space with many: from 20 in ten seconds on, and each time they
    have doubled, 1 PUT and 1 LIST (2 the first time), beside the answer. A token with `admin` for all spaces is not
    counted: it could make itself another one, and must get through to stop a flood.
    """
    if "admin" in principal.permissions and not principal.space_ids:
        return
    if principal.token_hash:
        subject = f"token-{principal.token_hash.removeprefix('sha256:')}"
        _check(process, subject, count, "requests_per_token_per_second", "Requests of this token")
    if space_id is not None and principal.may_see(space_id) and keys.SPACE_ID.fullmatch(space_id):
        # A token that may not write is a reader, whatever it tries.
        kind = "writes" if needs == "write" and needs in principal.permissions else "space"
        _check(process, f"{kind}-{space_id}", count, "requests_per_space_per_second", "Requests about this space")


def remove_old(process: Process) -> None:
    """Remove counts that nobody needs: 1 LIST per 1,000, and as many DeleteObjects."""
    old: list[str] = []
    for entry in process.store.scan(REQUEST_COUNT.prefix()):
        if entry.age.total_seconds() <= KEPT or len(old) == REMOVED_AT_ONCE:
            break
        old.append(entry.key)
    process.store.delete_many(old)


def _check(process: Process, subject: str, count: int, setting: Setting, message: str) -> None:
    most = getattr(process.settings, setting)
    if not most:
        return
    now, rates = process.clock().timestamp(), process.cache(_Rates)
    window, answers, looks = rates.arrive(subject, int(now) // SECONDS, count)
    if looks:
        count_before = window.seen
        process.in_background(lambda: _look(process, subject, window, count_before, most * SECONDS))
    if not answers:
        detail = f"{message} come faster than {setting.upper()} allows ({most}). Wait longer after each refusal."
        raise CapReached(setting, detail, retry_after=math.ceil(SECONDS - now % SECONDS))


def _look(process: Process, subject: str, window: _Window, count_before: int, most: int) -> None:
    """Tell of this process's count, and see those of all."""
    try:
        name = process.cache(_Rates).name(process)
        process.store.put(REQUEST_COUNT.key(window.number, subject, name, count_before), b"")
        if window.before is None:
            window.before = _of_all(process, window.number - 1, subject)
        of_all = max(window.before, _of_all(process, window.number, subject))
    except LiveMemoryError as error:
        logger.info("requests were not counted", extra={"error_code": error.code})
        return
    window.share = min(1.0, most / of_all) if of_all else 1.0


def _of_all(process: Process, number: int, subject: str) -> int:
    """The sum of what all processes got in a window, as far as they told."""
    counts: dict[str, int] = {}
    for entry in process.store.scan(REQUEST_COUNT.prefix(number, subject)):
        parsed = REQUEST_COUNT.parse(entry.key)
        if parsed:
            *_, reporter, count = parsed
            counts[reporter] = max(counts.get(reporter, 0), count)
    return sum(counts.values())

"""Posting messages, each exactly once.

A repeat comes at another time, so its message would get another key. Therefore the message's time is first stored under
the id that the client gives. A repeat finds that time and takes it, also where the first worker died. An id whose
message is missing was digested, which the inputs of the digests show, or its message was never written.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar

from cachetools import LRUCache

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, PreconditionLost, RoomFull, TooLarge
from livemem.process import Process, Timer
from livemem.rooms import digested
from livemem.rooms import message as messages
from livemem.rooms.message import Message, MessageDraft
from livemem.spaces import caps, due_index
from livemem.spaces import head as heads
from livemem.store import keys, stored, timing
from livemem.store.bucket import ROOM_ID, ROOM_MESSAGE, message_name
from livemem.store.cache import TimedCache
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised
from livemem.store.stored_documents import Moment

logger = logging.getLogger(__name__)

BATCH = 100
OTHER = "was used for another message of this room: choose another id"
STAMP_TRIES = WRITE_TRIES = 3
MILLISECOND = timedelta(milliseconds=1)
FULL = 10_000
"""Messages of a room from which on the process asks for a digest."""
REFUSED = 20_000
"""Messages from which on it refuses more. No message is dropped."""
COUNTED_FOR = 300.0
"""Seconds for which a count holds."""
FORCED_EVERY = 60.0
"""Seconds between two digests that one process asks for, and between two counts of a room that is full."""
MOST_KNOWN = 10_000


class Stamp(Revised):
    """`_room_ids/...`: the time under which the message of an id is stored."""

    most_bytes: ClassVar[int] = 16 << 10

    message_id: str
    timestamp: Moment


@dataclass(frozen=True)
class Posted:
    """A message that is in its room, or was there.

    `digested`: a digest has taken it. Not `fresh`: it was posted before. `redacted` counts the removed secrets by kind.
    """

    message: Message
    fresh: bool
    digested: bool = False
    redacted: dict[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class RefusedMessage:
    """A message of a batch that was not written, because its id belongs to another message."""

    error: InvalidRequest


@dataclass(frozen=True)
class _Stamped:
    """A message with its time. `since`: when its id was first stored, if an earlier call did that."""

    draft: MessageDraft
    message: Message
    since: datetime | None
    now: datetime

    @property
    def moment(self) -> datetime:
        return clock.parse(self.message.timestamp)


def post(process: Process, space_id: str, room: str, draft: MessageDraft) -> Posted:
    """Post a message: 2 PUTs where the client gives an id, 1 PUT otherwise.

    Raises NotFound, InvalidRequest (also for an id that was used with other content), TooLarge, RoomFull.
    """
    checked = _checked(process, draft, "")
    done = _post(process, space_id, room, [checked], [""])[0]
    if isinstance(done, RefusedMessage):
        raise done.error
    return done


def post_all(
    process: Process, space_id: str, room: str, drafts: Sequence[MessageDraft]
) -> list[Posted | RefusedMessage]:
    """Post up to 100 messages, in 2 round trips. Returns the result of each, in their order.

    All are checked before the first is written. Raises as `post` does, but not where an id was used with other content.
    """
    if not drafts:
        raise InvalidRequest.of("items", "must have at least one message")
    if len(drafts) > BATCH:
        raise TooLarge.of("items", len(drafts), BATCH, "messages")
    where = [f"items.{place}." for place in range(len(drafts))]
    checked = [_checked(process, draft, place_name) for draft, place_name in zip(drafts, where, strict=True)]
    return _post(process, space_id, room, checked, where)


def _checked(process: Process, draft: MessageDraft, where: str) -> MessageDraft:
    draft = messages.check(draft, process.clock(), where)
    return messages.redacted(draft) if process.settings.redact_secrets else draft


def _post(
    process: Process, space_id: str, room: str, drafts: Sequence[MessageDraft], where: Sequence[str]
) -> list[Posted | RefusedMessage]:
    keys.check_room(room)
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    _check_fullness(process, space_id, room, len(drafts))
    due_index.leave_now(process, space_id, "room")
    now = process.clock()
    first: dict[str, int] = {}
    for place, draft in enumerate(drafts):
        first.setdefault(draft.message_id if draft.message_id is not None else f"{place}\0", place)
    places = list(first.values())
    # A millisecond apart, so that the messages of a batch keep their order.
    stamped = process.store.map(
        lambda place: _stamp(process, space_id, room, drafts[place], now + place * MILLISECOND), places
    )
    written = process.store.map(
        lambda pair: _write(process, space_id, room, pair[0], where[pair[1]]), list(zip(stamped, places, strict=True))
    )
    fresh = [result for result in written if isinstance(result, Posted) and result.fresh]
    process.cache(_Counts).add(space_id, room, len(fresh))
    results = dict(zip(places, written, strict=True))
    return [
        results[place] if place in results else _again(results[first[draft.message_id or ""]], draft, where[place])
        for place, draft in enumerate(drafts)
    ]


def _stamp(process: Process, space_id: str, room: str, draft: MessageDraft, now: datetime) -> _Stamped:
    """The message with its time: 1 PUT if it has an id, 1 GET more if that id was stored before."""
    message = Message(
        message_id=draft.message_id if draft.message_id is not None else process.new_id(),
        author=draft.author,
        content=draft.content,
        timestamp=draft.timestamp or clock.iso_millis(now),
    )
    if draft.message_id is None:
        return _Stamped(draft, message, None, now)
    key = ROOM_ID.key(space_id, room, draft.message_id)
    # The stamp has an id of its own: a repeat with the same time must not take the first stamp for its own.
    body = Stamp(message_id=message.message_id, timestamp=message.timestamp).stamped(process.new_id()).to_bytes()
    for _ in range(STAMP_TRIES):
        written = stored.write_once(process.store, key, body)
        if written.says_so:
            return _Stamped(draft, message, None, now)
        if written.other:
            original = message.model_copy(update={"timestamp": _time_in(written.other.body, message.timestamp)})
            return _Stamped(draft, original, written.other.last_modified, now)
    raise PreconditionLost("The id of the message is being removed right now. Try again.")


def _time_in(body: bytes, otherwise: str) -> str:
    try:
        return Stamp.from_bytes(body).timestamp
    except ValueError:
        # Somebody wrote something else there, which holds no time.
        return otherwise


def _write(process: Process, space_id: str, room: str, stamped: _Stamped, where: str) -> Posted | RefusedMessage:
    """Write the message unless it is there, or was: 1 PUT. Where its id was stored before, 1 GET first, and 1 LIST
    where the message is missing.
    """
    key = ROOM_MESSAGE.key(space_id, room, stamped.moment, stamped.message.message_id)
    if stamped.since is not None:
        existing = _find(process, key)
        if existing:
            return _compared(stamped, existing, where)
        if _is_taken(process, space_id, key, stamped.since):
            return Posted(stamped.message, fresh=False, digested=True, redacted=stamped.draft.redacted)
    for _ in range(WRITE_TRIES):
        # A repeat writes the same bytes, so a lost answer is compared with the message that is there.
        if stored.write_if(process.store, key, stamped.message.to_bytes()):
            return Posted(stamped.message, fresh=True, redacted=stamped.draft.redacted)
        existing = _find(process, key)
        if existing:
            compared = _compared(stamped, existing, where)
            # Where this call stored the id, it also wrote the message: the answer to the first try was lost.
            mine = isinstance(compared, Posted) and stamped.since is None
            return replace(compared, fresh=True) if mine and isinstance(compared, Posted) else compared
        if _is_taken(process, space_id, key, stamped.since or stamped.now):
            # The first try was written, and a digest has taken it already.
            return Posted(stamped.message, fresh=stamped.since is None, digested=True, redacted=stamped.draft.redacted)
    raise PreconditionLost("The message could not be written. Try again.")


def _find(process: Process, key: str) -> Message | None:
    item = process.store.get(key)
    name = message_name(key)
    return messages.read(name, item) if item and name else None


def _is_taken(process: Process, space_id: str, key: str, came: datetime) -> bool:
    name = message_name(key)
    return name is not None and name.name in digested.since(process, space_id, came - timing.SKEW)


def _compared(stamped: _Stamped, existing: Message, where: str) -> Posted | RefusedMessage:
    if not existing.says(stamped.message):
        return RefusedMessage(InvalidRequest.of(f"{where}message_id", OTHER))
    return Posted(existing, fresh=False, redacted=stamped.draft.redacted)


def _again(first: Posted | RefusedMessage, draft: MessageDraft, where: str) -> Posted | RefusedMessage:
    """The result of a message whose id occurs a second time in one batch."""
    if isinstance(first, RefusedMessage) or (first.message.author, first.message.content) != (
        draft.author,
        draft.content,
    ):
        return RefusedMessage(InvalidRequest.of(f"{where}message_id", OTHER))
    return replace(first, fresh=False, redacted=draft.redacted)


@dataclass
class _Count:
    counted: int
    at: float
    added: int = 0

    @property
    def figure(self) -> int:
        return self.counted + self.added

    def holds(self, now: float) -> bool:
        """Whether the count is still usable. It ages: other processes post too, and digests remove messages."""
        if self.figure < FULL:
            return now - self.at < COUNTED_FOR
        # Only the messages that this process added passed the limit, or a digest may have made room since.
        return self.counted >= FULL and now - self.at < FORCED_EVERY


class _Counts:
    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._rooms = LRUCache[tuple[str, str], _Count](MOST_KNOWN)
        self._lock = threading.Lock()

    def figure(self, space_id: str, room: str) -> int | None:
        with self._lock:
            count = self._rooms.get((space_id, room))
            return count.figure if count and count.holds(self._timer()) else None

    def set(self, space_id: str, room: str, count: int) -> None:
        with self._lock:
            self._rooms[space_id, room] = _Count(count, self._timer())

    def add(self, space_id: str, room: str, count: int) -> None:
        """Add messages that this process has written."""
        with self._lock:
            known_count = self._rooms.get((space_id, room))
            if known_count:
                known_count.added += count


_FORCED = partial(TimedCache[str, None], MOST_KNOWN, seconds=FORCED_EVERY)
"""The spaces for which this process asked for a digest in the last minute."""


def _check_fullness(process: Process, space_id: str, room: str, coming: int) -> None:
    """Raise RoomFull where the room can't take `coming` more, and ask for a digest where it holds too many.

    No request as a rule. 1 LIST per 1,000 messages at first and after 5 minutes, and each minute while it is full. If
    the room is empty then, 1 GET, and once a day 1 PUT for the space's cap. Raises CapReached.
    """
    counts = process.cache(_Counts)
    figure = counts.figure(space_id, room)
    if figure is None:
        entries = process.store.scan(ROOM_MESSAGE.prefix(space_id, room), limit=REFUSED + 1)
        figure = sum(1 for _ in entries)
        if not figure:
            caps.begin_room(process, space_id, room)
        counts.set(space_id, room, figure)
    if figure + coming > FULL and process.cache(_FORCED).notes(space_id, None):
        try:
            process.enqueue("digest", {"space_id": space_id, "forced": True})
        except LiveMemoryError as error:
            # The digest of the next digest time takes them too.
            logger.warning("a digest was not queued", extra={"space_id": space_id, "error_code": error.code})
    if figure + coming > REFUSED:
        raise RoomFull(
            f"The room {room!r} holds {figure} messages that wait for a digest, and the limit is {REFUSED}. A "
            "digest is requested. Post again once it has ended.",
            retry_after=int(FORCED_EVERY),
        )

"""Reading rooms: which rooms there are, and the messages in one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from livemem.errors import InvalidName
from livemem.process import Process
from livemem.rooms import message as messages
from livemem.rooms.message import Message
from livemem.spaces import head as heads
from livemem.store import keys, timeline
from livemem.store.bucket import IN_SPACE, ROOM_ID, ROOM_MESSAGE, MessageName, check_message_name, message_name
from livemem.store.objects import Entry


@dataclass(frozen=True)
class RoomInfo:
    """A room with messages now or in the last days. `newest`: time of the newest message that waits for a digest."""

    room: str
    has_messages: bool
    newest: str | None


@dataclass(frozen=True)
class MessagesPage:
    """Messages, and the name after which the next page begins. That is None at the end."""

    items: list[Message]
    next_after: str | None


def rooms(process: Process, space_id: str) -> list[RoomInfo]:
    """The rooms of a space by name: 2 LISTs, and a few for each room that holds messages. Raises NotFound."""
    heads.load_recent(process, space_id)
    with_messages, with_ids = process.store.map(
        lambda prefix: {name for name in process.store.folders(prefix) if keys.ROOM.fullmatch(name)},
        (ROOM_MESSAGE.prefix(space_id), ROOM_ID.prefix(space_id)),
    )
    names = sorted(with_messages | with_ids)
    newest = process.store.map(lambda name: _newest(process, space_id, name) if name in with_messages else None, names)
    return [RoomInfo(name, moment is not None, moment) for name, moment in zip(names, newest, strict=True)]


def _newest(process: Process, space_id: str, room: str) -> str | None:
    last = next(_backwards(process, space_id, room), None)
    if not last:
        return None
    item = process.store.get(IN_SPACE.key(space_id, last.name))
    moment = messages.read(last, item).timestamp if item else None
    return moment or f"{last.moment:%Y-%m-%dT%H:%M:%SZ}"


def page(
    process: Process, space_id: str, room: str, *, limit: int, after: str | None = None, oldest_first: bool = False
) -> MessagesPage:
    """Messages of a room that wait for a digest, the newest first: a few LISTs for any number of them, 1 GET each.

    `after` is the `next_after` of a page. A page with fewer than `limit` messages need not be the last.
    Raises NotFound, InvalidName.
    """
    keys.check_room(room)
    if after is not None:
        check_message_name(after)
    heads.load_recent(process, space_id)
    walk = _forwards if oldest_first else _backwards
    names: list[MessageName] = []
    for name in walk(process, space_id, room, after):
        names.append(name)
        if len(names) > limit:
            break
    batch = names[:limit]
    items = read(process, space_id, batch)
    items.sort(key=lambda message: message.timestamp, reverse=not oldest_first)
    return MessagesPage(items, _short(batch[-1]) if len(names) > limit else None)


def _short(name: MessageName) -> str:
    return name.name.rpartition("/")[2]


def read(process: Process, space_id: str, names: Sequence[MessageName]) -> list[Message]:
    """Those of these messages that are there: 1 GET each, in parallel."""
    items = process.store.get_many([IN_SPACE.key(space_id, name.name) for name in names])
    return [messages.read(name, item) for name, item in zip(names, items, strict=True) if item]


def newest(process: Process, space_id: str, room: str, most: int) -> list[Message]:
    """The newest messages of a room, the newest first."""
    return page(process, space_id, room, limit=most).items


def entries(process: Process, space_id: str, room: str, most: int | None = None) -> Iterator[tuple[MessageName, Entry]]:
    """The messages of a room as listings show them, the oldest first: 1 LIST per 1,000."""
    for entry in process.store.scan(ROOM_MESSAGE.prefix(space_id, room), limit=most):
        name = message_name(entry.key)
        if name:
            yield name, entry


def _forwards(process: Process, space_id: str, room: str, after: str | None = None) -> Iterator[MessageName]:
    prefix = ROOM_MESSAGE.prefix(space_id, room)
    for entry in process.store.scan(prefix, start_after=f"{prefix}{after}" if after else ""):
        name = message_name(entry.key)
        if name:
            yield name


def _timeline(space_id: str, room: str) -> timeline.Timeline:
    """The form of times in the keys of a room, in seconds."""

    def moment(key: str) -> int | None:
        name = message_name(key)
        return timeline.seconds(name.moment) if name else None

    return timeline.Timeline(
        ROOM_MESSAGE.prefix(space_id, room), lambda at: keys.compact_time(timeline.from_seconds(at)), moment
    )


def _backwards(process: Process, space_id: str, room: str, after: str | None = None) -> Iterator[MessageName]:
    before = None
    if after is not None:
        behind = message_name(f"{ROOM_MESSAGE.prefix(space_id, room)}{after}")
        if not behind:
            raise InvalidName("cursor", "is not the name of a message")
        before = timeline.seconds(behind.moment) + 1
    line, now = _timeline(space_id, room), timeline.seconds(process.clock())
    for batch in timeline.newest_first(process.store, line, now=now, before=before):
        for entry in reversed(batch):
            name = message_name(entry.key)
            if name and (after is None or _short(name) < after):
                yield name

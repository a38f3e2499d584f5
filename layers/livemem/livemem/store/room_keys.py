"""The keys of rooms and digests (docs/bucket.md). Only this file builds and parses them."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from livemem.errors import InvalidName
from livemem.store.keys import SPACE_ID, compact_time
from livemem.store.timeline import Timeline, from_seconds, seconds

ROOM = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
SLOT = re.compile(r"[0-9]{8}T[0-9]{6}")
OPEN = "_digests/open.json"
"""The name, below its space, of the document that names the current digest."""
FOLDERS = ("rooms", "_room_ids")
"""Folders of a space: its messages, and their ids."""
_NAME = re.compile(r"(?P<time>[0-9]{8}T[0-9]{6})_(?P<hash>[0-9a-f]{16})\.json")
_MESSAGE = re.compile(rf"rooms/(?P<room>{ROOM.pattern})/(?P<name>{_NAME.pattern})")
_ID = re.compile(rf"_room_ids/(?P<room>{ROOM.pattern})/(?P<hash>[0-9a-f]{{16}})\.json")
_DIGEST = re.compile(rf"_digests/(?P<slot>{SLOT.pattern})/(?P<rest>.+)")
_DEAD = re.compile(r"dead/(?P<chunk>[0-9]{4})\.json")
_TRY = re.compile(r"tries/(?P<chunk>[0-9]{4})-(?P<number>[1-9])\.json")
_PART = re.compile(r"(?:extract|stored)/(?P<chunk>[0-9]{4})\.json")


@dataclass(frozen=True)
class MessageName:
    """The parts of the key of a message. `name` is the key below its space, which a fork of the space has too."""

    name: str
    room: str
    moment: datetime
    digest: str
    """The beginning of the SHA-256 of its id."""

    @property
    def order(self) -> tuple[datetime, str]:
        return self.moment, self.name


def check_room(room: str, field: str = "room") -> str:
    """Return the room's name, or raise InvalidName."""
    if not ROOM.fullmatch(room):
        raise InvalidName(field, "must be 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit")
    return room


def check_slot(slot: str) -> str:
    """Return the name of a digest, or raise InvalidName: it is its slot's time (UTC), so digests sort by time."""
    slot_moment(slot)
    return slot


def slot_moment(slot: str) -> datetime:
    """The moment of a slot. Raises InvalidName."""
    try:
        if SLOT.fullmatch(slot):
            return datetime.fromisoformat(slot).replace(tzinfo=UTC)
    except ValueError:
        pass
    raise InvalidName("slot", "must be the time of a digest (UTC), such as 20260220T140000")


def digest_of(message_id: str) -> str:
    """The form of a message's id in keys."""
    return hashlib.sha256(message_id.encode()).hexdigest()[:16]


def rooms_prefix(space_id: str) -> str:
    """The prefix of the rooms that hold messages."""
    return f"{space_id}/rooms/"


def room_prefix(space_id: str, room: str) -> str:
    """The prefix of the messages of a room, the oldest first."""
    return f"{rooms_prefix(space_id)}{room}/"


def message(space_id: str, room: str, moment: datetime, message_id: str) -> str:
    """The key of a message."""
    return f"{room_prefix(space_id, room)}{compact_time(moment)}_{digest_of(message_id)}.json"


def named(space_id: str, name: str) -> str:
    """The key of the object with this name below its space."""
    return f"{space_id}/{name}"


def parse_message(key: str) -> MessageName | None:
    """The parts of the key of a message. None for every other key."""
    space_id, _, name = key.partition("/")
    match = _MESSAGE.fullmatch(name)
    if not match or not SPACE_ID.fullmatch(space_id):
        return None
    try:
        moment = slot_moment(match["time"])
    except InvalidName:
        return None
    return MessageName(name, match["room"], moment, match["hash"])


def message_named(name: str) -> str:
    """A key of a message with this name within its room. The room in the key is a placeholder."""
    return f"x/rooms/x/{name}"


def check_message_name(name: str) -> str:
    """Return the name of a message within its room, as a cursor has it, or raise InvalidName."""
    if not parse_message(message_named(name)):
        raise InvalidName("cursor", "is not the name of a message")
    return name


def timeline(space_id: str, room: str) -> Timeline:
    """The form of times in the keys of a room, in seconds."""

    def moment(key: str) -> int | None:
        message = parse_message(key)
        return seconds(message.moment) if message else None

    return Timeline(room_prefix(space_id, room), lambda at: compact_time(from_seconds(at)), moment)


def ids_prefix(space_id: str, room: str | None = None) -> str:
    """The prefix of the ids that clients gave to messages, of one room or of all."""
    return f"{space_id}/_room_ids/{f'{room}/' if room else ''}"


def message_id(space_id: str, room: str, message_id: str) -> str:
    """The key of a message's id. The object holds the time under which the message is kept."""
    return f"{ids_prefix(space_id, room)}{digest_of(message_id)}.json"


def parse_id(key: str) -> tuple[str, str] | None:
    """The room and the beginning of the id's hash in such a key. None for every other key."""
    match = _ID.fullmatch(key.partition("/")[2])
    return (match["room"], match["hash"]) if match else None


def digests_prefix(space_id: str) -> str:
    """The prefix of the digests, the oldest first."""
    return f"{space_id}/_digests/"


def digest_prefix(space_id: str, slot: str) -> str:
    """The prefix of all objects of one digest."""
    return f"{digests_prefix(space_id)}{slot}/"


def open_slot(space_id: str) -> str:
    """The key of the document that names the current digest: the one that is open, or the last one."""
    return f"{space_id}/{OPEN}"


def claim(space_id: str, slot: str) -> str:
    """The key of the digest's lease."""
    return f"{digest_prefix(space_id, slot)}claim.json"


def digest_input(space_id: str, slot: str) -> str:
    """The key of the digest's input, in chunks."""
    return f"{digest_prefix(space_id, slot)}input.json"


def extract(space_id: str, slot: str, chunk: int) -> str:
    """The key of the model's answer to a chunk."""
    return f"{digest_prefix(space_id, slot)}extract/{chunk:04d}.json"


def stored(space_id: str, slot: str, chunk: int) -> str:
    """The key of the document that says that the memories of a chunk are stored."""
    return f"{digest_prefix(space_id, slot)}stored/{chunk:04d}.json"


def failed_try(space_id: str, slot: str, chunk: int, number: int) -> str:
    """The key of the `number`th try, from 1, for which the model gave no usable answer to a chunk."""
    return f"{digest_prefix(space_id, slot)}tries/{chunk:04d}-{number}.json"


def dead_prefix(space_id: str, slot: str) -> str:
    """The prefix of the dead letters: chunks that were given up."""
    return f"{digest_prefix(space_id, slot)}dead/"


def dead(space_id: str, slot: str, chunk: int) -> str:
    """The key of a dead letter: the messages of a chunk that was given up, and the reason."""
    return f"{dead_prefix(space_id, slot)}{chunk:04d}.json"


def done(space_id: str, slot: str) -> str:
    """The key of the document that says that a digest has ended, with its counts."""
    return f"{digest_prefix(space_id, slot)}done.json"


def parse_digest(key: str) -> tuple[str, str] | None:
    """The slot, and the name below it, in a key of a digest. None for every other key."""
    match = _DIGEST.fullmatch(key.partition("/")[2])
    return (match["slot"], match["rest"]) if match else None


def parse_dead(rest: str) -> int | None:
    """The chunk in the name of a dead letter. None for every other name."""
    match = _DEAD.fullmatch(rest)
    return int(match["chunk"]) if match else None


def parse_try(rest: str) -> tuple[int, int] | None:
    """Chunk and number in the name of a failed try."""
    match = _TRY.fullmatch(rest)
    return (int(match["chunk"]), int(match["number"])) if match else None


def parse_part(rest: str) -> tuple[str, int] | None:
    """`extract` or `stored`, and the chunk, in the name of such a document."""
    match = _PART.fullmatch(rest)
    return (rest.partition("/")[0], int(match["chunk"])) if match else None


def is_extract(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of the model's answer to a chunk."""
    folder, _, rest = name.partition("/")
    part = parse_part(rest.partition("/")[2]) if folder == "_digests" else None
    return part is not None and part[0] == "extract"


def is_of_rooms(name: str) -> bool:
    """Whether the key below a space, without the space's id, is of a room."""
    return name.startswith(("rooms/", "_room_ids/"))


def is_of_digests(name: str) -> bool:
    """Whether it is of a digest."""
    return name.startswith("_digests/")

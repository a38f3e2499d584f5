"""The names that keys are made of: their rules, and what they say. Keys themselves are built in bucket.py."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from ulid import ULID

from livemem.errors import InvalidName

CATEGORIES = ("observation", "decision", "todo", "insight", "question", "progress", "issue")

SYNTHESIS = "_synthesis.md"
MANIFEST = "_manifest.json"
"""The name of the list of a backup's or an archive's contents."""
META = "_meta.json"
"""The name of the head below its space."""
RULES_PATH = "_rules.md"
"""The rules' path in a record. No path of a bank file begins with an underscore."""

LAST_TURN = 9_999_999_999
LAST_SUMMARY = 999_999_999
"""Turns count down from this number in their keys: S3 lists upwards only, and readers want the newest turns first."""
MemoryKind = Literal["fact", "self", "goal"]
MEMORY_KINDS: tuple[MemoryKind, ...] = ("fact", "self", "goal")
MEMORY_FOLDERS: dict[MemoryKind, str] = {"fact": "facts", "self": "self", "goal": "goals"}
LEVELS = (1, 2, 3)
"""The levels of summaries."""
SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
ROOM = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")
SLOT = re.compile(r"[0-9]{8}T[0-9]{6}")
AGENT = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,63}")
RUN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
NOTE_ID = re.compile(
    rf"(?P<time>[0-9]{{8}}T[0-9]{{6}})_(?P<agent>{AGENT.pattern})_(?P<category>{'|'.join(CATEGORIES)})_(?P<suffix>[0-9a-f]{{8}})"
)
BACKUP_ID = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}")
HASH = re.compile(r"[0-9a-f]{64}")
TOKEN_HASH = re.compile(r"sha256:[0-9a-f]{64}")
OBJECT_NAME_BYTES = 900
"""Limit of an object's name below its space: the length that S3 allows, less the prefix of a backup's key."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
RECORD = re.compile(r"(?P<number>[0-9]{6,})_(?P<first>[0-9]{8}T[0-9]{6})_(?P<last>[0-9]{8}T[0-9]{6})")


@dataclass(frozen=True)
class NoteName:
    """The parts of a note's id: its time (UTC, whole seconds), its agent and its category."""

    timestamp: datetime
    agent: str
    category: str
    suffix: str

    @property
    def note_id(self) -> str:
        return f"{compact_time(self.timestamp)}_{self.agent}_{self.category}_{self.suffix}"

    @property
    def order(self) -> tuple[datetime, str, str, str]:
        """Sorts the notes of all agents by time: by second, then by suffix. The first 3 digits of a suffix are the
        millisecond, and the suffixes of a batch count up. Names alone sort by agent and category within a second.
        """
        return self.timestamp, self.suffix, self.agent, self.category


@dataclass(frozen=True)
class RecordName:
    """The parts of a record's file name: its number and the compact times of its first and last note."""

    number: int
    first: str
    last: str
    etag: str = field(default="", compare=False)
    """The record's ETag, if a listing has just returned it: a record that is read by it may come from the cache."""

    def covers(self, note: NoteName) -> bool:
        """Whether the record can hold the note."""
        return self.first <= compact_time(note.timestamp) <= self.last


def check_space_id(space_id: str) -> str:
    """Return `space_id`, or raise InvalidName."""
    if not SPACE_ID.fullmatch(space_id):
        raise InvalidName("space_id", "must be 1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit")
    return space_id


def check_agent(agent: str) -> str:
    """Return the agent's name, or raise InvalidName. No underscore: a note's name must parse back."""
    if not AGENT.fullmatch(agent):
        raise InvalidName("agent", "must be 1 to 64 of A-Z a-z 0-9 -, beginning with a letter or digit")
    return agent


def check_run_id(run_id: str) -> str:
    """Return `run_id`, or raise InvalidName. Run ids are ULIDs, so they sort by time."""
    return check_ulid("run_id", run_id)


def check_ulid(field: str, text: str) -> str:
    """Return `text` if it is an ULID, or raise InvalidName, which names the field."""
    if not RUN_ID.fullmatch(text):
        raise InvalidName(field, "must be a ULID of 26 characters")
    return text


def check_conversation_id(conversation_id: str) -> str:
    """Return `conversation_id`, or raise InvalidName. It is an ULID, so conversations sort by their beginning."""
    return check_ulid("conversation_id", conversation_id)


def check_memory_id(memory_id: str) -> str:
    """Return `memory_id`, or raise InvalidName. It is an ULID, so memories sort by their beginning."""
    return check_ulid("memory_id", memory_id)


def check_memory_kind(kind: str) -> MemoryKind:
    """Return the kind, or raise InvalidName."""
    for candidate in MEMORY_KINDS:
        if candidate == kind:
            return candidate
    raise InvalidName("kind", f"must be one of {', '.join(MEMORY_KINDS)}")


def check_operation_number(number: str) -> int:
    """The number of an operation, or raise InvalidName."""
    if not re.fullmatch(r"[0-9]{1,9}", number):
        raise InvalidName("number", "must be a whole number, from 1")
    return int(number)


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
    if moment := compact_moment(slot):
        return moment
    raise InvalidName("slot", "must be the time of a digest (UTC), such as 20260220T140000")


def check_request_id(request_id: str) -> str:
    """Return `request_id`, or raise InvalidName: it has the form of an ULID."""
    return check_ulid("request_id", request_id)


def check_hash(digest: str) -> str:
    """Return the SHA-256 in hex, or raise InvalidName."""
    if not HASH.fullmatch(digest):
        raise InvalidName("digest", "must be 64 hex digits")
    return digest


def check_number(text: str) -> int:
    """The number of a boundary and of its summary, from a path. Raises InvalidName."""
    return _number("number", text, LAST_SUMMARY)


def check_index(text: str) -> int:
    """The index of a turn, from a path. Raises InvalidName."""
    return _number("turn_index", text, LAST_TURN)


def check_level(text: str) -> int:
    """The level of a summary, from a path. Raises InvalidName."""
    return _number("level", text, LEVELS[-1])


def _number(field: str, text: str, most: int) -> int:
    # Python reads the digits of other scripts as numbers too.
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)) or not 1 <= int(text) <= most:
        raise InvalidName(field, f"must be a number from 1 to {most}")
    return int(text)


def ulid_moment(ulid: str) -> int:
    """When an ULID was made, in milliseconds since 1970. Raises ValueError for a text that only looks like one."""
    return ULID.from_str(ulid).milliseconds


def compact_time(moment: datetime) -> str:
    """`20260220T140000`: the form of time in keys (UTC)."""
    # strftime pads years before 1000 on some systems only.
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return text.replace("-", "").replace(":", "")


@lru_cache(4_096)  # each listing of a space tells the same names
def parse_note_id(note_id: str) -> NoteName:
    """The parts of a note's id, or InvalidName."""
    match = NOTE_ID.fullmatch(note_id)
    timestamp = compact_moment(match["time"]) if match else None
    if match and timestamp:
        return NoteName(timestamp, match["agent"], match["category"], match["suffix"])
    raise InvalidName("note_id", "must be the id of a note: {YYYYMMDD}T{HHMMSS}_{agent}_{category}_{8 hex digits}")


def check_token_hash(token_hash: str) -> str:
    """Return the hash of a token as the registry has it, or raise InvalidName."""
    if not TOKEN_HASH.fullmatch(token_hash):
        raise InvalidName("hash", "must be sha256: and 64 hex digits")
    return token_hash


def compact_moment(text: str) -> datetime | None:
    """The moment of a compact time. None for every other text."""
    try:
        return datetime.fromisoformat(text + "Z") if SLOT.fullmatch(text) else None
    except ValueError:
        return None


def run_moment(moment: int) -> str:
    """The beginning of the ids of the runs of a moment, given in milliseconds since 1970."""
    return str(ULID.from_bytes(moment.to_bytes(6, "big") + bytes(10)))[:10]


def record_text(name: RecordName) -> str:
    """The record's name in the form that the metadata of the objects it wrote hold."""
    return f"{name.number:06d}_{name.first}_{name.last}"


def parse_record_text(text: str) -> RecordName | None:
    """The record's name in a text of that form, or None."""
    match = RECORD.fullmatch(text)
    return RecordName(int(match["number"]), match["first"], match["last"]) if match else None


def check_backup_id(backup_id: str) -> str:
    """Return `backup_id`, or raise InvalidName. It is the backup's time (UTC), so backups sort by time."""
    if not BACKUP_ID.fullmatch(backup_id) or not _backup_moment(backup_id):
        raise InvalidName("backup_id", "must be the time of a backup (UTC), such as 2026-02-20T02-00-00")
    return backup_id


def _backup_moment(backup_id: str) -> datetime | None:
    day, _, time = backup_id.partition("T")
    try:
        return datetime.fromisoformat(f"{day}T{time.replace('-', ':')}").replace(tzinfo=UTC)
    except ValueError:
        return None


def backup_id(moment: datetime) -> str:
    """The id of a backup that is begun at this moment, in whole seconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds").replace(":", "-")


def backup_moment(backup_id: str) -> datetime:
    """The moment in a backup's id. Raises InvalidName."""
    moment = _backup_moment(check_backup_id(backup_id))
    assert moment
    return moment


def check_object_name(name: str) -> str:
    """Return the name of an object below its space, or raise InvalidName. A valid name stays below its space in every
    bucket and file system.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    parts = name.split("/")
    if not 1 <= size <= OBJECT_NAME_BYTES or not parts[0] or {".", ".."} & {*parts} or _CONTROL.search(name):
        raise InvalidName(
            "name",
            f"must be relative, with 1 to {OBJECT_NAME_BYTES} bytes, without the parts `.` and `..`, and without "
            "control characters",
        )
    return name

"""How keys of the bucket are built and read. A pattern has text and fields; a field says how its value is written.

`{name:part}` is a field. The part is a number of digits (`10`, or `6-9` where more than 6 are possible), a hash in hex
(`hex64`), the hash of a text (`sha32`), or one of PARTS. Without a part the field's name is the part's.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, TypeVarTuple

from livemem.store import keys

LAST_MOMENT = 9_999_999_999_999
"""Markers count down from this moment, in milliseconds since 1970."""
PLACE_DIGITS = 3
"""So there are 4,096 places for documents of clients, 24 MB at most, however many URLs are named."""
Fields = TypeVarTuple("Fields")
Last = TypeVar("Last")
T = TypeVar("T")
_FIELD = re.compile(r"\{(\w+)(?::([\w-]+))?\}")
_DIGITS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@dataclass(frozen=True)
class KeyPart:
    """How a value is written in a key and read from it. `pattern` has no groups without a name: each field is one.

    `write` may raise InvalidName, `read` ValueError: a key with such a value is none of its form.
    """

    pattern: str
    write: Callable[[Any], str] = str
    read: Callable[[str], Any] = str


def _milliseconds(moment: datetime) -> str:
    return f"{LAST_MOMENT - int(moment.timestamp() * 1_000):013d}"


def digest_of(text: str, length: int = 64) -> str:
    """The beginning of the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _run(text: str) -> str:
    # It only looks like an ULID where it has no moment.
    keys.ulid_moment(text)
    return text


_ULID = keys.RUN_ID.pattern
_KIND_OF = {folder: kind for kind, folder in keys.MEMORY_FOLDERS.items()}
PARTS = {
    "any": KeyPart(".+"),
    "item": KeyPart("[a-zA-Z0-9_-]+"),
    "space": KeyPart(keys.SPACE_ID.pattern),
    "ulid": KeyPart(_ULID),
    **{
        name: KeyPart(_ULID, partial(keys.check_ulid, name))
        for name in ("job_id", "request_id", "grant_id", "connection_id", "upload_id")
    },
    "hash": KeyPart(keys.HASH.pattern, keys.check_hash),
    "place": KeyPart(f"[0-9a-f]{{{PLACE_DIGITS}}}", lambda digest: keys.check_hash(digest)[:PLACE_DIGITS]),
    "count": KeyPart("[1-9][0-9]{0,9}", str, int),
    "digit": KeyPart("[1-9]", str, int),
    "version": KeyPart("[1-9][0-9]{0,8}", str, int),
    "level": KeyPart("l[123]", "l{}".format, lambda text: int(text[1:])),
    "turn": KeyPart(
        "[0-9]{10}", lambda index: f"{keys.LAST_TURN - index:010d}", lambda text: keys.LAST_TURN - int(text)
    ),
    "descending": KeyPart(
        "[0-9]{13}", _milliseconds, lambda text: datetime.fromtimestamp((LAST_MOMENT - int(text)) / 1_000, UTC)
    ),
    "note": KeyPart(keys.NOTE_ID.pattern, str, lambda text: (keys.parse_note_id(text), text)[1]),
    "record": KeyPart(keys.RECORD.pattern, keys.record_text, keys.parse_record_text),
    "run": KeyPart(_ULID, str, _run),
    "path": KeyPart(r"(?s:.*)\.md"),
    "backup": KeyPart(keys.BACKUP_ID.pattern),
    "archive": KeyPart(
        r"(?:\.[1-9][0-9]{0,4})?", lambda number: f".{number}" if number > 1 else "", lambda text: int(text[1:] or 1)
    ),
    "token": KeyPart(keys.HASH.pattern, lambda text: keys.check_token_hash(text)[7:], "sha256:{}".format),
    "day": KeyPart("[0-9]{8}", "{:%Y%m%d}".format, date.fromisoformat),
    "subject": KeyPart("(?:space|token|writes)-[a-zA-Z0-9_-]+"),
    "turns": KeyPart(
        "(?:-[0-9]{9,12})?", lambda turns: f"-{turns:09d}" if turns else "", lambda text: int(text[1:] or 0)
    ),
    "kind": KeyPart("|".join(keys.MEMORY_KINDS)),
    "kinds": KeyPart("|".join(_KIND_OF), keys.MEMORY_FOLDERS.__getitem__, _KIND_OF.__getitem__),
    "model": KeyPart("[a-z0-9][a-z0-9.-]*"),
    "room": KeyPart(keys.ROOM.pattern),
    "slot": KeyPart(keys.SLOT.pattern),
    "moment": KeyPart(keys.SLOT.pattern, keys.compact_time, keys.slot_moment),
}


def part_of(name: str) -> KeyPart:
    """The part of this name."""
    if digits := _DIGITS.fullmatch(name):
        least, most = int(digits[1]), int(digits[2] or digits[1])
        more = f"|[1-9][0-9]{{{least},{most - 1}}}" if most > least else ""
        return KeyPart(f"[0-9]{{{least}}}{more}", f"{{:0{least}d}}".format, int)
    if name.startswith("hex"):
        return KeyPart(f"[0-9a-f]{{{name[3:]}}}")
    if name.startswith("sha"):
        length = int(name[3:])
        return KeyPart(f"[0-9a-f]{{{length}}}", lambda text: digest_of(text, length))
    return PARTS[name]


@dataclass(frozen=True)
class KeyForm(Generic[*Fields, Last]):
    """Keys of one form, whose fields are of these types. Nothing is compiled before the first use."""

    pattern: str

    @cached_property
    def _parts(self) -> list[KeyPart]:
        return [part_of(part or name) for name, part in _FIELD.findall(self.pattern)]

    @cached_property
    def _writes(self) -> list[Callable[[Any], str]]:
        return [part.write for part in self._parts]

    @cached_property
    def _templates(self) -> list[str]:
        """The text up to each field, from none on, with the fields before it to be filled in."""
        texts = _FIELD.split(self.pattern)[::3]
        return ["%s".join(texts[:end]) for end in range(1, len(texts) + 1)]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        first, *texts = (re.escape(text) for text in _FIELD.split(self.pattern)[::3])
        fields = (f"(?P<_{place}>{part.pattern})" for place, part in enumerate(self._parts))
        return re.compile(first + "".join(field + text for field, text in zip(fields, texts, strict=True)))

    @cached_property
    def _reads(self) -> list[tuple[str, Callable[[str], Any]]]:
        return [(f"_{place}", part.read) for place, part in enumerate(self._parts)]

    def prefix(self, *values: Any) -> str:
        """What the keys with these first fields begin with: the text up to the next field. Raises InvalidName."""
        return self._templates[len(values)] % self._written(values)

    def key(self, *values: *tuple[*Fields, Last]) -> str:
        """The key with these fields. Raises InvalidName where a field's rule is broken and the part checks it."""
        return self._templates[-1] % self._written(values)

    def _written(self, values: Iterable[Any]) -> tuple[str, ...]:
        return tuple([write(value) for write, value in zip(self._writes, values, strict=False)])

    def parse(self, key: str) -> tuple[*Fields, Last] | None:
        """The fields of the key. None for every other key."""
        match = self._regex.fullmatch(key)
        try:
            fields: Any = match and tuple([read(match[group]) for group, read in self._reads])
        except ValueError:
            return None
        result: tuple[*Fields, Last] | None = fields
        return result

    def parse_as(self, shape: Callable[[*Fields, Last], T], key: str) -> T | None:
        """The fields of the key in an object of this shape. None for every other key."""
        fields = self.parse(key)
        return shape(*fields) if fields else None

    def last(self, key: str) -> Last | None:
        """The last field of the key, which tells objects of one folder apart. None for every other key."""
        fields = self.parse(key)
        return fields[-1] if fields else None

    def beginning(self, key: str) -> str | None:
        """The part of the key that has this form, from its beginning. None for every other key."""
        match = self._regex.match(key)
        return match[0] if match else None


@dataclass(frozen=True)
class ObjectKind(KeyForm[*Fields, Last]):
    """A kind of objects of the bucket: one row of the table (bucket.py)."""

    once: bool = False
    """Whether an object is never written again with other content, so that a late copy of it does no harm."""
    derived: bool = False
    """Whether backups leave it out: it can be made again, or says who is at work."""


AnyKind = ObjectKind[*tuple[Any, ...], Any]

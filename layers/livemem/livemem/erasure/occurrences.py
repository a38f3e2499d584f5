"""The places of the notes, memories and turns to erase, in the space and its backups: notes live, in records and plans;
memories in logs; turns in conversations.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from livemem import limits
from livemem.changes.records import Record
from livemem.conversations import conversation as conversations
from livemem.copies import catalog
from livemem.erasure import erased, of_conversations
from livemem.errors import InvalidName, InvalidRequest, ObjectUnreadable, OutOfTime, TooLarge
from livemem.jobs.receipt import Receipt
from livemem.jobs.worker import Work
from livemem.memories import erasing
from livemem.memories import operation as operations
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import keys
from livemem.store.bucket import (
    BACKUP_OBJECT,
    IN_SPACE,
    NOTE,
    OPERATION,
    RECORD,
    TOOL_RESULT,
    TURN,
    TURN_ID,
    is_plan,
)
from livemem.store.keys import MEMORY_KINDS, RecordName
from livemem.store.objects import Entry

AT_ONCE = 64
"""Objects that are read, or written, between two looks at the time."""

Known = tuple[str, str, int]
"""Name below the space, ETag and size: where these are the same the content is the same. So an object that a space and
all its backups have in common is read once.
"""


_TURN = re.compile(rf"(?:conversations/)?({keys.RUN_ID.pattern})/(?:turns/)?([0-9]+)")


@dataclass(frozen=True)
class ErasureTarget:
    """Notes, memories and turns by their ids, or all notes of an agent."""

    note_ids: frozenset[str] = frozenset()
    agent: str | None = None
    memory_ids: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    """Those of the turns that notes may have been captured from: such notes are looked for as well."""
    _times: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_times", sorted(note_id[:15] for note_id in self.note_ids))

    @classmethod
    def of(cls, space_id: str, ids: Sequence[str], agent: str | None = None) -> "ErasureTarget":
        """What a request names, by ids as `read` takes them: each once, in one form.

        Raises InvalidName (space and agent), InvalidRequest, TooLarge.
        """
        keys.check_space_id(space_id)
        if (agent is None) == (not ids):
            raise InvalidRequest.of("ids", "name at least one note, memory or turn here, or else an `agent`")
        if len(ids) > limits.ERASED_AT_ONCE:
            raise TooLarge.of("ids", len(ids), limits.ERASED_AT_ONCE, "notes, memories and turns")
        if agent is not None:
            return cls(agent=keys.check_agent(agent))
        notes, memories, turns = set(), set(), set()
        for item in ids:
            name = item.strip().removeprefix(f"/v1/spaces/{space_id}/")
            turn, memory = _TURN.fullmatch(name), name.removeprefix("memories/")
            try:
                if turn:
                    turns.add(TURN_ID.key(turn[1], keys.check_index(turn[2])))
                elif keys.RUN_ID.fullmatch(memory):
                    memories.add(memory)
                else:
                    notes.add(keys.parse_note_id(name.removeprefix("notes/")).note_id)
            except InvalidName as error:
                raise InvalidRequest.of(
                    "ids", "must be ids of notes, memories and turns, as `read` takes them"
                ) from error
        return cls(frozenset(notes), memory_ids=frozenset(memories), turns=frozenset(turns))

    def with_merged(self, process: Process, space_id: str) -> "ErasureTarget":
        """With the memories that were merged into these, or into which they were: the requests of erasing.joined.

        Raises MemoriesBroken.
        """
        return replace(self, memory_ids=erasing.joined(process, space_id, self.memory_ids))

    def times(self) -> tuple[str, str]:
        """The compact times of the first and the last of them; empty where they are not known."""
        return (self._times[0], self._times[-1]) if self._times else ("", "")

    @property
    def ids(self) -> frozenset[str]:
        """Of the notes, memories and turns."""
        return self.note_ids | self.memory_ids | self.turns

    @property
    def has_notes(self) -> bool:
        """Whether notes are looked for."""
        return bool(self.note_ids) or self.agent is not None

    def admits(self, note_id: str) -> bool:
        """Whether the note, memory or turn is one of them."""
        if note_id in self.memory_ids or note_id in self.turns:
            return True
        if self.agent is None:
            return note_id in self.note_ids
        try:
            # By its own field: another agent's name may begin with this one's.
            return keys.parse_note_id(note_id).agent == self.agent
        except InvalidName:
            return False

    def may_be_in(self, record: RecordName) -> bool:
        """Whether a record of this name can hold one of them."""
        if self.agent is not None or self.captured:
            return True
        first = bisect_left(self._times, record.first)
        return first < len(self._times) and self._times[first] <= record.last


@dataclass(frozen=True)
class ErasurePlace:
    """The prefix of objects of a space: its own, or that of one of its backups."""

    space_id: str
    backup_id: str | None = None

    @property
    def prefix(self) -> str:
        """The beginning of their keys."""
        return BACKUP_OBJECT.prefix(self.space_id, self.backup_id) if self.backup_id else IN_SPACE.prefix(self.space_id)

    def entries(self, process: Process) -> Iterator[tuple[str, Entry]]:
        """The objects by their names below the space: 1 LIST per 1,000. Without those that hold no text, and those that
        are derived from others and go as a whole (steps.py).
        """
        for entry in process.store.scan(self.prefix):
            name = entry.key.removeprefix(self.prefix)
            if name not in LEFT_ALONE and not name.startswith(("_passed_on/", "_search/", "_vectors/")):
                yield name, entry


LEFT_ALONE = {keys.META, keys.MANIFEST, "_lease.json"}


@dataclass
class Occurrences:
    """Notes and memories that are not erased yet: their bytes, and the keys of the objects that hold them.

    `held`: by place, the notes that records of it hold, also as stubs. `known`: all that were met.
    """

    bodies: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    keys: dict[ErasurePlace, set[str]] = field(default_factory=lambda: defaultdict(set))
    held: dict[ErasurePlace, set[str]] = field(default_factory=lambda: defaultdict(set))
    known: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    """Those of them that the space itself holds."""


def places(process: Process, space_id: str) -> list[ErasurePlace]:
    """The space's backups, and at last the space itself: 1 LIST."""
    return [
        *(ErasurePlace(space_id, backup_id) for backup_id in catalog.ids(process, space_id)),
        ErasurePlace(space_id),
    ]


def check_time(work: Work[Receipt]) -> None:
    """Raise OutOfTime if only enough time is left to write how far the work is."""
    if not work.in_time():
        raise OutOfTime("The rest is done later.")


def find(work: Work[Receipt], target: ErasureTarget) -> Occurrences:
    """Look for the notes: of the space and of each backup 1 LIST per 1,000 live notes of their time and 1 per 1,000
    records, of the space 1 of its runs; 1 GET for each of the notes that is live, each record that can hold one and
    each plan, once for all that are the same. For memories: 1 LIST per 1,000 operations of each kind, 1 GET for each.
    For a turn: 2 LISTs, 2 GETs, and 1 for each large result of its tools; where notes are captured from its
    conversation, all live notes, records and plans. Raises OutOfTime.
    """
    process, result = work.process, Occurrences()
    target = replace(target, captured=_captured(process, work.job.space_id, target))
    read: dict[Known, Mapping[str, bytes | None]] = {}
    for place in places(process, work.job.space_id):
        check_time(work)
        entries = [(name, entry) for name, entry in _candidates(process, place, target) if _may_hold(name, target)]
        for start in range(0, len(entries), AT_ONCE):
            check_time(work)
            batch = entries[start : start + AT_ONCE]
            unread = [(name, entry) for name, entry in batch if (name, entry.etag, entry.size) not in read]
            results = process.store.map(lambda item: _held(process, item[0], item[1], target), unread)
            for (name, entry), notes in zip(unread, results, strict=True):
                read[name, entry.etag, entry.size] = notes
            for name, entry in batch:
                _take_in(result, place, name, read[name, entry.etag, entry.size])
    return result


def _captured(process: Process, space_id: str, target: ErasureTarget) -> frozenset[str]:
    """Those of the turns whose conversation notes are captured from, or is gone, so that nobody can tell."""

    def captures(item: str) -> bool:
        parsed = TURN_ID.parse(item)
        try:
            result = conversations.find(process, space_id, parsed[0]) if parsed else None
        except ObjectUnreadable:
            return True
        return result is None or result.capture != "off"

    return frozenset(turn for turn in target.turns if captures(turn))


def _candidates(process: Process, place: ErasurePlace, target: ErasureTarget) -> Iterator[tuple[str, Entry]]:
    for kind in MEMORY_KINDS if target.memory_ids else ():
        log = place.prefix + OPERATION.prefix("x", kind).removeprefix("x/")
        for entry in process.store.scan(log):
            yield entry.key.removeprefix(place.prefix), entry
    for turn in target.turns:
        for prefix in _objects_of(turn):
            for entry in process.store.scan(place.prefix + prefix):
                yield entry.key.removeprefix(place.prefix), entry
    if not (target.has_notes or target.captured):
        return
    live, records, runs = f"{place.prefix}live/", f"{place.prefix}_consolidations/", f"{place.prefix}_runs/"
    first, last = target.times() if not target.captured else ("", "")
    # `~` sorts behind all that a note's name can hold.
    ranges = [(live, f"{live}{first}" if first else "", f"{live}{last}~" if last else ""), (records, "", "")]
    if not place.backup_id:
        # Backups have no plans.
        ranges.append((runs, "", ""))
    for prefix, after, stop in ranges:
        for entry in process.store.scan(prefix, start_after=after, stop=stop):
            yield entry.key.removeprefix(place.prefix), entry


def _objects_of(item: str) -> list[str]:
    """The beginnings of the names of a turn's objects."""
    parsed = TURN_ID.parse(item)
    assert parsed
    return [
        TURN.key("x", *parsed).removeprefix("x/"),
        TOOL_RESULT.prefix("x", *parsed).removeprefix("x/"),
    ]


def _may_hold(name: str, target: ErasureTarget) -> bool:
    turn = of_conversations.turn_of(name)
    if turn:
        return turn in target.turns
    live = NOTE.last(f"x/{name}")
    if live:
        return bool(target.captured) or target.admits(live)
    if OPERATION.parse(f"x/{name}"):
        return bool(target.memory_ids)
    record = RECORD.last(f"x/{name}")
    return target.may_be_in(record) if record else is_plan(name)


def _held(process: Process, name: str, entry: Entry, target: ErasureTarget) -> Mapping[str, bytes | None]:
    item = process.store.get(entry.key)
    if item and OPERATION.parse(f"x/{name}"):
        # Nobody could promise that the words are gone, in a backup neither.
        operations.read(process, item)
    elif item and not entry.key.startswith(BACKUP_OBJECT.prefix()) and RECORD.last(entry.key):
        unreadable.parsed(process, Record, item)
    holding = erased.held_in(name, item.body) if item else {}
    return {one: body for one, body in holding.items() if target.admits(one) or _is_captured(one, body, target)}


def _is_captured(note_id: str, body: bytes | None, target: ErasureTarget) -> bool:
    """Whether it is a note that was captured from one of the turns."""
    return bool(target.captured and body) and any(
        item in target.captured for item in erased.turns_of(note_id, body or b"")
    )


def _take_in(occurrences: Occurrences, place: ErasurePlace, name: str, notes: Mapping[str, bytes | None]) -> None:
    for note_id, body in notes.items():
        occurrences.known.add(note_id)
        if RECORD.last(f"x/{name}"):
            occurrences.held[place].add(note_id)
        if body is not None:
            occurrences.bodies[note_id].add(body)
            occurrences.keys[place].add(name)
            if not place.backup_id:
                occurrences.own.add(note_id)

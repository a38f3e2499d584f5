"""Which messages digests have taken, read from their inputs. An input is written once, so a process reads it once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from livemem import clock
from livemem.process import Process
from livemem.rooms.message import MessageKey
from livemem.spaces import unreadable
from livemem.store.bucket import DEAD_LETTER, DIGEST_DONE, DIGEST_INPUT, IN_DIGEST
from livemem.store.keys import compact_time
from livemem.store.objects import Entry
from livemem.store.stored_documents import Line, Moment, Position, StoredDocument

LOOKED_BACK = timedelta(days=3)
"""How far the digest time of an input may be before its creation: a delayed digest creates its input later."""
REMEMBERED = timedelta(days=2)
"""For how long a repeat of a digested message is recognised."""


class Chunk(StoredDocument):
    """Messages that the model gets in one call: all of one room, the oldest first, by their keys below the space."""

    room: Line
    messages: list[MessageKey]


class Input(StoredDocument):
    """`input.json`: exactly what a digest takes."""

    most_bytes: ClassVar[int] = 4 << 20

    slot: Line
    created_at: Moment
    chunks: list[Chunk]
    more: bool = False
    """Whether rooms held more than one digest takes."""

    def names(self) -> list[str]:
        """All messages."""
        return [name for chunk in self.chunks for name in chunk.messages]


class Ending(StoredDocument):
    """The fields of `done.json` that this module reads."""

    slot: Line
    dead_letters: list[Position] = []


@dataclass(frozen=True)
class DigestedMessage:
    """A digest that has taken a message: in which chunk, and when. `over`: the digest has ended."""

    slot: str
    chunk: int
    created_at: datetime
    over: bool
    dead: bool
    """Whether the chunk is a dead letter: its messages are digested only if it is put back."""


@dataclass(frozen=True)
class _KnownInput:
    """An input as it is kept in memory."""

    created_at: datetime
    chunk_of: Mapping[str, int]


@dataclass(frozen=True)
class _Dead:
    chunks: frozenset[int]


def since(process: Process, space_id: str, moment: datetime) -> dict[str, list[DigestedMessage]]:
    """The messages that digests have taken since a moment, by name, each with the digests that took it.

    1 LIST per 1,000 documents of the digests of these days, 1 GET for each input and each end that this process has not
    seen yet.
    """
    after = IN_DIGEST.prefix(space_id, compact_time(moment - LOOKED_BACK))
    ends: dict[str, Entry] = {}
    inputs: dict[str, Entry] = {}
    dead: dict[str, set[int]] = {}
    for entry in process.store.scan(IN_DIGEST.prefix(space_id), start_after=after):
        if slot := DIGEST_INPUT.last(entry.key):
            if entry.last_modified >= moment - timedelta(minutes=1):
                inputs[slot] = entry
        elif slot := DIGEST_DONE.last(entry.key):
            ends[slot] = entry
        elif letter := DEAD_LETTER.parse(entry.key):
            dead.setdefault(letter[1], set()).add(letter[2])
    by_name: dict[str, list[DigestedMessage]] = {}
    inputs_read = process.store.map(lambda slot: _input(process, inputs[slot]), list(inputs))
    given_up = process.store.map(lambda slot: _ending(process, ends[slot]) if slot in ends else None, list(inputs))
    for slot, digest_input, end in zip(inputs, inputs_read, given_up, strict=True):
        if not digest_input:
            continue
        lost = end.chunks if end else frozenset(dead.get(slot, ()))
        for name, chunk in digest_input.chunk_of.items():
            taken = DigestedMessage(slot, chunk, digest_input.created_at, end is not None, chunk in lost)
            by_name.setdefault(name, []).append(taken)
    return by_name


def _input(process: Process, entry: Entry) -> _KnownInput | None:
    cached = process.reads.get(_KnownInput, entry.key, entry.etag)
    if cached:
        return cached
    item = process.store.get(entry.key)
    if not item:
        return None
    document = unreadable.tolerated(process, Input, item)
    if not document:
        # A late repeat of one of its messages is not recognised then.
        return None
    chunk_of = {name: number for number, chunk in enumerate(document.chunks) for name in chunk.messages}
    return process.reads.put(entry.key, item.etag, _KnownInput(clock.parse(document.created_at), chunk_of), chunk_of)


def _ending(process: Process, entry: Entry) -> _Dead | None:
    cached = process.reads.get(_Dead, entry.key, entry.etag)
    if cached:
        return cached
    item = process.store.get(entry.key)
    if not item:
        return None
    ending = unreadable.tolerated(process, Ending, item)
    # The document shows that the digest has ended, even where it can't be read.
    return process.reads.put(entry.key, item.etag, _Dead(frozenset(ending.dead_letters if ending else ())), [])

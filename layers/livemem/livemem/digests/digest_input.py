"""What a digest takes: the oldest messages of all rooms, in chunks of one room each, written down once."""

from collections.abc import Sequence
from datetime import datetime
from heapq import merge
from itertools import islice

from livemem import clock
from livemem.digests import digest_progress
from livemem.llm.window import BYTES_PER_TOKEN
from livemem.process import Process
from livemem.rooms import digested, reading
from livemem.rooms.digested import Chunk, DigestedMessage, Input
from livemem.spaces import unreadable
from livemem.store import room_keys as keys
from livemem.store.objects import Entry
from livemem.store.room_keys import MessageName

MOST = 5_000
"""Messages of one digest."""
CHUNK_TOKENS = 6_000
"""Of what is asked at once: few enough that a model reads all of it, and one that fails fails for little."""
CHUNK_MESSAGES = 500
WINDOW_SHARE = 3
"""A chunk takes at most a third of the model's window: memories, instructions and the answer need room too."""

Listed = tuple[MessageName, Entry]


def find(process: Process, space_id: str, slot: str) -> Input | None:
    """What the digest takes, or None if that is not written down yet: 1 GET. Raises ObjectUnreadable."""
    found = process.store.get(keys.digest_input(space_id, slot))
    return unreadable.parsed(process, Input, found) if found else None


def ensure(process: Process, space_id: str, slot: str) -> Input:
    """What the digest takes, written down now unless it is already; the first writer wins.

    1 GET; then 1 LIST per 1,000 messages and documents of the last days' digests, and 1 PUT.
    """
    there = find(process, space_id, slot)
    if there:
        return there
    return digest_progress.write(process, keys.digest_input(space_id, slot), _gather(process, space_id, slot))


def _gather(process: Process, space_id: str, slot: str) -> Input:
    now = process.clock()
    rooms = [name for name in process.store.folders(keys.rooms_prefix(space_id)) if keys.ROOM.fullmatch(name)]
    # What was digested already is passed over, so a room may have to be read further than a digest takes.
    taken = digested.since(process, space_id, now - digested.REMEMBERED)
    per_room = process.store.map(lambda room: _of_room(process, space_id, room, taken), rooms)
    oldest = list(islice(merge(*per_room, key=lambda one: one[0].order), MOST + 1))
    chunks = cut(oldest[:MOST], _chunk_tokens(process))
    return Input(slot=slot, created_at=clock.iso_millis(now), chunks=chunks, more=len(oldest) > MOST)


def _of_room(process: Process, space_id: str, room: str, taken: dict[str, list[DigestedMessage]]) -> list[Listed]:
    """The oldest messages of a room that no digest has; those that came back after they were digested are removed."""
    found: list[Listed] = []
    late: list[str] = []
    for name, entry in reading.entries(process, space_id, room):
        takers = taken.get(name.name, ())
        if all(one.dead for one in takers):
            found.append((name, entry))
        elif all(one.over for one in takers):
            # The store's client has sent a message again that was digested by then.
            late.append(entry.key)
        if len(found) > MOST:
            break
    if late:
        process.store.delete_many(late)
    return found


def _chunk_tokens(process: Process) -> int:
    return min(CHUNK_TOKENS, process.settings.llmaas_context_tokens // WINDOW_SHARE)


def cut(messages: Sequence[Listed], tokens: int) -> list[Chunk]:
    """The messages in chunks of about so many tokens, each of one room and in order; the chunks by their first ones."""
    chunks: list[Chunk] = []
    current: dict[str, tuple[Chunk, int]] = {}
    for name, entry in messages:
        size = entry.size // BYTES_PER_TOKEN + 1
        there = current.get(name.room)
        if not there or there[1] + size > tokens or len(there[0].messages) >= CHUNK_MESSAGES:
            there = Chunk(room=name.room, messages=[]), 0
            chunks.append(there[0])
        there[0].messages.append(name.name)
        current[name.room] = there[0], there[1] + size
    return chunks


def waits_since(process: Process, space_id: str) -> datetime | None:
    """When the oldest message that waits for a digest was said, or at the latest written; None where none does: 1 LIST.

    So what is posted after the hour in which it was said is made up for. Of more than 1,000 the first thousand tell.
    """
    listed = process.store.first(keys.rooms_prefix(space_id)).entries
    named = [(entry, name) for entry in listed if (name := keys.parse_message(entry.key))]
    return min((min(name.moment, entry.last_modified) for entry, name in named), default=None)

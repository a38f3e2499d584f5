"""The input of a digest: the oldest messages of all rooms, in chunks of one room each. It is written once."""

from collections.abc import Sequence
from datetime import datetime
from heapq import merge
from itertools import islice

from livemem import clock
from livemem.llm.window import BYTES_PER_TOKEN
from livemem.process import Process
from livemem.rooms import digest_progress, digested, reading
from livemem.rooms.digested import Chunk, DigestedMessage, Input
from livemem.store import keys
from livemem.store.bucket import DIGEST_INPUT, ROOM_MESSAGE, MessageName, message_name
from livemem.store.objects import Entry

MOST = 5_000
"""Messages of one digest, at most."""
CHUNK_TOKENS = 6_000
"""Tokens of one chunk: few enough that a model reads all of it, and that a failure concerns few messages."""
CHUNK_MESSAGES = 500
WINDOW_SHARE = 3
"""A chunk takes at most a third of the model's window: memories, instructions and the answer need room too."""

Listed = tuple[MessageName, Entry]


def ensure(process: Process, space_id: str, slot: str) -> Input:
    """The input of the digest. It is written now unless it exists; the first writer wins.

    1 GET. To write it, 1 LIST per 1,000 messages and documents of the last days' digests, and 1 PUT.
    """
    key = DIGEST_INPUT.key(space_id, slot)
    existing = digest_progress.read(process, key, Input)
    return existing or digest_progress.write(process, key, _gather(process, space_id, slot))


def _gather(process: Process, space_id: str, slot: str) -> Input:
    now = process.clock()
    rooms = [name for name in process.store.folders(ROOM_MESSAGE.prefix(space_id)) if keys.ROOM.fullmatch(name)]
    # Digested messages are skipped, so more of a room may be read than a digest takes.
    taken = digested.since(process, space_id, now - digested.REMEMBERED)
    per_room = process.store.map(lambda room: _of_room(process, space_id, room, taken), rooms)
    oldest = list(islice(merge(*per_room, key=lambda listed_message: listed_message[0].order), MOST + 1))
    chunks = cut(oldest[:MOST], _chunk_tokens(process))
    return Input(slot=slot, created_at=clock.iso_millis(now), chunks=chunks, more=len(oldest) > MOST)


def _of_room(process: Process, space_id: str, room: str, taken: dict[str, list[DigestedMessage]]) -> list[Listed]:
    """The oldest messages of a room that no digest has. Late duplicates of digested messages are removed."""
    messages: list[Listed] = []
    late: list[str] = []
    for name, entry in reading.entries(process, space_id, room):
        takers = taken.get(name.name, ())
        if all(taker.dead for taker in takers):
            messages.append((name, entry))
        elif all(taker.over for taker in takers):
            # The store's client has sent a message again after its digest.
            late.append(entry.key)
        if len(messages) > MOST:
            break
    if late:
        process.store.delete_many(late)
    return messages


def _chunk_tokens(process: Process) -> int:
    return min(CHUNK_TOKENS, process.settings.llmaas_context_tokens // WINDOW_SHARE)


def cut(messages: Sequence[Listed], tokens: int) -> list[Chunk]:
    """The messages in chunks of about `tokens`, each of one room and in order. Chunks are in order of their first."""
    chunks: list[Chunk] = []
    current: dict[str, tuple[Chunk, int]] = {}
    for name, entry in messages:
        size = entry.size // BYTES_PER_TOKEN + 1
        chunk = current.get(name.room)
        if not chunk or chunk[1] + size > tokens or len(chunk[0].messages) >= CHUNK_MESSAGES:
            chunk = Chunk(room=name.room, messages=[]), 0
            chunks.append(chunk[0])
        chunk[0].messages.append(name.name)
        current[name.room] = chunk[0], chunk[1] + size
    return chunks


def waits_since(process: Process, space_id: str) -> datetime | None:
    """The time of the oldest message that waits for a digest, None without one: 1 LIST.

    It is the message's own time, at the latest the time of writing. So a message posted after its hour is still found
    due. Only the first 1,000 keys are read.
    """
    entries = process.store.first(ROOM_MESSAGE.prefix(space_id)).entries
    pairs = [(entry, name) for entry in entries if (name := message_name(entry.key))]
    return min((min(name.moment, entry.last_modified) for entry, name in pairs), default=None)

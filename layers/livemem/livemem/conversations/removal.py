"""Removing a conversation: its turns, summaries and markers, and its documents in the search."""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from livemem.conversations import conversation as conversations
from livemem.conversations import due
from livemem.errors import NotFound, StoreUnavailable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys, timing
from livemem.store.bucket import BY_CWD, CONVERSATION, CONVERSATION_DELETED, IN_CONVERSATION, SEARCH_ORDER
from livemem.store.objects import DELETE_BATCH, Entry

logger = logging.getLogger(__name__)

ROUNDS = 3
"""How often a removal lists again, to find objects that were written meanwhile."""
REMAINS_AFTER = timing.DELIVERED
"""After which a folder without its conversation is an orphan of a deletion. By then no event of a turn is delivered any
more, and no worker that found the conversation still writes (LAST_WRITE is shorter)."""


def delete(process: Process, space_id: str, conversation_id: str) -> None:
    """Remove a conversation: 1 LIST and 1 DeleteObjects per 1,000 objects. Raises NotFound.

    First a tombstone takes its place, so no later request writes to it. Each sweep removes the objects of requests that
    were under way, until none can come any more. If the worker dies in between, a repeat or the sweep removes the rest.
    """
    keys.check_conversation_id(conversation_id)
    heads.load_recent(process, space_id)
    conversation = conversations.find(process, space_id, conversation_id)
    if conversation:
        due.mark_at(process, space_id, conversation_id, process.clock())
        conversations.bury(process, space_id, conversation)
        process.store.delete_many(conversations.markers(space_id, conversation))
    elif not _below(
        process.store.first(IN_CONVERSATION.prefix(space_id, conversation_id)).entries, space_id, conversation_id
    ):
        raise NotFound("conversation", conversation_id)
    _clear_below(process, space_id, conversation_id)
    logger.info("conversation removed", extra={"space_id": space_id, "conversation_id": conversation_id})


def _stays(space_id: str, conversation_id: str) -> set[str]:
    """The keys that stay of a deleted conversation for a while."""
    return {CONVERSATION.key(space_id, conversation_id), CONVERSATION_DELETED.key(space_id, conversation_id)}


def _below(entries: Collection[Entry], space_id: str, conversation_id: str) -> list[Entry]:
    """The objects beside a tombstone and its sign."""
    stays = _stays(space_id, conversation_id)
    return [entry for entry in entries if entry.key not in stays]


def _clear_below(process: Process, space_id: str, conversation_id: str) -> None:
    """Remove all objects beside a tombstone. Write its sign first: the deleting worker may have died before that."""
    conversations.sign(process, space_id, conversation_id)
    clear(process, space_id, conversation_id, _stays(space_id, conversation_id))


def clear(process: Process, space_id: str, conversation_id: str, but: Collection[str] = ()) -> None:
    """Remove all objects below a conversation except for the keys `but`, and order the search to forget it."""
    for _ in range(ROUNDS):
        result = False
        below = (
            entry
            for entry in process.store.scan(IN_CONVERSATION.prefix(space_id, conversation_id))
            if entry.key not in but
        )
        for batch in _batches(below):
            result = True
            process.store.delete_many([entry.key for entry in batch])
        if not result:
            break
    forget(process, space_id, process.new_id())


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == DELETE_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def forget(process: Process, space_id: str, order_id: str) -> None:
    """Order that the indexer removes the snapshots and vectors of removed documents: 1 PUT. The sweep makes sure that
    it happens.
    """
    process.store.put(SEARCH_ORDER.key(space_id, order_id), b"")
    with suppress(StoreUnavailable):
        process.enqueue("indexer", {"space_id": space_id})


def go_on(process: Process, space_id: str, conversation_id: str) -> bool:
    """Remove objects that came beside a tombstone. Returns whether more can come. The daily look removes the tombstone.

    1 LIST. Where there are such objects, 2 PUTs, 2 LISTs and 1 DeleteObjects per 1,000 objects more.
    """
    entries = list(process.store.scan(IN_CONVERSATION.prefix(space_id, conversation_id)))
    came = _below(entries, space_id, conversation_id)
    if came:
        _clear_below(process, space_id, conversation_id)
    return bool(came) or not _is_over(entries)


def _is_over(entries: Collection[Entry]) -> bool:
    """Whether no request that was under way at the deletion can write any more."""
    return all(entry.age > REMAINS_AFTER for entry in entries)


def clear_orphans(process: Process, space_id: str, names: Sequence[str], living: set[str]) -> int:
    """Remove the folders and markers of those conversations with a folder (`names`) that are not among the `living`, an
    hour after their last write. Returns how many folders.
    """
    count = 0
    for name in names:
        if name in living:
            continue
        entries = list(process.store.scan(IN_CONVERSATION.prefix(space_id, name)))
        if entries and _is_over(entries) and not conversations.find(process, space_id, name):
            clear(process, space_id, name)
            count += 1
    stray = [
        entry.key
        for entry in process.store.scan(f"{space_id}/_by_cwd/")
        if (parsed := BY_CWD.last(entry.key)) and parsed not in living and entry.age > REMAINS_AFTER
    ]
    for start in range(0, len(stray), DELETE_BATCH):
        process.store.delete_many(stray[start : start + DELETE_BATCH])
    return count

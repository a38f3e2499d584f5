"""Removing a conversation: its turns, summaries, markers, and what a search keeps of them."""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from livemem.conversations import conversation as conversations
from livemem.conversations import due
from livemem.errors import NotFound, StoreUnavailable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import conversation_keys as keys
from livemem.store import keys as all_keys
from livemem.store import timing
from livemem.store.objects import DELETE_BATCH, Entry

logger = logging.getLogger(__name__)

ROUNDS = 3
"""Looks for what somebody wrote while it was removed."""
REMAINS_AFTER = timing.DELIVERED
"""After which a folder without its conversation is what a deletion left behind: no event of a turn is delivered any
more, and nobody works on it who found the conversation (LAST_WRITE is shorter)."""


def delete(process: Process, space_id: str, conversation_id: str) -> None:
    """Remove a conversation: 1 LIST and 1 DeleteObjects per 1,000 objects. Raises NotFound.

    First a tombstone takes its place, so from then on nobody writes to it. What was under way then, and what comes
    late, is removed by each sweep until nothing can come any more. Who dies in between leaves the rest to a repeat, or
    to the sweep.
    """
    keys.check_conversation_id(conversation_id)
    heads.load_recent(process, space_id)
    conversation = conversations.find(process, space_id, conversation_id)
    if conversation:
        due.mark_at(process, space_id, conversation_id, process.clock())
        conversations.bury(process, space_id, conversation)
        process.store.delete_many(conversations.markers(space_id, conversation))
    elif not _below(process.store.first(keys.folder(space_id, conversation_id)).entries, space_id, conversation_id):
        raise NotFound("conversation", conversation_id)
    _clear_below(process, space_id, conversation_id)
    logger.info("conversation removed", extra={"space_id": space_id, "conversation_id": conversation_id})


def _stays(space_id: str, conversation_id: str) -> set[str]:
    """What stays of a deleted conversation for a while."""
    return {keys.conversation(space_id, conversation_id), keys.deleted(space_id, conversation_id)}


def _below(entries: Collection[Entry], space_id: str, conversation_id: str) -> list[Entry]:
    """What is there beside a tombstone and its sign."""
    stays = _stays(space_id, conversation_id)
    return [entry for entry in entries if entry.key not in stays]


def _clear_below(process: Process, space_id: str, conversation_id: str) -> None:
    """Remove all that is beside a tombstone. Who died in the deletion has perhaps left no sign of it."""
    conversations.sign(process, space_id, conversation_id)
    clear(process, space_id, conversation_id, _stays(space_id, conversation_id))


def clear(process: Process, space_id: str, conversation_id: str, but: Collection[str] = ()) -> None:
    """Remove all that is below a conversation except for some keys, and tell the search to forget it."""
    for _ in range(ROUNDS):
        found = False
        below = (entry for entry in process.store.scan(keys.folder(space_id, conversation_id)) if entry.key not in but)
        for batch in _batches(below):
            found = True
            process.store.delete_many([entry.key for entry in batch])
        if not found:
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
    """Order that snapshots and vectors of what is no more there are removed; the indexer does it, and the sweep sees to
    it that it does: 1 PUT.
    """
    process.store.put(all_keys.search_order(space_id, order_id), b"")
    with suppress(StoreUnavailable):
        process.enqueue("indexer", {"space_id": space_id})


def go_on(process: Process, space_id: str, conversation_id: str) -> bool:
    """Remove what came beside a tombstone; whether more can come. The tombstone itself goes with the daily look.

    1 LIST; where there is something to be removed 2 PUTs, 2 LISTs and 1 DeleteObjects per 1,000 objects more.
    """
    entries = list(process.store.scan(keys.folder(space_id, conversation_id)))
    came = _below(entries, space_id, conversation_id)
    if came:
        _clear_below(process, space_id, conversation_id)
    return bool(came) or not _is_over(entries)


def _is_over(entries: Collection[Entry]) -> bool:
    """Whether nothing that was under way when it was deleted can come any more."""
    return all(entry.age > REMAINS_AFTER for entry in entries)


def clear_orphans(process: Process, space_id: str, names: Sequence[str], there: set[str]) -> int:
    """Of the conversations that have a folder (`names`) remove the folders and markers of those that are not `there`,
    an hour after they were last written to; returns how many.
    """
    count = 0
    for name in names:
        if name in there:
            continue
        entries = list(process.store.scan(keys.folder(space_id, name)))
        if entries and _is_over(entries) and not conversations.find(process, space_id, name):
            clear(process, space_id, name)
            count += 1
    stray = [
        entry.key
        for entry in process.store.scan(f"{space_id}/_by_cwd/")
        if (found := keys.parse_by_cwd(entry.key)) and found not in there and entry.age > REMAINS_AFTER
    ]
    for start in range(0, len(stray), DELETE_BATCH):
        process.store.delete_many(stray[start : start + DELETE_BATCH])
    return count

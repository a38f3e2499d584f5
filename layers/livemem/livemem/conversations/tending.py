"""The part of conversations in upkeep: what is due, generations that were replaced, and what deletions left behind."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import due, generations, jobs, removal, work
from livemem.conversations.conversation import Conversation
from livemem.conversations.layers import Vanished
from livemem.conversations.seals import At
from livemem.errors import LiveMemoryError, PreconditionLost
from livemem.process import Process
from livemem.spaces import claims
from livemem.spaces import head as heads
from livemem.spaces.room import Room, Space
from livemem.store import conversation_keys as keys
from livemem.store.objects import DELETE_BATCH

logger = logging.getLogger(__name__)

AT_ONCE = 64
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to look at further conversations."""


def start_due(process: Process, deadline: datetime) -> dict[str, float]:
    """Look at the conversations whose time has come, and start what is to be done: how many by space.

    1 LIST per 1,000 markers, one look at each conversation, and 1 DeleteObjects for its markers where nothing is due
    any more.
    """
    started: dict[str, float] = {}
    marked: dict[tuple[str, str], list[str]] = {}
    for marker, *where in due.listed(process):
        marked.setdefault((where[0], where[1]), []).append(marker)
    left = list(marked.items())
    while left and deadline - process.clock() > LAST_ROUND:
        batch, left = left[:AT_ONCE], left[AT_ONCE:]
        done = process.store.map(lambda one: _start(process, one[1], *one[0]), batch)
        for ((space_id, _), _), due_there in zip(batch, done, strict=True):
            if due_there:
                started[space_id] = started.get(space_id, 0) + 1
    return started


def _start(process: Process, markers: list[str], space_id: str, conversation_id: str) -> bool:
    """Whether something was started; the markers stay until nothing is due any more, or left of a deletion."""
    try:
        there = conversations.look(process, space_id, conversation_id) if heads.find(process, space_id) else None
        if there and there.deleted_at:
            if not removal.go_on(process, space_id, conversation_id):
                due.clear(process, markers)
            return False
        dead = _dead_job(process, space_id, conversation_id) if there else None
        if there and (dead or _is_due(process, space_id, there)):
            told = {"space_id": space_id, "conversation_id": conversation_id}
            process.summarize(told | ({"job_id": dead} if dead else {}))
            return True
        due.clear(process, markers)
    except LiveMemoryError as error:
        logger.warning("conversation was not looked at", extra={"space_id": space_id, "error_code": error.code})
    return False


def _dead_job(process: Process, space_id: str, conversation_id: str) -> str | None:
    """The job of a worker that died before it wrote the job's end: 1 GET, where somebody died 1 more, and where the end
    was written 1 GET and 1 DELETE for the claim.
    """
    key = keys.claim(space_id, conversation_id)
    job_id = claims.abandoned(process, key)
    if not job_id:
        return None
    job = jobs.find(process, space_id, conversation_id, job_id)
    if job and not job.ended():
        return job_id
    claims.forget(process, key, job_id)
    return None


def _is_due(process: Process, space_id: str, conversation: Conversation) -> bool:
    standing = generations.read(process, space_id, conversation)
    if standing.known.building:
        return True
    with suppress(Vanished):
        return work.is_due(process, At(space_id, conversation, standing.current()))
    return False


def tend(process: Process, space: Space) -> Mapping[str, float]:
    """On the look of once a day, remove replaced generations and remains: where there are conversations 1
    LIST per 1,000 of them, 1 more, and 2 GETs each.
    """
    if "conversations" not in space.folders:
        return {}
    ids = [name for name in process.store.folders(keys.prefix(space.space_id)) if _is_id(name)]
    if not ids:
        # A tombstone outlives whatever else there is of a conversation.
        return {}
    found = process.store.map(lambda one: conversations.find(process, space.space_id, one), ids)
    there = [one for one in found if one]
    removed = sum(process.store.map(lambda one: _tidy(process, space.space_id, one), there))
    cleared = removal.clear_remains(process, space.space_id, ids, {one.conversation_id for one in there})
    done = {"generations_removed": float(removed), "conversations_cleaned": float(cleared)}
    return {name: count for name, count in done.items() if count}


def _is_id(name: str) -> bool:
    try:
        keys.check_conversation_id(name)
    except ValueError:
        return False
    return True


def _tidy(process: Process, space_id: str, conversation: Conversation) -> int:
    """Remove the generations of a conversation that count no more; returns how many."""
    standing = generations.read(process, space_id, conversation)
    if standing.etag is None:
        return 0
    known = standing.known
    keep = {known.generation, known.building.generation if known.building else known.generation}
    recent = {one.generation for one in known.retired if process.clock() - clock.parse(one.at) < generations.KEPT}
    doomed = [number for number in range(1, known.highest + 1) if number not in keep | recent]
    removed = [number for number in doomed if _remove(process, space_id, conversation.conversation_id, number)]
    with suppress(PreconditionLost):
        generations.forget(process, standing, doomed)
    return len(removed)


def _remove(process: Process, space_id: str, conversation_id: str, number: int) -> bool:
    prefix = keys.generation_prefix(space_id, conversation_id, number)
    found = [entry.key for entry in process.store.scan(prefix)]
    for start in range(0, len(found), DELETE_BATCH):
        process.store.delete_many(found[start : start + DELETE_BATCH])
    return bool(found)


ROOM = Room(owns=keys.is_of_conversations, tend=tend)

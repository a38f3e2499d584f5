"""The part of conversations in upkeep: starts summaries that are due, and removes replaced versions and orphans."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import due, levels, log, reading, removal, summaries_job, summary_versions, update
from livemem.conversations.boundaries import BlockBoundary, GroupBoundary
from livemem.conversations.capture import BlockCapture
from livemem.conversations.conversation import Conversation
from livemem.conversations.log import Floor
from livemem.conversations.summaries import Summary, Vanished
from livemem.conversations.summaries_job import SummariesJob
from livemem.conversations.summary_versions import At, SummaryVersions
from livemem.conversations.turn import ToolResult, Turn
from livemem.conversations.user_signals import UserSignals
from livemem.errors import LiveMemoryError, ObjectUnreadable, PreconditionLost, StoreUnavailable
from livemem.jobs import lease, places, worker
from livemem.jobs.describable import Describable
from livemem.jobs.package import Package, Space
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.due_index import Done, Due
from livemem.spaces.head import Head, Meta
from livemem.store import keys
from livemem.store.bucket import (
    BLOCK_BOUNDARY,
    BOUNDARY,
    CAPTURE,
    CONVERSATION,
    IN_CONVERSATION,
    IN_VERSION,
    MESSAGE_ID,
    SUMMARIES_JOB,
    SUMMARY,
    SUMMARY_VERSIONS,
    TOOL_RESULT,
    TURN,
    USER_SIGNALS,
    VERSION_FOLDER,
)

logger = logging.getLogger(__name__)

SHARE = timedelta(seconds=15)
"""Time for the look at one conversation."""
AGAIN_AFTER = timedelta(hours=1)
"""After which the sweep looks again at a conversation that took too long, or could not be read."""


def start_due(process: Process, due: Sequence[Due], deadline: datetime) -> Done:
    """Look at the conversations whose time has come, and start their jobs. Returns how many, by space.

    One look at each conversation, and 1 DeleteObjects for the entries of those in which nothing is due any more.
    """
    looks = due_index.look_at(
        process, _in_turn(due), deadline, lambda item: _start(process, deadline, item), at_rest="at_rest"
    )
    started = Counter(item.space_id for item, look in looks if look == "started")
    return {"conversations_started": started} if started else {}


def _in_turn(due: Sequence[Due]) -> list[Due]:
    """The conversations in an order in which spaces take turns: first the oldest of each space, then its second."""
    counter: Counter[str] = Counter()
    placed = []
    for place, one in enumerate(due):
        placed.append((counter[one.space_id], place, one))
        counter[one.space_id] += 1
    return [item for *_, item in sorted(placed, key=lambda item: item[:2])]


def _start(process: Process, deadline: datetime, due: Due) -> Literal["started", "at_rest", "waits"]:
    """Look at one conversation. It stays in the due index until nothing is due, and nothing is left of a deletion."""
    space_id, conversation_id = due.space_id, due.name
    share = process.within(min(process.clock() + SHARE, deadline))
    if not _is_id(conversation_id):
        return "at_rest"
    try:
        head = heads.find(share, space_id)
        existing = conversations.look(share, space_id, conversation_id) if head else None
        if head and existing and not head.meta.has_conversations:
            _note_conversations(share, head)
        if existing and existing.deleted_at:
            return "waits" if removal.go_on(share, space_id, conversation_id) else "at_rest"
        dead = _dead_job(share, space_id, conversation_id) if existing else None
        if existing and (dead or _is_due(share, space_id, existing)):
            if dead:
                worker.queue(share, update.KIND, space_id, dead, conversation_id)
            else:
                share.enqueue("summarize", {"space_id": space_id, "conversation_id": conversation_id})
            return "started"
        if existing and process.settings.session_folds and _is_left(share, space_id, existing):
            log.close(share, space_id, conversation_id)
            return "started"
    except StoreUnavailable as error:
        logger.warning("conversation was not looked at", extra={"space_id": space_id, "error_code": error.code})
        return "waits"
    except Exception as error:  # noqa: BLE001 - one bad conversation must not stop the others
        # Not with its text, which may hold data.
        told = error.code if isinstance(error, LiveMemoryError) else type(error).__name__
        logger.warning("conversation was put back", extra={"space_id": space_id, "error_code": told})
        return _put_back(process, space_id, conversation_id)
    return "at_rest"


def _is_left(process: Process, space_id: str, conversation: Conversation) -> bool:
    """Whether a session that names notes is over without a word of its client: nothing was said for as long as ends a
    block. Some clients never say that a session ends. 1 LIST, 1 GET.
    """
    listed = reading.with_last(process, space_id, conversation)
    pause = timedelta(milliseconds=conversation.parameters.flush_after_ms)
    if conversation.capture != "notes" or not listed.last or listed.turn_count in conversation.closings:
        return False
    return process.clock() - clock.parse(listed.last.timestamp) >= pause


def _note_conversations(process: Process, head: Head) -> None:
    """Note in the head that the space has conversations: 1 PUT, once. The functions that write conversations may not
    write heads.
    """

    def noted(meta: Meta) -> dict[str, object]:
        return {} if meta.has_conversations else {"has_conversations": True}

    heads.update(process, head.meta.space_id, noted, head=head)


def _put_back(process: Process, space_id: str, conversation_id: str) -> Literal["at_rest", "waits"]:
    """Enter the conversation in the due index again for later, so that it does not come first each time: 1 PUT."""
    try:
        due.mark_at(process, space_id, conversation_id, process.clock() + AGAIN_AFTER)
    except LiveMemoryError:
        return "waits"
    return "at_rest"


def _dead_job(process: Process, space_id: str, conversation_id: str) -> str | None:
    """The job whose worker died: 1 GET, 1 more where there is one. Where the worker died after the job's end, 1 GET
    and 1 DELETE for the lease.
    """
    place = places.of_conversation(space_id, conversation_id)
    seen = lease.look(process, place)
    job_id = seen.waiting_owner() if seen else None
    if not job_id:
        return None
    result = update.KIND.find(process, space_id, job_id, subject=conversation_id)
    if result and not result.value.ended():
        return job_id
    lease.forget(process, place, job_id)
    return None


def _is_due(process: Process, space_id: str, conversation: Conversation) -> bool:
    standing = summary_versions.read(process, space_id, conversation)
    if standing.known.building:
        return True
    with suppress(Vanished):
        return levels.is_due(process, At(space_id, conversation, standing.current()))
    return False


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, remove replaced versions and orphans. Where there are conversations: 1 LIST per 1,000 of them, 1
    more, and 2 GETs each.
    """
    if "conversations" not in space.folders:
        return {}
    ids = [name for name in process.store.folders(TURN.prefix(space.space_id)) if _is_id(name)]
    if not ids:
        # A tombstone outlives all other objects of a conversation.
        return {}
    results = dict(zip(ids, process.store.map(lambda item: _find(process, space.space_id, item), ids), strict=True))
    items = [item for item in results.values() if isinstance(item, Conversation)]
    removed = sum(process.store.map(lambda item: _tidy(process, space.space_id, item), items))
    # A conversation that cannot be read exists, and stays.
    cleared = removal.clear_orphans(process, space.space_id, ids, {name for name, item in results.items() if item})
    done = {"summary_versions_removed": float(removed), "conversations_cleaned": float(cleared)}
    return {name: count for name, count in done.items() if count}


def _find(process: Process, space_id: str, conversation_id: str) -> Conversation | ObjectUnreadable | None:
    try:
        return conversations.find(process, space_id, conversation_id)
    except ObjectUnreadable as error:
        return error


def _is_id(name: str) -> bool:
    try:
        keys.check_conversation_id(name)
    except ValueError:
        return False
    return True


def _tidy(process: Process, space_id: str, conversation: Conversation) -> int:
    """Remove the versions of a conversation that count no more. Returns how many."""
    try:
        standing = summary_versions.read(process, space_id, conversation)
    except ObjectUnreadable:
        # It is unknown which version counts.
        return 0
    if standing.document is None:
        return 0
    known = standing.known
    keep = {known.version, known.building.version if known.building else known.version}
    recent = {item.version for item in known.retired if process.clock() - clock.parse(item.at) < summary_versions.KEPT}
    # The versions that a listing shows, not all numbers up to the highest: a forged document may hold any number.
    folders = process.store.folders(IN_CONVERSATION.prefix(space_id, conversation.conversation_id))
    # Higher versions were begun after the document was read.
    parsed = [number for name in folders if (number := VERSION_FOLDER.last(name)) and number <= known.highest]
    doomed = [number for number in parsed if number not in keep | recent]
    for number in doomed:
        _remove(process, space_id, conversation.conversation_id, number)
    gone = [item.version for item in known.retired if item.version not in keep | recent]
    with suppress(PreconditionLost):
        summary_versions.forget(process, standing, gone)
    return len(doomed)


def _remove(process: Process, space_id: str, conversation_id: str, number: int) -> None:
    prefix = IN_VERSION.prefix(space_id, conversation_id, number)
    process.store.delete_many([entry.key for entry in process.store.scan(prefix)])


PACKAGE = Package(
    jobs={"summaries": Describable(summaries_job.described, item=summaries_job.item, of_subject=summaries_job.listing)},
    maintain=maintain,
    due={"conversation": start_due},
    objects={
        TURN: Turn.from_bytes,
        BLOCK_BOUNDARY: BlockBoundary.from_bytes,
        BOUNDARY: GroupBoundary.from_bytes,
        SUMMARY: Summary.from_bytes,
        CAPTURE: BlockCapture.from_bytes,
        USER_SIGNALS: UserSignals.from_bytes,
        CONVERSATION: Conversation.from_bytes,
        SUMMARY_VERSIONS: SummaryVersions.from_bytes,
        MESSAGE_ID: Floor.from_bytes,
        SUMMARIES_JOB: SummariesJob.from_bytes,
        TOOL_RESULT: ToolResult.from_bytes,
    },
)

"""The part of rooms and digests in upkeep: removes ids whose messages are long gone and old digests, enters rooms in
the due index again, and reports digests that wait after a failure.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from livemem.jobs.describable import Describable
from livemem.jobs.package import HealthProblem, Package, Space
from livemem.process import Process
from livemem.rooms import current_digest, digest_reading, digest_times, digested
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DeadLetter, DigestDone, Extract, StoredFacts, Try
from livemem.rooms.digested import Input
from livemem.rooms.posting import Stamp
from livemem.spaces import due_index
from livemem.store import keys
from livemem.store.bucket import (
    CURRENT_DIGEST,
    DEAD_LETTER,
    DIGEST_CLAIM,
    DIGEST_DONE,
    DIGEST_INPUT,
    EXTRACT,
    FAILED_TRY,
    IN_DIGEST,
    ROOM_ID,
    ROOM_MESSAGE,
    STORED_FACTS,
    message_name,
)

AT_ONCE = 50
"""Digests that one call removes."""
SPARE = 4
"""Hours after which a digest that is due should have ended, including all retries."""
SHOWN_FOR = timedelta(days=7)
"""For how long health reports chunks that were given up."""


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """What rooms and digests need, once a day where they have objects."""
    return {**_maintain_rooms(process, space), **_maintain_digests(process, space)}


def _maintain_rooms(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, where rooms have objects: 1 LIST per 1,000 ids and messages. Where messages wait, 1 PUT into the due
    index, so that a digest finds them.
    """
    if space.folders.isdisjoint({"rooms", "_room_ids"}):
        return {}
    removed = _remove_ids(process, space.space_id)
    if "rooms" in space.folders:
        due_index.leave_now(process, space.space_id, "room")
    return {"room_ids_removed": float(removed)} if removed else {}


def _remove_ids(process: Process, space_id: str) -> int:
    """Remove the ids that are older than any repeat of their messages, and whose messages are gone."""
    old: dict[tuple[str, str], str] = {}
    for entry in process.store.scan(ROOM_ID.prefix(space_id)):
        parsed = ROOM_ID.parse(entry.key)
        if parsed and entry.age > digested.REMEMBERED:
            old[parsed[1:]] = entry.key
    if not old:
        return 0
    # The messages are listed after the ids: a message that a late repeat has written by then keeps its id.
    for entry in process.store.scan(ROOM_MESSAGE.prefix(space_id)):
        name = message_name(entry.key)
        if name:
            old.pop((name.room, name.digest), None)
    process.store.delete_many(list(old.values()))
    return len(old)


def _maintain_digests(process: Process, space: Space) -> Mapping[str, float]:
    """Remove digests past their retention, once a day in spaces with digests.

    1 LIST, and for each old digest 1 LIST and 1 DeleteObjects.
    """
    if "_digests" not in space.folders:
        return {}
    oldest = keys.compact_time(process.clock() - timedelta(days=process.settings.run_retention_days))
    names = process.store.folders(IN_DIGEST.prefix(space.space_id))
    old = sorted(slot for slot in names if keys.SLOT.fullmatch(slot) and slot < oldest)
    removed = sum(_remove_digest(process, space.space_id, slot) for slot in old[:AT_ONCE])
    return {"digests_removed": float(removed)} if removed else {}


def _remove_digest(process: Process, space_id: str, slot: str) -> bool:
    """Remove an ended digest, unless it holds dead letters. Returns whether it was removed."""
    object_keys = [entry.key for entry in process.store.scan(IN_DIGEST.prefix(space_id, slot))]
    done = DIGEST_DONE.key(space_id, slot)
    # If another digest began before this one, only its lease exists.
    is_over = done in object_keys or object_keys == [DIGEST_CLAIM.key(space_id, slot)]
    if not is_over or any(DEAD_LETTER.parse(key) for key in object_keys):
        return False
    # The end is removed last. Without it the rest would look like a running digest.
    process.store.delete_many([key for key in object_keys if key != done])
    process.store.delete(done)
    return True


def problems(process: Process, space: Space) -> list[HealthProblem]:
    """The problems of a space's digests.

    1 GET and 1 LIST for a space without messages, else up to 1 GET and 2 LISTs more.
    """
    current = current_digest.find(process, space.space_id)
    causes = [*_failing(space, current.value), *_overdue(process, space)]
    # Without this document no digest ever began.
    return [*causes, *(_given_up(process, space) if current.etag else ())]


def _failing(space: Space, current: CurrentDigest) -> list[HealthProblem]:
    """The problem of a digest that waits after a failure."""
    if current.status != "queued" or not current.error:
        return []
    code = current.error.code
    detail = f"The digest {current.job_id} waits after a failure ({code}). Its messages are in their rooms."
    return [HealthProblem(space.space_id, "digest_failing", detail)]


def _overdue(process: Process, space: Space) -> list[HealthProblem]:
    """The problem of messages that wait longer than `overdue_after`: 1 LIST, and if some wait 1 LIST and 1 GET."""
    hours = digest_reading.hours_since_done(process, space.space_id)
    if hours is None or hours <= overdue_after(digest_times.hours(process.settings.digest_hours)):
        return []
    detail = f"Messages wait for a digest, and none has ended for {hours:.0f} hours."
    return [HealthProblem(space.space_id, "digest_overdue", detail)]


def overdue_after(hours: Sequence[int]) -> int:
    """Hours that messages wait at most without a problem: 8 with a digest every 4 hours."""
    ordered = sorted(set(hours))
    gaps = [(later - earlier - 1) % 24 + 1 for earlier, later in zip(ordered, [*ordered[1:], ordered[0]], strict=True)]
    return max(gaps) + SPARE


def _given_up(process: Process, space: Space) -> list[HealthProblem]:
    """The problem of chunks that were given up in the last week: 1 LIST, seldom more."""
    prefix = IN_DIGEST.prefix(space.space_id)
    since = keys.compact_time(process.clock() - SHOWN_FOR)
    entries = process.store.scan(prefix, start_after=f"{prefix}{since}")
    dead = [parsed[1] for entry in entries if (parsed := DEAD_LETTER.parse(entry.key))]
    if not dead:
        return []
    detail = (
        f"Chunks of messages that were given up: {len(dead)}, the last one in the digest {dead[-1]}. They are "
        "kept as dead letters."
    )
    return [HealthProblem(space.space_id, "digest_chunks_dead", detail)]


PACKAGE = Package(
    jobs={"digest": Describable(digest_reading.described, digest_reading.listing, digest_reading.item)},
    maintain=maintain,
    problems=problems,
    objects={
        ROOM_ID: Stamp.from_bytes,
        CURRENT_DIGEST: CurrentDigest.from_bytes,
        DIGEST_INPUT: Input.from_bytes,
        DIGEST_DONE: DigestDone.from_bytes,
        EXTRACT: Extract.from_bytes,
        STORED_FACTS: StoredFacts.from_bytes,
        DEAD_LETTER: DeadLetter.from_bytes,
        FAILED_TRY: Try.from_bytes,
    },
)

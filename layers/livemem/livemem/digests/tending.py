"""The part of digests in upkeep: documents that are kept no longer, and digests that wait after a failure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from livemem.digests import opening, reading, slots
from livemem.process import Process
from livemem.spaces import claims
from livemem.spaces.room import Problem, Room, Space
from livemem.store import keys as all_keys
from livemem.store import room_keys as keys

AT_ONCE = 50
"""Digests that one look removes."""
SPARE = 4
"""Hours after which a digest that is due should have ended, whatever had to be tried again."""
SHOWN_FOR = timedelta(days=7)
"""For how long health tells of what was given up."""


def tend(process: Process, space: Space) -> Mapping[str, float]:
    """On the look of once a day where there are digests: 1 LIST, and for each that is kept no longer 1 LIST and 1
    DeleteObjects.
    """
    if "_digests" not in space.folders:
        return {}
    oldest = all_keys.compact_time(process.clock() - timedelta(days=process.settings.run_retention_days))
    listed = process.store.folders(keys.digests_prefix(space.space_id))
    old = sorted(slot for slot in listed if keys.SLOT.fullmatch(slot) and slot < oldest)
    removed = sum(_remove(process, space.space_id, slot) for slot in old[:AT_ONCE])
    return {"digests_removed": float(removed)} if removed else {}


def _remove(process: Process, space_id: str, slot: str) -> bool:
    """Remove a digest that has ended, unless it keeps messages that were given up."""
    found = [entry.key for entry in process.store.scan(keys.digest_prefix(space_id, slot))]
    names = [parsed[1] for key in found if (parsed := keys.parse_digest(key))]
    if "done.json" not in names or any(keys.parse_dead(name) is not None for name in names):
        return False
    # The end last: without it the rest would look like a digest that is under way.
    process.store.delete_many([key for key in found if key != keys.done(space_id, slot)])
    process.store.delete(keys.done(space_id, slot))
    return True


def problems(process: Process, space: Space) -> list[Problem]:
    """What is wrong with the digests of a space: 1 GET and 1 LIST where nobody said anything yet, else up to 2 GETs and
    2 LISTs more.
    """
    seen = opening.look(process, space.space_id)
    found = [*_failing(process, space, seen.slot), *_overdue(process, space)]
    # Without that document no digest was ever begun.
    return [*found, *(_given_up(process, space) if seen.etag else ())]


def _failing(process: Process, space: Space, slot: str | None) -> list[Problem]:
    """A digest that waits after a failure: 1 GET where one is open."""
    claim = claims.look(process, keys.claim(space.space_id, slot)) if slot else None
    if not claim or claim.kind != "backoff":
        return []
    detail = f"The digest {slot} waits after a failure ({claim.error}); its messages are in their rooms."
    return [Problem(space.space_id, "digest_failing", detail)]


def _overdue(process: Process, space: Space) -> list[Problem]:
    """Messages that wait for longer than any digest lets them: 1 LIST, and where some wait 1 LIST and 1 GET."""
    hours = reading.hours_since_done(process, space.space_id)
    if hours is None or hours <= overdue_after(slots.hours(process.settings.digest_hours)):
        return []
    detail = f"Messages wait for a digest, and none has ended for {hours:.0f} hours."
    return [Problem(space.space_id, "digest_overdue", detail)]


def overdue_after(hours: Sequence[int]) -> int:
    """Hours for which messages wait at most while all is well; 8 with a digest every 4 hours."""
    ordered = sorted(set(hours))
    gaps = [(later - earlier - 1) % 24 + 1 for earlier, later in zip(ordered, [*ordered[1:], ordered[0]], strict=True)]
    return max(gaps) + SPARE


def _given_up(process: Process, space: Space) -> list[Problem]:
    """Chunks that were given up in the last week: 1 LIST, seldom more."""
    prefix = keys.digests_prefix(space.space_id)
    since = all_keys.compact_time(process.clock() - SHOWN_FOR)
    listed = process.store.scan(prefix, start_after=f"{prefix}{since}")
    named = [found for entry in listed if (found := keys.parse_digest(entry.key))]
    dead = [slot for slot, rest in named if keys.parse_dead(rest) is not None]
    if not dead:
        return []
    detail = f"Chunks of messages were given up ({len(dead)}), the last in the digest {dead[-1]}; they are kept there."
    return [Problem(space.space_id, "digest_chunks_dead", detail)]


ROOM = Room(owns=keys.is_of_digests, tend=tend, problems=problems)

"""The part of digests in upkeep: documents that are kept no longer, and digests that wait after a failure."""

from collections.abc import Mapping
from datetime import timedelta

from livemem.digests import opening
from livemem.process import Process
from livemem.spaces import claims
from livemem.spaces.room import Problem, Room, Space
from livemem.store import keys as all_keys
from livemem.store import room_keys as keys

AT_ONCE = 50
"""Digests that one look removes."""


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
    """A digest that waits after a failure: 1 GET, 1 more where one is open."""
    slot = opening.look(process, space.space_id).slot
    claim = claims.look(process, keys.claim(space.space_id, slot)) if slot else None
    if not claim or claim.kind != "backoff":
        return []
    detail = f"The digest {slot} waits after a failure ({claim.error}); its messages are in their rooms."
    return [Problem(space.space_id, "digest_failing", detail)]


ROOM = Room(owns=keys.is_of_digests, tend=tend, problems=problems)

"""The part of rooms in upkeep: removes ids whose messages are long gone, and enters rooms in the due index again."""

from collections.abc import Mapping

from livemem.jobs.package import Package, Space
from livemem.process import Process
from livemem.rooms import digested
from livemem.rooms.posting import Stamp
from livemem.spaces import due_index
from livemem.store.bucket import ROOM_ID, ROOM_MESSAGE, message_name


def maintain(process: Process, space: Space) -> Mapping[str, float]:
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


PACKAGE = Package(
    maintain=maintain,
    objects={
        ROOM_ID: Stamp.from_bytes,
    },
)

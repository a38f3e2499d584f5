"""The part of rooms in upkeep: removes ids whose messages are long gone, and enters rooms in the due index again."""

from collections.abc import Mapping

from livemem.jobs.maintainable import Maintainable, Reader, Space
from livemem.process import Process
from livemem.rooms import digested
from livemem.rooms.posting import Stamp
from livemem.spaces import due_index
from livemem.store import room_keys as keys


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Once a day, where rooms have objects: 1 LIST per 1,000 ids and messages. Where messages wait, 1 PUT into the due
    index, so that a digest finds them.
    """
    if space.folders.isdisjoint(keys.FOLDERS):
        return {}
    removed = _remove_ids(process, space.space_id)
    if "rooms" in space.folders:
        due_index.leave_now(process, space.space_id, "room")
    return {"room_ids_removed": float(removed)} if removed else {}


def _remove_ids(process: Process, space_id: str) -> int:
    """Remove the ids that are older than any repeat of their messages, and whose messages are gone."""
    old: dict[tuple[str, str], str] = {}
    for entry in process.store.scan(keys.ids_prefix(space_id)):
        parsed = keys.parse_id(entry.key)
        if parsed and entry.age > digested.REMEMBERED:
            old[parsed] = entry.key
    if not old:
        return 0
    # The messages are listed after the ids: a message that a late repeat has written by then keeps its id.
    for entry in process.store.scan(keys.rooms_prefix(space_id)):
        name = keys.parse_message(entry.key)
        if name:
            old.pop((name.room, name.digest), None)
    process.store.delete_many(list(old.values()))
    return len(old)


def kind(name: str) -> Reader | None:
    """Ids of messages. Messages have no kind: `message.read` reads any content."""
    return Stamp.from_bytes if keys.parse_id(f"x/{name}") else None


MAINTAINABLE = Maintainable(owns=keys.is_of_rooms, maintain=maintain, kind=kind)

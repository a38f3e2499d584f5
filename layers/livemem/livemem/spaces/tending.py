"""The spaces' own part of upkeep."""

from livemem.process import Process
from livemem.spaces.room import Problem, Room, Space
from livemem.store import keys


def problems(_: Process, space: Space) -> list[Problem]:
    """A pause is somebody's decision: it is shown, but nothing is wrong."""
    if not space.head.meta.auto_paused:
        return []
    return [Problem(space.space_id, "auto_paused", "Automatic consolidation is paused.", wrong=False)]


ROOM = Room(owns=keys.is_of_space, problems=problems)

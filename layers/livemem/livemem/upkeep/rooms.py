"""All rooms that keep something in a space. A new room is named here, and sweep, health and deletion know it."""

from livemem.ask import tending as ask
from livemem.backups import tending as backups
from livemem.bank import tending as bank
from livemem.changes import tending as changes
from livemem.conversations import tending as conversations
from livemem.digests import tending as digests
from livemem.erasure import tending as erasure
from livemem.memories import tending as memories
from livemem.notes import tending as notes
from livemem.recall import tending as recall
from livemem.rooms import tending as rooms
from livemem.runs import tending as runs
from livemem.spaces import tending as spaces

ROOMS = (
    spaces.ROOM,
    changes.ROOM,
    runs.ROOM,
    notes.ROOM,
    bank.ROOM,
    backups.ROOM,
    erasure.ROOM,
    conversations.ROOM,
    memories.ROOM,
    rooms.ROOM,
    digests.ROOM,
    recall.ROOM,
    ask.ROOM,
)
"""In the order in which they are tended: what is committed is finished before a new run is started."""


def owned(name: str) -> bool:
    """Whether a key below a space, without the space's id, belongs to any room."""
    return any(room.owns(name) for room in ROOMS)

"""All packages that keep something in a space. A new one is named here; then sweep, health and deletion know it."""

from livemem.ask import maintenance as ask
from livemem.backups import maintenance as backups
from livemem.changes import maintenance as changes
from livemem.conversations import maintenance as conversations
from livemem.digests import maintenance as digests
from livemem.erasure import maintenance as erasure
from livemem.jobs import maintenance as jobs
from livemem.jobs.maintainable import Reader
from livemem.memories import maintenance as memories
from livemem.notes import maintenance as notes
from livemem.recall import maintenance as recall
from livemem.rooms import maintenance as rooms
from livemem.store import bucket
from livemem.upkeep import space_maintenance as spaces

PACKAGES = (
    spaces.MAINTAINABLE,
    changes.MAINTAINABLE,
    jobs.MAINTAINABLE,
    notes.MAINTAINABLE,
    backups.MAINTAINABLE,
    erasure.MAINTAINABLE,
    conversations.MAINTAINABLE,
    memories.MAINTAINABLE,
    rooms.MAINTAINABLE,
    digests.MAINTAINABLE,
    recall.MAINTAINABLE,
    ask.MAINTAINABLE,
)
"""In the order in which they are maintained: a committed change is finished before a new run is started."""


def reader(name: str) -> Reader | None:
    """The reader of the document that has to be under this key below a space; None where any body can be read."""
    kind = bucket.kind_of(name)
    readers = (package.objects.get(kind) for package in PACKAGES) if kind else ()
    return next((read for read in readers if read), None)


def is_readable(name: str, body: bytes) -> bool:
    """Whether the body of the object with this key below a space can be read."""
    read = reader(name)
    if not read:
        return True
    try:
        read(body)
    except (ValueError, RecursionError):
        return False
    return True

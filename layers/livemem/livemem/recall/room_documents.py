"""The documents of rooms: each message that waits for a digest."""

from livemem import clock
from livemem.process import Process
from livemem.rooms import message as messages
from livemem.search.documents import MESSAGE, Document, Reading, storable
from livemem.search.view import DocumentSource, held
from livemem.store import room_keys as keys
from livemem.store.objects import Object


def group(room: str) -> str:
    """The group of a room's messages."""
    return f"rooms/{room}"


def all_of(process: Process, space_id: str) -> DocumentSource:
    """The source of the messages of all rooms of a space: 1 LIST per 1,000, and 1 GET for each new one.

    They are listed whole each time, so that messages that a digest removed are not found any more.
    """
    return _below(process, keys.rooms_prefix(space_id))


def of_room(process: Process, space_id: str, room: str) -> DocumentSource:
    """The source of the messages of one room, with the same requests for them alone."""
    return _below(process, keys.room_prefix(space_id, room))


def _below(process: Process, prefix: str) -> DocumentSource:
    return DocumentSource(
        prefix,
        held(lambda key: keys.parse_message(key) is not None),
        _read,
        lambda: list(process.store.scan(prefix)),
    )


def _read(item: Object) -> Reading:
    name = keys.parse_message(item.key)
    assert name
    told = messages.read(name, item)
    document = Document(
        id=name.name.removeprefix("rooms/").removesuffix(".json"),
        kind=MESSAGE,
        text=storable(told.content),
        group=group(name.room),
        position=name.name,
        time=clock.iso(clock.parse(told.timestamp)),
        author=storable(told.author),
        source={"room": name.room, "message_id": storable(told.message_id)},
        more={"timestamp": told.timestamp},
    )
    return Reading(item.key, item.etag, (document,))

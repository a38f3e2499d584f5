"""What becomes of the objects of conversations when turns are erased. Bytes in, bytes out.

The turn stays in its place as one that says nothing, so that numbers and boundaries stay; the results of its tools, and
the summaries that were made of it, go.
"""

from collections.abc import Mapping

from livemem.conversations import turn as turns
from livemem.conversations.capture import BlockCapture
from livemem.conversations.summaries import Summary
from livemem.conversations.turn import Turn
from livemem.erasure.scrubbing import ErasureTask, Fate, read
from livemem.store.bucket import CAPTURE, SUMMARY, TOOL_RESULT, TURN, TURN_ID


def turn_of(name: str) -> str | None:
    """The id of the turn that the object of this name is, or is a tool's result of; None for every other one."""
    key = f"x/{name}"
    parsed = TURN.parse(key) or TOOL_RESULT.parse(key)
    return TURN_ID.key(parsed[1], parsed[2]) if parsed else None


def kind(name: str) -> str | None:
    """How a receipt counts the object; None for one that is neither of a turn nor a summary."""
    if turn_of(name):
        return "turns" if TURN.parse(f"x/{name}") else "tool_results"
    if CAPTURE.parse(f"x/{name}"):
        return "captures"
    return "summaries" if SUMMARY.parse(f"x/{name}") else None


def held_in(name: str, body: bytes) -> Mapping[str, bytes | None] | None:
    """The turn that the object is of: its bytes by its id, None where nothing is left of it; None for every other
    object.
    """
    item = turn_of(name)
    if not item:
        return None
    turn = _turn(name, body)
    return {item: None if turn and turn.erased_on else body}


def contents_of(item: str, body: bytes) -> list[str]:
    """The texts of both sides of a turn. Arguments and results of its tools are other people's text, a file or a page:
    they go with the turn, and are not looked for elsewhere.
    """
    parsed = TURN_ID.parse(item)
    turn = read(Turn, body)
    # A result of a tool can be any JSON.
    if not turn or not parsed or turn.turn_index != parsed[1]:
        return []
    return [side for side in (turn.user_message, turn.assistant_message) if side]


def fate(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The object's fate. None for one that belongs to no erased turn, or can't be read."""
    item = turn_of(name)
    if item in task.ids:
        if item in task.kept:
            return Fate(body)
        own = TURN.parse(f"x/{name}")
        if not own:
            return Fate(None)
        turn = read(Turn, body)
        # Without a turn of this number the conversation would end before it.
        stub = turns.erased(turn, task.day) if turn else turns.erased_unread(own[2], task.day)
        return Fate(stub.to_bytes())
    capturing = CAPTURE.parse(f"x/{name}")
    if capturing:
        return _of_capture(body, _indexes(task, capturing[1]), task)
    key = SUMMARY.parse(f"x/{name}")
    indexes = _indexes(task, key[1]) if key else []
    return Fate(None) if indexes and _says_of(body, indexes) else None


def _indexes(task: ErasureTask, conversation_id: str) -> list[int]:
    """The numbers of the erased turns of a conversation."""
    parsed = (TURN_ID.parse(item) for item in task.ids)
    return [item[1] for item in parsed if item and item[0] == conversation_id]


def _of_capture(body: bytes, indexes: list[int], task: ErasureTask) -> Fate | None:
    """What a block names, without what it names of an erased turn, and without erased notes. It stays: the block must
    not name anything again.
    """
    result = read(BlockCapture, body)
    if not result:
        return Fate(None) if indexes else None
    first, last = result.turns
    within = any(first <= index <= last for index in indexes)
    rest = [] if within else [note for note in result.notes if note.note_id not in task.ids]
    return Fate(result.model_copy(update={"notes": rest}).to_bytes()) if rest != result.notes else None


def _says_of(body: bytes, indexes: list[int]) -> bool:
    summary = read(Summary, body)
    # Where that can't be told it is made again.
    return not summary or any(summary.says_of(index) for index in indexes)


def _turn(name: str, body: bytes) -> Turn | None:
    return read(Turn, body) if TURN.parse(f"x/{name}") else None

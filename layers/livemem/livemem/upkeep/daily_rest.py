"""The rest of a daily sweep that ran out of time: one entry of the due index says where to continue.

The next sweep, a quarter of an hour later, lists the due index in any case. It finds the entry and looks at the spaces
that the daily sweep has not reached. So the daily look may take as many sweeps as it needs, and a sweep without a rest
makes no request for it.
"""

from collections.abc import Sequence
from contextlib import suppress

from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces.due_index import Due


def leave(process: Process, texts: Sequence[str], first: str) -> None:
    """Note that these spaces are left, in this order, of a daily sweep that began with the space `first`: 1 PUT.

    Never fails: the next daily sweep begins with them.
    """
    with suppress(LiveMemoryError):
        due_index.leave_at(process, texts[0], "daily", first, process.clock())


def end(rest: Sequence[Due]) -> str:
    """The space with which the daily sweep began. Several entries mean the latest."""
    return _latest(rest).name


def spaces(rest: Sequence[Due], ids: Sequence[str]) -> list[str]:
    """Which of all spaces (sorted) are left: from the entry's space on, up to the one with which the sweep began."""
    begin, stop = _latest(rest).space_id, end(rest)
    if begin < stop:
        return [item for item in ids if begin <= item < stop]
    return [*(item for item in ids if item >= begin), *(item for item in ids if item < stop)]


def _latest(rest: Sequence[Due]) -> Due:
    return max(rest, key=lambda item: item.entries[-1].moment)


def settle(process: Process, rest: Sequence[Due]) -> None:
    """Remove the entries, whose spaces were looked at or are in a later entry: 1 DeleteObjects, none without a rest."""
    due_index.remove(process, [key for item in rest for key in item.written])

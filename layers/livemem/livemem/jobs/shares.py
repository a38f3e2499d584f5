"""Fair shares of a function's slots: while its queue is long, no space has more than a few of them.

An invocation knows how long it has waited in the queue. If that is long, others wait as well. Then its space may have
only some pieces of such work in progress (WORK_AT_ONCE_PER_SPACE). Further work stands in a line in a small
document of the space, and its invocation ends at once. So a queue that one space has filled becomes empty within
seconds, and the next space's work begins. A worker that ends calls the next of its
space's line, under the same limit.

The line is a hint. Its work is in the due index as well, so the sweep finds what a dead worker has not called. With a
short queue, which is the rule, no request is made.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from livemem.errors import LiveMemoryError
from livemem.process import Function, Process
from livemem.spaces import caps
from livemem.store import timing

logger = logging.getLogger(__name__)

CROWDED = timedelta(minutes=1)
"""A queue is long if an invocation has waited in it for so long. A retry has, too, and is counted like that."""
IN_LINE = "in_line"
"""The field of a payload that says that the work was called from its space's line."""


@dataclass(frozen=True)
class Waited:
    """How long an invocation has waited, and whether it was called from its space's line."""

    time: timedelta = timedelta()
    in_line: bool = False


AT_ONCE = Waited()
"""Of an invocation that has not waited."""


@dataclass(frozen=True)
class Share:
    """A piece of work of a space: the function that does it, its own id, how many there may be at once (0: any number),
    and the payload that calls another one.
    """

    function: Function
    space_id: str
    work_id: str
    most: int
    call: Callable[[str], Mapping[str, Any]]


@contextmanager
def shared(process: Process, share: Share, waited: Waited) -> Iterator[bool]:
    """Whether the work may begin. If not, it stands in the line of its space.

    No request with a short queue. Else 1 GET and 1 PUT, and as many when the work has ended.
    """
    if not share.most or not (waited.in_line or waited.time >= CROWDED):
        yield True
        return
    if not _enter(process, share):
        yield False
        return
    try:
        yield True
    finally:
        _call_next(process, share)


def _enter(process: Process, share: Share) -> bool:
    life = timing.INVOCATION + timing.SKEW
    try:
        return caps.enter(process, share.space_id, share.function, share.work_id, share.most, life)
    except LiveMemoryError as error:
        # What can't be counted is done.
        logger.warning("a share was not counted", extra={"space_id": share.space_id, "error_code": error.code})
        return True


def _call_next(process: Process, share: Share) -> None:
    try:
        following = caps.leave(process, share.space_id, share.function, share.work_id)
        if following:
            process.enqueue(share.function, {**share.call(following), IN_LINE: True})
    except LiveMemoryError as error:
        logger.warning("the next was not called", extra={"space_id": share.space_id, "error_code": error.code})

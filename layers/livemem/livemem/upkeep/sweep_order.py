"""In which order a sweep looks at many spaces: it begins behind those at which the last one was when it ended.

So neither a space that takes all the time nor one that kills the process keeps the next sweep from what comes behind.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Literal

from livemem.errors import StoreUnavailable
from livemem.process import Process
from livemem.store import stored_documents
from livemem.store.bucket import SWEEP_PLACE
from livemem.store.stored_documents import Line, StoredDocument

Kind = Literal["all", "due"]


class SweepCursor(StoredDocument):
    """`_system/sweeps/{kind}.json`."""

    most_bytes: ClassVar[int] = 4 << 10

    behind: Line = ""
    """The last space of those that were looked at, or being looked at."""


def ordered(process: Process, kind: Kind, space_ids: Sequence[str]) -> list[str]:
    """The spaces (sorted) in the order in which they are to be looked at: 1 GET."""
    item = process.store.get(SWEEP_PLACE.key(kind))
    try:
        behind = SweepCursor.from_bytes(item.body).behind if item else ""
    except ValueError:
        behind = ""
    return [
        *(space_id for space_id in space_ids if space_id > behind),
        *(space_id for space_id in space_ids if space_id <= behind),
    ]


def begin(process: Process, kind: Kind, texts: Sequence[str]) -> None:
    """Note that these are looked at now, before they are: 1 PUT. Never fails: it is a matter of order alone."""
    _note(process, kind, texts[-1])


def end(process: Process, kind: Kind) -> None:
    """Note that all were looked at: 1 PUT. Never fails."""
    _note(process, kind, "")


def _note(process: Process, kind: Kind, behind: str) -> None:
    with suppress(StoreUnavailable):
        process.store.put(
            SWEEP_PLACE.key(kind), SweepCursor(behind=behind).to_bytes(), content_type=stored_documents.JSON
        )

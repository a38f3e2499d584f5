"""A space at a glance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from livemem.changes import late_duplicates
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.objects import Entry


@dataclass(frozen=True)
class Info:
    """A space at a glance; sizes in bytes."""

    meta: Meta
    live: list[Entry]
    bank: list[Entry]
    synthesis_exists: bool


def info(process: Process, space_id: str) -> Info:
    """Meta, live notes, bank files and whether there is a synthesis. Raises NotFound."""
    head = heads.refresh(process, space_id)
    looks: list[Callable[[], Any]] = [
        lambda: contents.all_live_notes(process, space_id),
        lambda: contents.bank_files(process, space_id),
        lambda: list(process.store.scan(keys.synthesis(space_id), limit=1)),
    ]
    live, bank, synthesis = process.store.map(lambda look: look(), looks)
    return Info(head.meta, late_duplicates.without(process, space_id, live), bank, bool(synthesis))

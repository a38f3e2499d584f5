"""Spaces at a glance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from livemem.access.principal import Principal
from livemem.changes import late_duplicates
from livemem.jobs import next_run
from livemem.jobs.next_run import Waiting
from livemem.process import Process
from livemem.spaces import contents, directory
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
    waiting: Waiting


def info(process: Process, space_id: str) -> Info:
    """Meta, live notes, bank files, whether there is a synthesis, and what the next consolidation waits for: 2 GET and
    3 LIST, 1 GET more in a space that is held. Raises NotFound.
    """
    head = heads.refresh(process, space_id)
    looks: list[Callable[[], Any]] = [
        lambda: contents.all_live_notes(process, space_id),
        lambda: contents.bank_files(process, space_id),
        lambda: list(process.store.scan(keys.synthesis(space_id), limit=1)),
        lambda: next_run.holder_lease(process, space_id),
    ]
    entries, bank, synthesis, lease = process.store.map(lambda look: look(), looks)
    live = late_duplicates.without(process, space_id, entries)
    aside = head.meta.oversized_notes.standing(process.settings.llmaas_context_tokens)
    waits = [entry for entry in live if contents.note_name(entry).note_id not in aside]
    return Info(head.meta, live, bank, bool(synthesis), next_run.waiting(head.meta, lease, waits))


@dataclass(frozen=True)
class SpaceAtGlance:
    """A space in a list. `waiting`: what waits in it, if that was asked for."""

    meta: Meta
    waiting: Waiting | None = None


def page(
    process: Process, principal: Principal, *, limit: int, after: str | None, waiting: bool = False
) -> tuple[list[SpaceAtGlance], str | None]:
    """A page of the principal's spaces (directory.page). With `waiting` `next_run.look` for each of them."""
    result, more = directory.page(process, principal, limit=limit, after=after)
    if not waiting:
        return [SpaceAtGlance(meta) for meta in result], more
    return process.store.map(lambda meta: SpaceAtGlance(meta, next_run.look(process, meta)), result), more

"""A preview of an erasure: what would go, and where. It changes nothing."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from livemem.access.principal import Principal
from livemem.erasure import erasure, occurrences, receipts, rewriting, steps
from livemem.erasure.occurrences import ErasureTarget, Occurrences
from livemem.erasure.rewriting import Rewrites
from livemem.errors import OutOfTime
from livemem.jobs.receipt import Receipt
from livemem.jobs.worker import Work
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.stored import Stored

ItemState = Literal["in_space", "in_backups", "erased", "unknown"]


@dataclass(frozen=True)
class PreviewPlace:
    """The objects of the space, or of one of its backups, that an erasure would change or remove, counted by kind."""

    backup_id: str | None
    counts: dict[str, int]


@dataclass(frozen=True)
class ErasurePreview:
    """The receipt that an erasure would have, which is not stored.

    `complete`: False where the time did not suffice to look everywhere. `states`: by id, of all that would go;
    `erased`: nothing of its words is left.
    """

    receipt: Receipt
    complete: bool
    states: dict[str, ItemState]
    places: list[PreviewPlace]


def preview(
    process: Process,
    principal: Principal,
    space_id: str,
    ids: Sequence[str],
    deadline: datetime,
    *,
    agent: str | None = None,
) -> ErasurePreview:
    """Look for all that an erasure of them would change, as far as the time suffices, and write nothing.

    The requests of occurrences.find, rewriting.look, steps.sections and receipts.naming_copies. Raises InvalidName,
    InvalidRequest, TooLarge, NotFound, MemoriesBroken, ObjectUnreadable.
    """
    chosen = ErasureTarget.of(space_id, ids, agent)
    meta = heads.load(process, space_id).meta
    target = chosen.with_merged(process, space_id)
    receipt = erasure.new_receipt(process, principal, space_id, meta.uid, target)
    work = Work(process, erasure.KIND, Stored("", receipt, ""), deadline)
    rewrites, result, complete = Rewrites(), None, False
    with suppress(OutOfTime):
        result = occurrences.find(work, target)
        # Notes that were captured from the turns go with them.
        noted = result.known - target.memory_ids - target.turns
        receipt = receipt.changed({"note_ids": sorted(noted)})
        receipt = receipt.changed({"sections": list(steps.sections(process, receipt))})
        rewriting.look(work, result, steps.task_of(process, receipt, result), skip="", rewrites=rewrites)
        complete = True
    changes = {
        "counts": rewrites.counts(),
        "files": sorted(rewrites.files()),
        "quoted_in": sorted(rewrites.quoted_in),
    }
    return ErasurePreview(
        receipts.naming_copies(process, principal, receipt.changed(changes)),
        complete,
        _states(process, space_id, receipt.ids | chosen.ids, result) if result else {},
        [_place(place.backup_id, names) for place, names in rewrites.changes.items() if names],
    )


def _states(process: Process, space_id: str, ids: frozenset[str], occurrences: Occurrences) -> dict[str, ItemState]:
    memories = {item for item in ids - occurrences.known if keys.RUN_ID.fullmatch(item)}
    existing = occurrences.known | erasing.known(process, space_id, memories)

    def state(item: str) -> ItemState:
        if item in occurrences.bodies:
            return "in_space" if item in occurrences.own else "in_backups"
        return "erased" if item in existing else "unknown"

    return {item: state(item) for item in sorted(ids)}


def _place(backup_id: str | None, names: set[str]) -> PreviewPlace:
    return PreviewPlace(backup_id, dict(Counter(rewriting.kind(name) for name in sorted(names))))

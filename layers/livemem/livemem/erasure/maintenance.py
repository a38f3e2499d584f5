"""The part of erasures in upkeep: what is to be gone on with is queued. It loads nothing of the work itself."""

from collections.abc import Mapping
from datetime import datetime

from livemem import clock
from livemem.jobs.maintainable import MORE_WORK, DocumentKind, Maintainable, Space
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces.head import Meta
from livemem.spaces.receipt import Receipt
from livemem.store import keys


def queue(process: Process, space_id: str, erasure_id: str) -> None:
    """Let an invocation of the backup function go on with the erasure. Raises StoreUnavailable."""
    process.enqueue("backup", {"do": "erase", "space_id": space_id, "erasure_id": erasure_id})


def due(meta: Meta, now: datetime) -> list[str]:
    """The erasures that somebody has to go on with: the one under way, or those whose watch has ended."""
    if not meta.erasing:
        return []
    if meta.erasing.at_work:
        return [meta.erasing.at_work]
    return [erasure_id for erasure_id, until in meta.erasing.watched.items() if now > clock.parse(until)]


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Queue what is to be gone on with; no request where nothing is erased and watched."""
    if not space.head.meta.erasing:
        return {}
    due_index.leave(process, space.space_id)
    waiting = due(space.head.meta, space.now)
    if waiting and not space.busy:
        queue(process, space.space_id, waiting[0])
        return {MORE_WORK: 1, "erasures": 1}
    return {MORE_WORK: 1}


def kind(name: str) -> DocumentKind | None:
    """Receipts."""
    return DocumentKind(Receipt.from_bytes) if keys.is_of_erasures(name) and name.endswith(".json") else None


MAINTAINABLE = Maintainable(owns=keys.is_of_erasures, maintain=maintain, kind=kind)

"""Once a day: what Idempotency-Keys left behind."""

from collections.abc import Mapping

from livemem.jobs.maintainable import DocumentKind, Maintainable, Space
from livemem.notes import idempotency
from livemem.notes.idempotency import KeyedNote
from livemem.process import Process
from livemem.store import keys


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Delete expired Idempotency-Keys, on the look of once a day."""
    if "_idempotency" not in space.folders:
        return {}
    dropped = idempotency.drop_expired_claims(process, space.space_id)
    return {"expired_keys": dropped} if dropped else {}


def kind(name: str) -> DocumentKind | None:
    """Idempotency-Keys. A note is read whatever is in it."""
    return DocumentKind(KeyedNote.from_bytes) if name.startswith("_idempotency/") else None


MAINTAINABLE = Maintainable(owns=keys.is_of_notes, maintain=maintain, kind=kind)

"""The daily maintenance of notes: it deletes expired Idempotency-Keys."""

from collections.abc import Mapping

from livemem.jobs.maintainable import Maintainable, Reader, Space
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


def kind(name: str) -> Reader | None:
    """The kind of an Idempotency-Key's document. Notes need none: any content can be read."""
    return KeyedNote.from_bytes if name.startswith("_idempotency/") else None


MAINTAINABLE = Maintainable(owns=keys.is_of_notes, maintain=maintain, kind=kind)

"""The daily maintenance of notes: it deletes expired Idempotency-Keys."""

from collections.abc import Mapping

from livemem.jobs.package import Package, Space
from livemem.notes import idempotency
from livemem.notes.idempotency import KeyedNote
from livemem.process import Process
from livemem.store.bucket import IDEMPOTENCY


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Delete expired Idempotency-Keys, on the look of once a day."""
    if "_idempotency" not in space.folders:
        return {}
    dropped = idempotency.drop_expired_claims(process, space.space_id)
    return {"expired_keys": dropped} if dropped else {}


PACKAGE = Package(
    maintain=maintain,
    objects={
        IDEMPOTENCY: KeyedNote.from_bytes,
    },
)

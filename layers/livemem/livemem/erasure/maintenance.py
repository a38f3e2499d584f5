"""The part of erasures in upkeep: an unfinished one is queued. It imports none of the steps."""

from collections.abc import Mapping

from livemem.erasure import receipts
from livemem.jobs import worker
from livemem.jobs.describable import Describable
from livemem.jobs.package import MORE_WORK, Package, Space
from livemem.jobs.receipt import Receipt
from livemem.process import Process
from livemem.spaces import due_index
from livemem.store.bucket import ERASURE


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Queue an erasure that has not ended. No request where no erasure is under way or watched."""
    if not space.head.meta.erasing:
        return {}
    due_index.leave(process, space.space_id)
    waiting = receipts.due(space.head.meta, space.now)
    if waiting and not space.busy:
        # The sweep has no use for what the kind's steps load.
        process.enqueue("backup", worker.payload("erasure", space.space_id, waiting[0]))
        return {MORE_WORK: 1, "erasures": 1}
    return {MORE_WORK: 1}


PACKAGE = Package(
    jobs={"erasure": Describable(receipts.described, receipts.listing, receipts.item)},
    maintain=maintain,
    objects={
        ERASURE: Receipt.from_bytes,
    },
)

"""The keys of leases, and how the bucket shows that the work of a holder has ended."""

from livemem.jobs.lease import Lease, LeasePlace
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.usage_counts import RunTold
from livemem.store.bucket import DIGEST_CLAIM, LEASE, RUN, SEARCH_LEASE, SESSION_CLAIM, SUMMARIES_CLAIM


def of_space(space_id: str) -> LeasePlace:
    """The lease of a space: its holder changes the bank."""
    return LeasePlace(LEASE.key(space_id), lambda process, lease: _has_ended(process, space_id, lease))


def of_conversation(space_id: str, conversation_id: str) -> LeasePlace:
    """The lease of a conversation: its holder makes the summaries."""
    return LeasePlace(SUMMARIES_CLAIM.key(space_id, conversation_id))


def of_digest(space_id: str, slot: str) -> LeasePlace:
    """The lease of a digest: its holder works on it."""
    return LeasePlace(DIGEST_CLAIM.key(space_id, slot))


def of_session(space_id: str, user: str) -> LeasePlace:
    """The lease of a user's questions: its holder answers one of them."""
    return LeasePlace(SESSION_CLAIM.key(space_id, user))


def _has_ended(process: Process, space_id: str, lease: Lease) -> bool:
    """Whether the holder's work has ended: 1 GET. False where the bucket does not show it."""
    if lease.kind in ("queued", "consolidation", "agent"):
        return _run_has_ended(process, space_id, lease.owner)
    head = heads.find(process, space_id)
    return bool(head and head.meta.last_run == lease.owner and not head.meta.committed_run)


def _run_has_ended(process: Process, space_id: str, run_id: str) -> bool:
    """Whether the run has ended: no worker works on it any more."""
    document = process.store.get(RUN.key(space_id, run_id))
    try:
        return bool(document and RunTold.from_bytes(document.body).at_rest())
    except ValueError:
        return False


def of_index(space_id: str) -> LeasePlace:
    """The lease of the indexer of a space."""
    return LeasePlace(SEARCH_LEASE.key(space_id))

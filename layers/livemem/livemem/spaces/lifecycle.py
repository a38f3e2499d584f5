"""The lifecycle of a space: creation and deletion.

Creation writes `_rules.md` first and `_meta.json` last. Deletion first marks `_meta.json` as deleted, by the same
compare-and-swap that a consolidation commits with, and then removes everything else. So nothing can commit into a
deleted space. The objects that remain show which step was interrupted.

The marked head stays, as a tombstone. If the answer to a request of the deletion is lost, the store's client sends the
request again later. As long as that may happen, no space of the same id is created. A later space is written over the
tombstone by compare-and-swap, so there is always a head to compare with.
"""

import math
from dataclasses import dataclass
from itertools import islice

from livemem import clock, limits
from livemem.access import decision
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.errors import Busy, Conflict, InvalidRequest, SpaceBroken, SpaceExists
from livemem.process import Process
from livemem.spaces import caps, due_index, rules, usage_counts
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Mode
from livemem.store import keys, stored, timing
from livemem.store.bucket import BANK_KEEP, HEAD, IN_SPACE, LIVE_KEEP, RULES
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import DELETE_BATCH, MARKDOWN
from livemem.text.redaction import when

TOMBSTONE_LIFE = timing.SWEEPING + timing.REPEATED + timing.MARGIN
"""How long no space of the same id is created after a deletion, by the store's clock. It is longer than any request of
the deletion can be late. The slowest deleter is the sweep."""


@dataclass(frozen=True)
class SpaceRequest:
    """A requested space. None takes the default."""

    space_id: str
    description: str = ""
    rules: str | None = None
    rules_template: str | None = None
    owner: str | None = None
    threshold: int | None = None
    timezone: str | None = None
    consolidation_mode: Mode = "auto"
    repository: str | None = None
    bank_chars: int | None = None


def create(process: Process, principal: Principal, request: SpaceRequest) -> Meta:
    """Create a space and return its meta: 1 GET, 4 PUT. If the token lists spaces, the new id is added to the list. The
    space counts for the token's cap: 1 GET, 1 PUT.

    Raises SpaceExists, InvalidRequest or TooLarge (naming the field), CapReached, and Conflict while a creation of the
    same id is under way or shortly after its deletion. Raises Forbidden instead of SpaceExists and Conflict where the
    token may not see the space.
    """
    space_id = keys.check_space_id(request.space_id)
    try:
        with caps.making_space(process, principal):
            return _create(process, principal, space_id, request)
    except (SpaceExists, SpaceBroken, Conflict):
        # Whether a space exists that the token may not see is not told: the answer is that of every other route.
        decision.check_space(process, principal, space_id)
        raise


def _create(process: Process, principal: Principal, space_id: str, request: SpaceRequest) -> Meta:
    limits.check_text("description", request.description, limits.DESCRIPTION_BYTES, blank=True)
    if request.owner is not None:
        limits.check_text("owner", request.owner, limits.OWNER_BYTES)
    heads.check_timezone(request.timezone)
    repository = heads.check_repository(process, request.repository)
    text = when(process.settings.redact_secrets, _rules_text(request))
    require_conditional_writes(process.store)
    threshold = process.settings.consolidation_threshold if request.threshold is None else request.threshold
    bank_chars = (
        process.settings.bank_chars if request.bank_chars is None else heads.check_bank_chars(request.bank_chars)
    )
    meta = Meta(
        space_id=space_id,
        description=when(process.settings.redact_secrets, request.description),
        owner=when(process.settings.redact_secrets, request.owner),
        created_at=clock.iso(process.clock()),
        uid=process.new_id(),
        consolidation_threshold=threshold,
        timezone=request.timezone,
        consolidation_mode=request.consolidation_mode,
        repository=repository,
        bank_chars=bank_chars,
        bank_length=0,
        undone=[],
        folded_until="",
    )
    tombstone = find_tombstone(process, space_id)
    if tombstone:
        # The deletion may have died before it did this.
        registries.forget_space(process, space_id)
    _claim_rules(process, space_id, text.encode())
    process.store.put(LIVE_KEEP.key(space_id), b"")
    process.store.put(BANK_KEEP.key(space_id), b"")
    with stored.race(lost=SpaceExists(f"The space {space_id!r} exists already.")):
        meta = heads.create(process, meta, over=tombstone)
    registries.allow_space(process, principal, space_id)
    return meta


def find_tombstone(process: Process, space_id: str) -> Head | None:
    """The tombstone that a new space is written over. None: there was no space. Raises SpaceExists, Conflict."""
    head = heads.find_any(process, space_id)
    if not head:
        return None
    if not head.meta.deleted_at:
        raise SpaceExists(f"The space {space_id!r} exists already.")
    if head.meta.is_being_provisioned():
        raise Conflict(f"The space {space_id!r} is being provisioned right now.", retry_after=60)
    if head.age < TOMBSTONE_LIFE:
        rest = TOMBSTONE_LIFE - head.age
        raise Conflict(
            f"The space {space_id!r} was deleted a short time ago. Its id is free again at "
            f"{clock.iso((head.seen_at or process.clock()) + rest)}.",
            retry_after=math.ceil(rest.total_seconds()),
        )
    if clear_orphans(process, head):
        raise Conflict(
            f"Orphans of the deleted space {space_id!r} were removed. Try again in 21 minutes.",
            retry_after=math.ceil(TOMBSTONE_LIFE.total_seconds()),
        )
    return head


def _rules_text(request: SpaceRequest) -> str:
    text = rules.chosen(request.rules, request.rules_template)
    return rules.template(rules.DEFAULT_TEMPLATE) if text is None else text


def _claim_rules(process: Process, space_id: str, text: bytes) -> None:
    key = RULES.key(space_id)
    if stored.write_if(process.store, key, text, content_type=MARKDOWN):
        return
    remnant = process.store.get(key)
    # Another process may have finished the creation by now. Then the rules are that space's.
    if heads.find(process, space_id):
        raise SpaceExists(f"The space {space_id!r} exists already.")
    ours = {HEAD.key(space_id), RULES.key(space_id), LIVE_KEEP.key(space_id), BANK_KEEP.key(space_id)}
    if any(entry.key not in ours for entry in process.store.scan(IN_SPACE.prefix(space_id), limit=len(ours) + 1)):
        raise Conflict(
            f"The folder {space_id!r} holds orphans of another space. The sweep removes them. Try again later."
        )
    if remnant and remnant.body == text:
        # The same client repeats an interrupted creation. The process that writes the head first has created the space.
        return
    if remnant and remnant.age < timing.DEAD_AFTER:
        raise Conflict(f"The space {space_id!r} is being created by another request. Try again in 15 minutes.")
    over = remnant.etag if remnant else None
    if not stored.write_once(process.store, key, text, over=over, content_type=MARKDOWN).says_so:
        raise Conflict(f"The space {space_id!r} is being created by another request.")


def delete(process: Process, space_id: str, confirm: str | None) -> None:
    """Delete a space with all its objects, and remove it from all tokens' lists. The caller repeats the id in
    `confirm`.

    For A objects ceil(A/1000) LIST and DeleteObjects, 1 GET and 2 PUT, and the registry's 1 GET (and 1 PUT). If the
    process dies on the way, readers no longer see the space. The sweep, or a creation of the same id after 21 minutes,
    removes the rest. Raises NotFound, InvalidRequest, Busy while a commit is being applied or notes are erased.
    """
    if confirm != space_id:
        raise InvalidRequest.of("confirm", "must repeat the space's id: its notes and bank will be deleted")
    require_conditional_writes(process.store)
    head = heads.load(process, space_id)
    _refuse_while_at_work(head.meta)
    # Late writes into the deleted space must be found as well.
    due_index.leave(process, space_id)

    def gone(meta: Meta) -> dict[str, object]:
        _refuse_while_at_work(meta)
        # Texts of users go. The rest shows when it was deleted, and which space it was.
        return {"deleted_at": clock.iso(process.clock()), "description": "", "owner": None, "repository": None}

    heads.update(process, space_id, gone, head=head)
    # Only now: a deletion that does not happen must not change any token.
    registries.forget_space(process, space_id)
    delete_contents(process, space_id)


def _refuse_while_at_work(meta: Meta) -> None:
    if meta.committed_run:
        raise Busy("A change of this space is being applied. Try again in a moment.")
    if meta.erasing_now():
        # Its backups outlive the space: they must not stay half erased.
        raise Busy("Notes of this space are being erased. Try again in a minute.")


def clear_orphans(process: Process, tombstone: Head) -> bool:
    """Remove what an interrupted deletion, or a write just after one, left in a space whose tombstone is old enough.

    Returns whether there was anything. If so, the tombstone's age counts from now. 1 LIST where there is nothing.
    """
    space_id = tombstone.meta.space_id
    if tombstone.age < TOMBSTONE_LIFE or tombstone.meta.is_being_provisioned():
        return False
    if all(entry.key == HEAD.key(space_id) for entry in process.store.scan(IN_SPACE.prefix(space_id), limit=2)):
        return False
    due_index.leave(process, space_id)
    # Else another process does this, or has created the space.
    if heads.try_swap(process, tombstone, deleted_at=clock.iso(process.clock())):
        delete_contents(process, space_id)
    return True


def bury(process: Process, space_id: str) -> None:
    """Remove the objects of a creation that died before it wrote the head, as if a space were deleted now.

    The tombstone prevents a creation while these deletions may still come late. Raises PreconditionLost if another
    process was faster.
    """
    due_index.leave(process, space_id)
    now = clock.iso(process.clock())
    tombstone = Meta(
        space_id=space_id,
        description="",
        owner=None,
        created_at=now,
        uid=process.new_id(),
        consolidation_threshold=0,
        deleted_at=now,
    )
    heads.create(process, tombstone)
    delete_contents(process, space_id)


def delete_contents(process: Process, space_id: str) -> None:
    """Delete all objects, except the head, of a space that no reader sees any more. It deletes while it lists. So
    a later process lists only the rest if this one dies on the way.
    """
    head = HEAD.key(space_id)
    object_keys = (entry.key for entry in process.store.scan(IN_SPACE.prefix(space_id)) if entry.key != head)
    while doomed := list(islice(object_keys, DELETE_BATCH)):
        # What the space's runs cost was paid for, and counts for its day.
        usage_counts.keep(process, space_id, doomed)
        process.store.delete_many(doomed)

"""A space's life: creation and deletion.

Creation writes `_rules.md` first and `_meta.json` last. Deletion first marks `_meta.json` as deleted, by the same
compare-and-swap that a consolidation commits with, and removes it with `_rules.md` after everything else. So nothing
can commit into a deleted space, and whatever was interrupted is told by what is left.
"""

from dataclasses import dataclass
from datetime import timedelta

from livemem import clock, limits
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.errors import Busy, Conflict, InvalidRequest, PreconditionLost, SpaceExists
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.spaces.head import Head, Meta
from livemem.store import documents, keys
from livemem.store.probe import require_conditional_writes

INTERRUPTED_AFTER = timedelta(minutes=15)
"""Longest life of an invocation on Lambda: what is older was left behind by one that died."""


@dataclass(frozen=True)
class NewSpace:
    """A space as it is asked for; None takes the default."""

    space_id: str
    description: str = ""
    rules: str | None = None
    rules_template: str | None = None
    owner: str | None = None
    threshold: int | None = None


def create(process: Process, principal: Principal, wanted: NewSpace) -> Meta:
    """Create a space and return its meta: 4 PUT. A token with a list of spaces gets it added.

    Raises SpaceExists, InvalidRequest or TooLarge (naming the field), Conflict while a creation or deletion of the
    same id is under way.
    """
    space_id = keys.check_space_id(wanted.space_id)
    limits.check_text("description", wanted.description, limits.DESCRIPTION_BYTES, blank=True)
    if wanted.owner is not None:
        limits.check_text("owner", wanted.owner, limits.OWNER_BYTES)
    text = _rules_text(wanted)
    require_conditional_writes(process.store)
    threshold = process.settings.consolidation_threshold if wanted.threshold is None else wanted.threshold
    meta = Meta(
        space_id=space_id,
        description=wanted.description,
        owner=wanted.owner,
        created_at=clock.iso(process.clock()),
        uid=process.new_id(),
        consolidation_threshold=threshold,
        undone=[],
    )
    _claim_rules(process, space_id, text.encode())
    process.store.put(keys.live_keep(space_id), b"")
    process.store.put(keys.bank_keep(space_id), b"")
    try:
        process.store.put(keys.meta(space_id), meta.to_bytes(), if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        found = heads.find(process, space_id)
        # A repeated request of the store's client meets its own first try.
        if not found or found.meta.uid != meta.uid:
            raise SpaceExists(f"The space {space_id!r} exists already.") from None
    registries.allow_space(process, principal, space_id)
    return meta


def _rules_text(wanted: NewSpace) -> str:
    if wanted.rules is None:
        return rules.template(wanted.rules_template or rules.DEFAULT_TEMPLATE)
    if wanted.rules_template is not None:
        raise InvalidRequest.of("rules_template", "give either rules or rules_template, not both")
    return limits.check_text("rules", wanted.rules, limits.RULES_BYTES)


def _claim_rules(process: Process, space_id: str, text: bytes) -> None:
    try:
        process.store.put(keys.rules(space_id), text, if_none_match=True)
        return
    except PreconditionLost:
        head = heads.find_any(process, space_id)
    if head and not head.meta.deleted_at:
        raise SpaceExists(f"The space {space_id!r} exists already.")
    if head:
        finish_deletion(process, head)
    left = process.store.get(keys.rules(space_id))
    if left and process.clock() - left.last_modified < INTERRUPTED_AFTER:
        # Either the same client repeats an interrupted creation, or somebody else is at it right now.
        if left.body == text:
            return
        raise Conflict(f"The space {space_id!r} is being created by somebody else; try again in 15 minutes.")
    _delete_contents(process, space_id)
    try:
        process.store.put(keys.rules(space_id), text, if_match=left.etag if left else None, if_none_match=not left)
    except PreconditionLost:
        raise Conflict(f"The space {space_id!r} is being created by somebody else.") from None


def delete(process: Process, space_id: str, confirm: str | None) -> None:
    """Delete a space, whose id is repeated in `confirm`, with all that is in it, and take it off all tokens' lists.

    For A objects ceil(A/1000) LIST and DeleteObjects, and 2 GET, 1 PUT, 1 DeleteObjects, beside the registry's. If it
    dies on the way the space is gone for its readers, and the sweep (or a creation of the same id after 15 minutes)
    removes the rest. Raises NotFound, InvalidRequest, Busy while a commit is being applied.
    """
    if confirm != space_id:
        raise InvalidRequest.of("confirm", "must repeat the space's id: its notes and bank will be deleted")
    require_conditional_writes(process.store)
    head = heads.load(process, space_id)
    _refuse_while_committing(head)
    # Refused first: a deletion that does not happen must not cost anybody a token.
    registries.forget_space(process, space_id)
    for _ in range(heads.UPDATE_TRIES):
        try:
            heads.swap(process, head, deleted_at=clock.iso(process.clock()))
        except PreconditionLost:
            head = heads.load(process, space_id)
            _refuse_while_committing(head)
            continue
        _delete_marked(process, space_id)
        return
    raise PreconditionLost("Too many changes of this space at once.")


def _refuse_while_committing(head: Head) -> None:
    if head.meta.committed_run:
        raise Busy("A consolidation of this space is being written; try again in a moment.")


def finish_deletion(process: Process, head: Head) -> None:
    """Take over a deletion that died; raises Conflict while its first process may still be at it."""
    assert head.meta.deleted_at
    if process.clock() - clock.parse(head.meta.deleted_at) < INTERRUPTED_AFTER:
        raise Conflict(f"The space {head.meta.space_id!r} is being deleted; try again in 15 minutes.")
    try:
        heads.swap(process, head, deleted_at=clock.iso(process.clock()))
    except PreconditionLost:
        raise Conflict(f"The space {head.meta.space_id!r} is being deleted by somebody else.") from None
    _delete_marked(process, head.meta.space_id)


def _delete_marked(process: Process, space_id: str) -> None:
    _delete_contents(process, space_id)
    process.store.delete_many([keys.meta(space_id), keys.rules(space_id)])


def _delete_contents(process: Process, space_id: str) -> None:
    markers = {keys.meta(space_id), keys.rules(space_id)}
    process.store.delete_many(
        [entry.key for entry in process.store.scan(keys.prefix(space_id)) if entry.key not in markers]
    )

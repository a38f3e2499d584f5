"""Operations that put several modules together: what an agent loads, what a token sees, a space's life and access."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from livemem import __version__, access, bank, counter, keys, limits, spaces
from livemem import rules as rule_texts
from livemem.access import Principal
from livemem.bank import File, Synthesis
from livemem.counter import Order
from livemem.errors import Busy, Forbidden, InvalidRequest, NotFound
from livemem.runs import Run
from livemem.settings import Settings
from livemem.spaces import Meta
from livemem.store import Store


@dataclass(frozen=True)
class WhoAmI:
    """The token as its owner may see it."""

    name: str
    permissions: list[str]
    space_ids: list[str]
    expires_at: str | None


@dataclass(frozen=True)
class About:
    """Version, limits (bytes, counts, seconds by their names), categories and rules templates."""

    version: str
    limits: dict[str, int]
    categories: list[str]
    rules_templates: list[str]


@dataclass(frozen=True)
class Summary:
    """What an agent loads at its start."""

    meta: Meta
    rules: str
    synthesis: Synthesis | None
    bank: list[File]


@dataclass(frozen=True)
class NewSpace:
    """A space as it is asked for; None takes the default."""

    space_id: str
    description: str
    rules: str | None
    rules_template: str | None
    owner: str | None
    threshold: int | None


def whoami(principal: Principal) -> WhoAmI:
    """What the caller's token is."""
    order = ("read", "write", "admin")
    return WhoAmI(
        principal.name,
        sorted(principal.permissions, key=lambda name: order.index(name) if name in order else len(order)),
        sorted(principal.space_ids),
        principal.expires_at,
    )


def about(settings: Settings) -> About:
    """What the service is and what it allows."""
    return About(
        version=__version__,
        limits={
            "note_bytes": limits.NOTE_BYTES,
            "rules_bytes": limits.RULES_BYTES,
            "description_bytes": limits.DESCRIPTION_BYTES,
            "batch_notes": limits.BATCH_NOTES,
            "body_bytes": limits.BODY_BYTES,
            "bank_file_bytes": limits.BANK_FILE_BYTES,
            "tags": limits.TAGS,
            "tag_characters": limits.TAG_CHARACTERS,
            "page_items": limits.PAGE_ITEMS,
            "consolidation_max_notes": settings.consolidation_max_notes,
            "consolidation_threshold": settings.consolidation_threshold,
        },
        categories=list(keys.CATEGORIES),
        rules_templates=list(rule_texts.TEMPLATES),
    )


def list_spaces(store: Store, principal: Principal, *, limit: int, after: str | None) -> tuple[list[Meta], str | None]:
    """The spaces that the principal may see, by id, and the id to go on after; 1 GET each.

    With a list of spaces in the token only these are looked up; else 1 LIST per 1,000 spaces of the account.
    """
    if principal.space_ids:
        candidates: Iterator[str] = iter(sorted(name for name in principal.space_ids if name > (after or "")))
    else:
        candidates = spaces.ids(store, start_after=after or "")
    chosen = list(islice(candidates, limit + 1))
    heads = store.map(lambda space_id: spaces.find(store, space_id), chosen[:limit])
    more = chosen[limit - 1] if len(chosen) > limit else None
    return [head.meta for head in heads if head], more


def create_space(
    store: Store, settings: Settings, principal: Principal, wanted: NewSpace, *, now: datetime, uid: str
) -> Meta:
    """Create a space; a token with a list of spaces gets it added. Raises what spaces.create does."""
    threshold = settings.consolidation_threshold if wanted.threshold is None else wanted.threshold
    meta = spaces.create(
        store,
        space_id=wanted.space_id,
        description=wanted.description,
        rules_text=wanted.rules,
        rules_template=wanted.rules_template,
        owner=wanted.owner,
        threshold=threshold,
        now=now,
        uid=uid,
    )
    access.allow_space(store, principal, meta.space_id)
    return meta


def delete_space(store: Store, space_id: str, confirm: str | None, now: datetime) -> None:
    """Delete a space whose id is repeated in `confirm`, and take it off all tokens' lists."""
    if confirm != space_id:
        raise InvalidRequest.of("confirm", "must repeat the space's id: its notes and bank will be deleted")
    if spaces.load(store, space_id).meta.committed_run:
        # Seen before the lists are touched: a deletion that is refused must not cost anybody a token.
        raise Busy("A consolidation of this space is being written; try again in a moment.")
    access.forget_space(store, space_id)
    spaces.delete(store, space_id, now)


def rules(store: Store, space_id: str) -> str:
    """The space's rules; raises NotFound."""
    spaces.load_recent(store, space_id)
    found = store.get(keys.rules(space_id))
    if not found:
        raise NotFound("space", space_id)
    return found.body.decode(errors="replace")


def summary(store: Store, space_id: str) -> Summary:
    """Meta, rules, synthesis and the whole bank; raises NotFound."""
    meta = spaces.load(store, space_id).meta
    try:
        synthesis = bank.read_synthesis(store, space_id)
    except NotFound:
        synthesis = None
    return Summary(meta, rules(store, space_id), synthesis, bank.listing(store, space_id, content=True))


def start_consolidation(
    store: Store,
    principal: Principal,
    space_id: str,
    order: Order,
    *,
    now: datetime,
    new_id: Callable[[], str],
    start: counter.Start,
) -> Run:
    """Queue a run by hand; raises NotFound, Forbidden for another agent's notes without admin."""
    if order.agent is not None and order.agent != principal.name and "admin" not in principal.permissions:
        raise Forbidden("To consolidate another agent's notes alone, the token needs the permission 'admin'.")
    head = spaces.load(store, space_id)
    return counter.queue(store, head, order, run_id=new_id(), now=now, start=start)

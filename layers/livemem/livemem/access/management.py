"""What an admin does with existing tokens: list, change, revoke and remove them.

An admin whose own token has a list of spaces sees and changes only tokens that reach no other space. For this admin
all other tokens do not exist.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import EllipsisType

from livemem import clock
from livemem.access import bounds, last_use, lineage, tokens
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Conflict, InvalidRequest, NotFound
from livemem.process import Process

SHORTENED = re.compile(r"(?:sha256:)?(?P<digits>[0-9a-f]{16,64})")
"""A token's hash in a path: at least 16 hex digits. No two tokens share these 64 random bits by chance."""


@dataclass(frozen=True)
class ShownToken:
    """A token as an admin sees it. `last_used_at` is in ISO 8601, None if no use was noted."""

    token: Token
    last_used_at: str | None


@dataclass(frozen=True)
class TokenUpdate:
    """The wanted changes of a token. None leaves a field alone; where None is a value, `...` does.

    An empty `space_ids` means all spaces. It needs `all_spaces` as well, so that nobody sends it by accident.
    """

    permissions: Sequence[str] | None = None
    space_ids: Sequence[str] | None = None
    all_spaces: bool = False
    expires_in_days: int | EllipsisType | None = ...
    expires_at: str | EllipsisType | None = ...
    email: str | EllipsisType | None = ...


def page(
    process: Process, principal: Principal, *, limit: int, after: str | None = None
) -> tuple[list[ShownToken], str | None]:
    """A page of the tokens that the principal may manage, by hash, after `after`; and the `after` of the next page.

    1 GET, and 1 LIST per 1,000 tokens that were ever used. Raises Forbidden for a token that was rotated.
    """
    bounds.check_manages(principal)
    registry = registries.registry(process, fresh=True)
    visible = sorted((entry for entry in registry.tokens if _manages(principal, entry)), key=lambda entry: entry.hash)
    behind = [entry for entry in visible if after is None or entry.hash > after]
    used = last_use.all_times(process)
    page_of_tokens = [
        ShownToken(entry, clock.iso(used[entry.hash]) if entry.hash in used else None) for entry in behind[:limit]
    ]
    return page_of_tokens, page_of_tokens[-1].token.hash if len(behind) > limit else None


def update(process: Process, principal: Principal, text: str, request: TokenUpdate) -> Token:
    """Change the token whose hash begins with `text`, and return its entry: 1 GET, 1 PUT.

    Raises NotFound, Conflict if the beginning fits several tokens, InvalidRequest (naming the field), Forbidden if the
    principal lacks a right that it would give, and the errors of `tokens.change`.
    """
    start, changes = _start(text), _checked(process, request)

    def apply(registry: Registry) -> Registry:
        own, by = _find(registry, principal, start), bounds.as_of(registry, principal)

        def changed(token: Token) -> Token:
            after = token.model_copy(update=changes)
            bounds.check_may_give(principal, after)
            bounds.check_end(by, after, former=token)
            return after

        return registry.model_copy(
            update={"tokens": [changed(entry) if entry.hash == own.hash else entry for entry in registry.tokens]}
        )

    return _find(tokens.change(process, principal, apply), principal, start)


def _checked(process: Process, request: TokenUpdate) -> dict[str, object]:
    changes: dict[str, object] = {}
    if request.permissions is not None:
        changes["permissions"] = tokens.check_permissions(request.permissions)
    if request.space_ids or request.all_spaces:
        if request.space_ids and request.all_spaces:
            raise InvalidRequest.of("all_spaces", "can't be true if `space_ids` names spaces")
        changes["space_ids"] = tokens.check_spaces(request.space_ids or ())
    elif request.space_ids is not None:
        raise InvalidRequest.of("space_ids", "an empty list means all spaces: send `all_spaces` true as well")
    if request.email is not ...:
        changes["email"] = tokens.check_email(request.email)
    if request.expires_in_days is not ... or request.expires_at is not ...:
        days, moment = (None if value is ... else value for value in (request.expires_in_days, request.expires_at))
        changes["expires_at"] = tokens.check_expiry(process.clock(), days, moment)  # type: ignore[arg-type]
    return changes


@dataclass(frozen=True)
class Revoked:
    """A revoked token, and the hashes of all tokens that were revoked with it."""

    token: Token
    others: Sequence[str]


def revoke(
    process: Process,
    principal: Principal,
    text: str,
    *,
    successors: bool = True,
    descendants: bool = True,
    forget: bool = False,
) -> Revoked:
    """Revoke the token: 1 GET, 1 PUT.

    `successors` revokes also the tokens that it was rotated to. `descendants` revokes also the tokens that it made, and
    those that these made: a thief may have made them. Only tokens that the principal manages. With `forget` the token's
    own entry goes from the registry, and its maker becomes the maker of what it made. Raises as `update` does.
    """
    start = _start(text)
    family: list[Token] = []

    def apply(registry: Registry) -> Registry:
        try:
            family[:] = lineage.family(
                registry,
                _find(registry, principal, start),
                successors=successors,
                descendants=descendants,
                within=lambda entry: _manages(principal, entry),
            )
        except NotFound:
            # Our own first try may have removed the entry, and its answer was lost: that is success.
            if not (forget and family):
                raise
        hashes = {entry.hash for entry in family}
        revoked = [
            entry.model_copy(update={"revoked": True}) if entry.hash in hashes else entry for entry in registry.tokens
        ]
        gone = [family[0].hash] if forget else []
        return lineage.without(registry.model_copy(update={"tokens": revoked}), gone)

    tokens.change(process, principal, apply)
    token, *below = (entry.model_copy(update={"revoked": True}) for entry in family)
    return Revoked(token, sorted(entry.hash for entry in below))


def ended(process: Process, principal: Principal, *, dry_run: bool) -> list[str]:
    """The hashes of the revoked and expired tokens that the principal manages. They are removed unless `dry_run`."""
    hashes: set[str] = set()

    def apply(registry: Registry) -> Registry:
        now = process.clock()
        hashes.update(entry.hash for entry in registry.tokens if _manages(principal, entry) and _is_over(entry, now))
        return registry if dry_run else lineage.without(registry, hashes)

    tokens.change(process, principal, apply)
    return sorted(hashes)


def _is_over(entry: Token, now: datetime) -> bool:
    try:
        return entry.revoked or (entry.expires_at is not None and clock.parse(entry.expires_at) <= now)
    except ValueError:
        # It lets nobody in. A person must decide which expiry was meant.
        return False


def _start(text: str) -> str:
    """The beginning of the wanted token's hash. Raises InvalidRequest."""
    match = SHORTENED.fullmatch(text)
    if not match:
        raise InvalidRequest.of("hash", "must be the hash of a token, or at least the first 16 hex digits of it")
    return f"sha256:{match['digits']}"


def _find(registry: Registry, principal: Principal, start: str) -> Token:
    fitting = [entry for entry in registry.tokens if entry.hash.startswith(start) and _manages(principal, entry)]
    if not fitting:
        raise NotFound("token", start)
    if len({entry.hash for entry in fitting}) > 1:
        raise Conflict(f"{len(fitting)} tokens have a hash that begins like this. Send all 64 hex digits of the hash.")
    return fitting[0]


def _manages(principal: Principal, entry: Token) -> bool:
    return entry.may_reach(principal.space_ids)

"""What a token may give to others: never more rights than it has, and never for longer."""

from dataclasses import replace
from datetime import UTC, datetime

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Forbidden, RegistryUnreadable

NEVER = datetime.max.replace(tzinfo=UTC)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


def own_entry(registry: Registry, principal: Principal) -> Token | None:
    """The entry of the principal's own token; None for the bootstrap key, and for a token that is gone."""
    return next((entry for entry in registry.tokens if entry.hash == principal.token_hash), None)


def as_of(registry: Registry, principal: Principal) -> Principal:
    """The principal with the expiry of its token in this registry, which may be newer than the one that let it in.

    Raises RegistryUnreadable.
    """
    own = own_entry(registry, principal)
    if own is None or own.expires_at == principal.expires_at:
        return principal
    if _end(own, unreadable=LONG_AGO) == LONG_AGO:
        raise RegistryUnreadable(decision.UNREADABLE_ENTRY)
    return replace(principal, expires_at=own.expires_at)


def check_manages(principal: Principal) -> None:
    """Raise Forbidden for a rotated token: its holder manages tokens with the new one."""
    if principal.rotated:
        raise Forbidden(
            f"The token {principal.name!r} was rotated, so it can no longer manage tokens. Use the "
            "token that replaced it."
        )


def check_may_give(principal: Principal, token: Token) -> None:
    """Raise Forbidden unless the principal has all that the token would have."""
    beyond = [name for name in token.permissions if name not in principal.permissions]
    if beyond:
        raise Forbidden(
            f"The token {principal.name!r} lacks the permission {beyond[0]!r}, so it can't give that "
            "permission to another token."
        )
    if not token.may_reach(principal.space_ids):
        raise Forbidden(
            f"The token {principal.name!r} may use only some spaces. `space_ids` must name spaces among them."
        )


def check_end(principal: Principal, token: Token, former: Token | None = None) -> None:
    """Raise Forbidden if the principal gives the token something, and the token would outlast the principal.

    `former`: the token before the change. A change that only takes rights away is allowed whenever the token ends.
    """
    if principal.expires_at is None or (former and not _gains(former, token)):
        return
    if _end(token, unreadable=NEVER) > clock.parse(principal.expires_at):
        raise Forbidden(
            f"The token {principal.name!r} expires at {principal.expires_at}. A token that it makes or changes must "
            "expire no later: send such an `expires_at`."
        )


def _gains(former: Token, token: Token) -> bool:
    """Whether the token may do more, or in more spaces, or for longer than before."""
    more = set(token.permissions) - set(former.permissions)
    wider = former.space_ids != [] and not token.may_reach(frozenset(former.space_ids or ("",)))
    later = _end(token, unreadable=NEVER) > _end(former, unreadable=LONG_AGO)
    return bool(more) or wider or later


def _end(token: Token, *, unreadable: datetime) -> datetime:
    """When the token ends, or `unreadable` if its expiry cannot be parsed."""
    try:
        return clock.parse(token.expires_at) if token.expires_at is not None else NEVER
    except ValueError:
        return unreadable

"""Making tokens. A token is shown once. The registry holds only its SHA-256.

A token gives at most what it has: its permissions, its spaces if it has a list, and its expiry if it has one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock, limits
from livemem.access import bounds, decision, lineage, secret
from livemem.access import registry as registries
from livemem.access.principal import PERMISSIONS, Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Conflict, Forbidden, InvalidName, InvalidRequest, TooLarge, Unauthenticated
from livemem.process import Process
from livemem.store import keys

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


@dataclass(frozen=True)
class TokenRequest:
    """The wanted token. `space_ids` empty: all spaces. Without an expiry it ends with its maker, if that one ends."""

    name: str
    permissions: Sequence[str]
    space_ids: Sequence[str] = ()
    expires_in_days: int | None = None
    expires_at: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class CreatedToken:
    """A new token: its entry, and its text, which is known only now."""

    text: str
    token: Token


def create(process: Process, principal: Principal, text: str, request: TokenRequest) -> CreatedToken:
    """Enter the token `text` (secret.new) into the registry: 1 GET, 1 PUT.

    Raises InvalidRequest (naming the field), Forbidden if the principal lacks a right that it would give, Conflict if
    there are too many tokens, Unauthenticated if the principal's token was revoked meanwhile, RegistryUnreadable,
    PreconditionLost.
    """
    token = Token(
        hash=secret.digest(text.encode()),
        name=_check_name(request.name),
        permissions=check_permissions(request.permissions),
        space_ids=check_spaces(request.space_ids),
        email=check_email(request.email),
        created_at=clock.iso(process.clock()),
        expires_at=check_expiry(process.clock(), request.expires_in_days, request.expires_at),
        made_by=lineage.maker(principal),
    )
    bounds.check_may_give(principal, token)

    def apply(registry: Registry) -> Registry:
        by = bounds.as_of(registry, principal)
        ended = token.model_copy(update={"expires_at": token.expires_at or by.expires_at})
        changed = entered(registry, ended)
        if changed is not registry:
            bounds.check_end(by, ended)
        return changed

    registry = change(process, principal, apply)
    return CreatedToken(text, next(entry for entry in registry.tokens if entry.hash == token.hash))


def entered(registry: Registry, token: Token) -> Registry:
    """The registry with the token added, unless it is there already. Raises Conflict."""
    if any(entry.hash == token.hash for entry in registry.tokens):
        return registry
    if len(registry.tokens) >= registries.MOST_TOKENS:
        raise Conflict(
            f"There are {registries.MOST_TOKENS} tokens, which is the limit. Remove revoked and expired tokens first."
        )
    return registry.model_copy(update={"tokens": [*registry.tokens, token]})


def change(
    process: Process,
    principal: Principal,
    apply: Callable[[Registry], Registry],
    *,
    manages: bool = True,
    rotation: str | None = None,
) -> Registry:
    """Change the registry for the principal, if its own token is still valid in the newest one.

    `manages`: the change is of other tokens, so a rotated token may not make it. `rotation` as in `decision.authorise`.
    Raises Unauthenticated or Forbidden if the own token is not valid, RegistryUnreadable, PreconditionLost.
    """

    def checked(registry: Registry) -> Registry:
        changed = apply(registry)
        # No change means that our own first try succeeded and its answer was lost. It may have ended our own token.
        if changed != registry:
            _check_valid(registry, principal, process.clock(), manages=manages, rotation=rotation)
        return changed

    return registries.change_all(process, checked)


def _check_valid(
    registry: Registry, principal: Principal, now: datetime, *, manages: bool, rotation: str | None
) -> None:
    """Check the principal in the newest registry: a token revoked half a minute ago must not make a new one."""
    own = bounds.own_entry(registry, principal)
    if own is None:
        if principal.token_hash is None:
            return
        raise Unauthenticated("The token is not known.")
    still = decision.principal_of(own, now, rotation=rotation)
    in_reach = not still.space_ids or (principal.space_ids and principal.space_ids <= still.space_ids)
    if not in_reach or not principal.permissions <= still.permissions:
        raise Forbidden("The token's permissions were reduced just now. Send the request again.")
    if manages:
        bounds.check_manages(still)


def _check_name(name: str) -> str:
    try:
        return keys.check_agent(name)
    except InvalidName as error:
        raise InvalidName("name", error.message) from None


def check_permissions(permissions: Sequence[str]) -> list[str]:
    """The permissions in their usual order; raises InvalidRequest for none or an unknown one."""
    if not permissions or not set(permissions) <= set(PERMISSIONS):
        raise InvalidRequest.of("permissions", f"must be some of {', '.join(PERMISSIONS)}")
    return sorted(set(permissions), key=PERMISSIONS.index)


def check_spaces(space_ids: Sequence[str]) -> list[str]:
    """The ids, each once; raises InvalidRequest or TooLarge. The spaces need not exist yet."""
    if len(space_ids) > limits.TOKEN_SPACES:
        raise TooLarge.of("space_ids", len(space_ids), limits.TOKEN_SPACES, "spaces")
    for index, space_id in enumerate(space_ids):
        try:
            keys.check_space_id(space_id)
        except InvalidName as error:
            raise InvalidName(f"space_ids.{index}", error.message) from None
    return list(dict.fromkeys(space_ids))


def check_email(email: str | None) -> str | None:
    """The address of the person responsible for the token. Raises InvalidRequest for an invalid one."""
    if email is not None and (len(email) > limits.EMAIL_CHARACTERS or not _EMAIL.fullmatch(email)):
        raise InvalidRequest.of("email", f"must be an e-mail address of at most {limits.EMAIL_CHARACTERS} characters")
    return email


def check_expiry(now: datetime, days: int | None, moment: str | None) -> str | None:
    """The expiry from a number of days or from a moment in ISO 8601; None: never. Raises InvalidRequest."""
    if days is not None and moment is not None:
        raise InvalidRequest.of("expires_at", "send either expires_in_days or expires_at, not both")
    if days is not None:
        if not 1 <= days <= limits.TOKEN_DAYS:
            raise InvalidRequest.of(
                "expires_in_days", f"must be from 1 to {limits.TOKEN_DAYS}; leave it out for no expiry"
            )
        return clock.iso(now + timedelta(days=days))
    if moment is None:
        return None
    try:
        until = clock.parse(moment)
    except ValueError:
        raise InvalidRequest.of("expires_at", "must be a time in ISO 8601") from None
    if not now < until <= now + timedelta(days=limits.TOKEN_DAYS):
        raise InvalidRequest.of("expires_at", f"must be in the future, at most {limits.TOKEN_DAYS} days ahead")
    return clock.iso(until)

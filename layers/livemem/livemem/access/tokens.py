"""Making tokens. A token is shown once; the registry holds its SHA-256 alone.

A token gives at most what its maker has: its permissions, and its spaces where those are a list.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock, limits
from livemem.access import decision, secret
from livemem.access import registry as registries
from livemem.access.principal import PERMISSIONS, Principal
from livemem.access.registry import Registry, Token
from livemem.errors import Conflict, Forbidden, InvalidName, InvalidRequest, TooLarge, Unauthenticated
from livemem.process import Process
from livemem.store import keys

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


@dataclass(frozen=True)
class NewToken:
    """A token as it is asked for. `space_ids` empty: all spaces. Without an expiry it is valid until it is revoked."""

    name: str
    permissions: Sequence[str]
    space_ids: Sequence[str] = ()
    expires_in_days: int | None = None
    expires_at: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class Made:
    """A new token: its entry, and the token itself, which is known now and never again."""

    text: str
    token: Token


def create(process: Process, principal: Principal, text: str, wanted: NewToken) -> Made:
    """Enter the token `text` (secret.new) into the registry: 1 GET, 1 PUT.

    Raises InvalidRequest (naming the field), Forbidden if the principal has not itself what it would give, Conflict if
    there are too many tokens, Unauthenticated if it was revoked meanwhile, RegistryUnreadable, PreconditionLost.
    """
    token = Token(
        hash=secret.digest(text.encode()),
        name=_check_name(wanted.name),
        permissions=check_permissions(wanted.permissions),
        space_ids=check_spaces(wanted.space_ids),
        email=check_email(wanted.email),
        created_at=clock.iso(process.clock()),
        expires_at=check_expiry(process.clock(), wanted.expires_in_days, wanted.expires_at),
    )
    check_may_give(principal, token)
    change(process, principal, lambda registry: entered(registry, token))
    return Made(text, token)


def entered(registry: Registry, token: Token) -> Registry:
    """The registry with the token, once. Raises Conflict."""
    if any(entry.hash == token.hash for entry in registry.tokens):
        return registry
    if len(registry.tokens) >= registries.MOST_TOKENS:
        raise Conflict(f"There are {registries.MOST_TOKENS} tokens; purge those that are revoked or expired first.")
    return registry.model_copy(update={"tokens": [*registry.tokens, token]})


def change(process: Process, principal: Principal, apply: Callable[[Registry], Registry]) -> Registry:
    """Change the registry for the principal, if its own token is still valid in the newest one.

    Raises Unauthenticated or Forbidden if it is not, RegistryUnreadable, PreconditionLost.
    """

    def checked(registry: Registry) -> Registry:
        changed = apply(registry)
        # What is done already was done by our own first try, whose answer was lost: it may have ended our own token.
        if changed != registry:
            _check_valid(registry, principal, process.clock())
        return changed

    return registries.change_all(process, checked)


def _check_valid(registry: Registry, principal: Principal, now: datetime) -> None:
    """Who was let in by a registry of half a minute ago must not make itself a new token after its revocation."""
    if principal.token_hash is None:
        return
    own = next((entry for entry in registry.tokens if entry.hash == principal.token_hash), None)
    if not own:
        raise Unauthenticated("The token is not known.")
    still = decision.principal_of(own, now)
    in_reach = not still.space_ids or (principal.space_ids and principal.space_ids <= still.space_ids)
    if not in_reach or not principal.permissions <= still.permissions:
        raise Forbidden("The token may do less since a moment ago; ask again.")


def check_may_give(principal: Principal, token: Token) -> None:
    """Raise Forbidden unless the principal has all that the token would have."""
    beyond = [name for name in token.permissions if name not in principal.permissions]
    if beyond:
        raise Forbidden(f"The token {principal.name!r} lacks the permission {beyond[0]!r}, so it can't give it.")
    if not token.may_reach(principal.space_ids):
        raise Forbidden(
            f"The token {principal.name!r} may use some spaces only, so it must name spaces among them in `space_ids`."
        )


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
    """The address of who answers for the token; raises InvalidRequest for what can be none."""
    if email is not None and (len(email) > limits.EMAIL_CHARACTERS or not _EMAIL.fullmatch(email)):
        raise InvalidRequest.of("email", f"must be an e-mail address of at most {limits.EMAIL_CHARACTERS} characters")
    return email


def check_expiry(now: datetime, days: int | None, moment: str | None) -> str | None:
    """When a token expires that shall do so in so many days, or at a moment; None: never. Raises InvalidRequest."""
    if days is not None and moment is not None:
        raise InvalidRequest.of("expires_at", "give either expires_in_days or expires_at")
    if days is not None:
        if not 1 <= days <= limits.TOKEN_DAYS:
            raise InvalidRequest.of("expires_in_days", f"must be from 1 to {limits.TOKEN_DAYS}; without it: never")
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

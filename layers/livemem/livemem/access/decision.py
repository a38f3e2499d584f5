"""What a token may do: every route asks one function. It fails closed: unreadable data lets nobody in."""

import hmac
from dataclasses import replace
from datetime import datetime, timedelta

from livemem import clock
from livemem.access import last_use, request_rate, secret
from livemem.access import registry as registries
from livemem.access.principal import BOOTSTRAP_NAME, PERMISSIONS, Permission, Principal
from livemem.access.registry import Token
from livemem.errors import Forbidden, NotConfigured, RegistryUnreadable, Unauthenticated, UserNotAllowed
from livemem.process import Process
from livemem.settings import Settings
from livemem.store import keys

TOKEN_CHARACTERS = 512
"""A longer token is refused before it is hashed; real ones have 46 characters."""


REPEAT_SECONDS = 600
"""For so long an ended token may repeat its rotation. The answer to the first request may have been lost."""

GRANTED = b"lma_"
"""How access tokens of sign-in begin (access/grant.py)."""

UNREADABLE_ENTRY = "The token's entry in the registry can't be read. An operator must repair it."


def check_configuration(settings: Settings) -> None:
    """Raise NotConfigured while the bootstrap key is weak: then the service answers health only."""
    problem = settings.bootstrap_key_problem()
    if problem:
        raise NotConfigured(f"The service is not configured safely: {problem}.")


def authorise(
    process: Process,
    authorization: str | None,
    *,
    needs: Permission | None,
    space_id: str | None,
    rotation: str | None = None,
    grants: bool = False,
) -> Principal:
    """The principal behind an Authorization header, if it has the permission and may use the space.

    `needs` None: any valid token. `space_id` None: the route is not about one space. `rotation`: the digest of the
    Idempotency-Key, on the one route that rotates tokens. `grants`: access tokens of sign-in are accepted, as `/mcp`
    does and what it calls. Raises NotConfigured, Unauthenticated, Forbidden (also for a space that does not exist),
    RegistryUnreadable, StoreUnavailable, CapReached (requests a second).
    """
    check_configuration(process.settings)
    token = _bearer(authorization)
    if token.startswith(GRANTED):
        principal = _granted(process, token, accepted=grants)
    else:
        principal = _authenticate(process, token, rotation)
    # Before anything that costs a request to the store.
    request_rate.check(process, principal, space_id, 1, needs)
    if principal.token_hash:
        last_use.note(process, principal.token_hash)
    if needs is not None:
        check_permission(principal, needs)
    return principal if space_id is None else check_space(process, principal, space_id)


def check_user(name: str, user: str | None, *, may_write: bool) -> None:
    """Raise UserNotAllowed where `user` is not the token's own `name`, unless the token may write: a bot speaks for
    many.
    """
    if not may_write and user not in (None, name):
        raise UserNotAllowed(
            f"With `read` alone the token {name!r} asks in its own name: leave `user` out. "
            "A token that may `write` can ask for others."
        )


def check_permission(principal: Principal, needs: Permission) -> None:
    """Raise Forbidden unless the principal has the permission."""
    if needs not in principal.permissions:
        raise Forbidden(f"The token {principal.name!r} lacks the permission {needs!r}.")


def check_space(process: Process, principal: Principal, space_id: str) -> Principal:
    """The principal, which may use the space. Raises Forbidden in the same words whether it exists or not.

    Another process may have made the space a moment ago and added it to the token's list. So before a refusal the
    registry is looked at once more (registry.find_now).
    """
    if not principal.may_see(space_id) and principal.token_hash and keys.SPACE_ID.fullmatch(space_id):
        entry = registries.find_now(process, principal.token_hash)
        of_token = principal_of(entry, process.clock()).space_ids if entry else principal.space_ids
        common = _common(principal.of_grant, of_token)
        principal = principal if common is None else replace(principal, space_ids=common)
    if not principal.may_see(space_id):
        raise Forbidden(f"The token {principal.name!r} may not use this space.")
    return principal


def _bearer(authorization: str | None) -> bytes:
    # RFC 9110 allows any case in the scheme. Only one spelling is accepted here, so that there is no doubt.
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip(" \t")
    if scheme != "Bearer" or not token:
        raise Unauthenticated("Send the header `Authorization: Bearer <token>`.")
    if len(token) > TOKEN_CHARACTERS:
        raise Unauthenticated("The token is not known.")
    return token.encode(errors="replace")


def _authenticate(process: Process, token: bytes, rotation: str | None) -> Principal:
    digest = secret.digest(token)
    if hmac.compare_digest(digest.encode(), f"{secret.ALGORITHM}:{process.settings.bootstrap_hash()}".encode()):
        return Principal(BOOTSTRAP_NAME, frozenset(("read", "write", "admin")), frozenset(), bootstrap=True)
    entry = registries.find(process, digest)
    if not entry:
        raise Unauthenticated("The token is not known.")
    return principal_of(entry, process.clock(), rotation=rotation)


def _granted(process: Process, token: bytes, *, accepted: bool) -> Principal:
    """The principal of an access token: what its grant and its service token both allow now, and never `admin`."""
    if not accepted or process.settings.oauth_issuer is None:
        raise Unauthenticated("The token is not known.")
    # A service without sign-in never loads it.
    from livemem.access import grant as granting  # noqa: PLC0415

    grant = granting.opened_by(process, token.decode(errors="replace"))
    entry = registries.find(process, grant.token_hash) if grant else None
    if not grant or not entry:
        raise Unauthenticated("The token is not known, or has ended.")
    of_token = principal_of(entry, process.clock())
    if of_token.rotated:
        raise Unauthenticated("The connection's token was replaced. Sign in again.")
    of_grant = frozenset(grant.space_ids)
    space_ids = _common(of_grant, of_token.space_ids)
    if space_ids is None:
        raise Unauthenticated("The connection's token may use none of its spaces any more.")
    return Principal(
        of_token.name,
        of_token.permissions & frozenset(grant.scope) & {"read", "write"},
        space_ids,
        grant.access_ends_at,
        token_hash=entry.hash,
        connection=grant.grant_id,
        of_grant=of_grant,
    )


def _common(own: frozenset[str], other: frozenset[str]) -> frozenset[str] | None:
    """The spaces of two lists, of which an empty one means all. None if they have none in common."""
    if not own or not other:
        return own or other
    return own & other or None


def principal_of(entry: Token, now: datetime, *, rotation: str | None = None) -> Principal:
    """The principal of a registry entry; `rotation` as in `authorise`. Raises Unauthenticated, RegistryUnreadable."""
    if entry.revoked:
        raise Unauthenticated("The token is revoked.")
    try:
        expired = entry.expires_at is not None and clock.parse(entry.expires_at) <= now
        expired = expired and not _repeats_rotation(entry, now, rotation)
        keys.check_agent(entry.name)
    except ValueError:
        raise RegistryUnreadable(UNREADABLE_ENTRY) from None
    if entry.space_ids is None:
        # An empty list means all spaces. A missing field must not mean the same.
        raise RegistryUnreadable(UNREADABLE_ENTRY)
    if expired:
        raise Unauthenticated("The token has expired.")
    return Principal(
        entry.name,
        frozenset(entry.permissions) & set(PERMISSIONS),
        frozenset(entry.space_ids),
        entry.expires_at,
        token_hash=entry.hash,
        rotated=bool(entry.replaced_by),
    )


def _repeats_rotation(entry: Token, now: datetime, rotation: str | None) -> bool:
    """Whether the token was rotated with this key in the last ten minutes; raises ValueError."""
    if not (rotation and entry.replaced_by and entry.rotation and entry.rotated_at):
        return False
    is_same = hmac.compare_digest(rotation.encode(), entry.rotation.encode(errors="replace"))
    return is_same and now < clock.parse(entry.rotated_at) + timedelta(seconds=REPEAT_SECONDS)

"""Who may do what: the one function that every route asks, and the registry of tokens that it asks.

Tokens are random and stored as SHA-256 alone. It fails closed: what can't be read lets nobody in.
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from livemem import clock, documents, keys
from livemem.cache import TimedCache
from livemem.documents import Document
from livemem.errors import Forbidden, NotConfigured, PreconditionLost, RegistryUnreadable, Unauthenticated
from livemem.settings import Settings
from livemem.store import Store, require_conditional_writes

Permission = Literal["read", "write", "admin"]

BOOTSTRAP_NAME = "admin"
TOKEN_CHARACTERS = 512
"""A longer token is refused before it is hashed; real ones have 46 characters."""
UPDATE_TRIES = 50

_registries = TimedCache[tuple["Registry", str]](30)
_last_read: dict[Store, tuple["Registry", str]] = {}


class Token(Document):
    """An entry of the registry. `space_ids: []` means all spaces."""

    hash: str
    name: str
    permissions: list[str]
    space_ids: list[str] = []
    email: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    last_used_at: str | None = None
    revoked: bool = False


class Registry(Document):
    """`_system/tokens.json`, changed by compare-and-swap alone."""

    version: int = 1
    tokens: list[Token] = []


@dataclass(frozen=True)
class Principal:
    """Who asks. `space_ids` empty: all spaces."""

    name: str
    permissions: frozenset[str]
    space_ids: frozenset[str]
    expires_at: str | None = None
    bootstrap: bool = False

    def may_see(self, space_id: str) -> bool:
        """Whether the space is in the token's list."""
        return not self.space_ids or space_id in self.space_ids


def check_configuration(settings: Settings) -> None:
    """Raise NotConfigured while the bootstrap key is weak: then the service answers health only."""
    problem = settings.bootstrap_key_problem()
    if problem:
        raise NotConfigured(f"The service is not set up safely: {problem}.")


def authorise(
    store: Store,
    settings: Settings,
    authorization: str | None,
    *,
    needs: Permission | None,
    space_id: str | None,
    now: datetime,
) -> Principal:
    """The principal behind an Authorization header, if it has the permission and may use the space.

    `needs` None: any valid token. `space_id` None: the route is not about one space. Raises NotConfigured,
    Unauthenticated, Forbidden (also for a space that does not exist), RegistryUnreadable.
    """
    check_configuration(settings)
    principal = _authenticate(store, settings, _bearer(authorization), now)
    if needs is not None and needs not in principal.permissions:
        raise Forbidden(f"The token {principal.name!r} lacks the permission {needs!r}.")
    if space_id is not None and not principal.may_see(space_id):
        raise Forbidden(f"The token {principal.name!r} may not use this space.")
    return principal


def _bearer(authorization: str | None) -> bytes:
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthenticated("Send the header `Authorization: Bearer <token>`.")
    if len(token) > TOKEN_CHARACTERS:
        raise Unauthenticated("The token is not known.")
    return token.encode(errors="replace")


def _authenticate(store: Store, settings: Settings, token: bytes, now: datetime) -> Principal:
    if hmac.compare_digest(token, settings.admin_bootstrap_key.encode()):
        return Principal(BOOTSTRAP_NAME, frozenset(("read", "write", "admin")), frozenset(), bootstrap=True)
    digest = "sha256:" + hashlib.sha256(token).hexdigest()
    for entry in registry(store).tokens:
        if hmac.compare_digest(entry.hash.encode(), digest.encode()):
            return _principal(entry, now)
    raise Unauthenticated("The token is not known.")


def _principal(entry: Token, now: datetime) -> Principal:
    if entry.revoked:
        raise Unauthenticated("The token is revoked.")
    try:
        expired = entry.expires_at is not None and clock.parse(entry.expires_at) <= now
        keys.check_agent(entry.name)
    except ValueError:
        raise RegistryUnreadable("The token's entry in the registry can't be read.") from None
    if expired:
        raise Unauthenticated("The token has expired.")
    return Principal(entry.name, frozenset(entry.permissions), frozenset(entry.space_ids), entry.expires_at)


def registry(store: Store, *, fresh: bool = False) -> Registry:
    """The registry, at most 30 s old, or straight from the store if `fresh`; asked again by its ETag."""
    cached = None if fresh else _registries.get(store)
    return (cached or _revalidate(store))[0]


def _revalidate(store: Store) -> tuple[Registry, str]:
    known = _last_read.get(store)
    changed, found = (
        store.get_if_changed(keys.TOKENS, known[1]) if known and known[1] else (True, store.get(keys.TOKENS))
    )
    if changed or not known:
        # A registry that was removed knows nobody; what was read before must not live on.
        try:
            known = (Registry.from_bytes(found.body), found.etag) if found else (Registry(), "")
        except ValueError:
            raise RegistryUnreadable("The token registry can't be read, so no token is accepted.") from None
    _last_read[store] = known
    return _registries.put(store, known)


def allow_space(store: Store, principal: Principal, space_id: str) -> None:
    """Add a space that a token with a list has just created to its list."""
    if principal.space_ids:
        _update(store, lambda token: _with_space(token, space_id) if token.name == principal.name else token)


def forget_space(store: Store, space_id: str) -> None:
    """Take a deleted space off all lists, so that a later one of the same id is not inherited.

    A token whose last space it was is revoked: an empty list would mean all spaces.
    """
    if any(space_id in token.space_ids for token in registry(store, fresh=True).tokens):
        _update(store, lambda token: _without_space(token, space_id))


def _with_space(token: Token, space_id: str) -> Token:
    if not token.space_ids or space_id in token.space_ids:
        return token
    return token.model_copy(update={"space_ids": [*token.space_ids, space_id]})


def _without_space(token: Token, space_id: str) -> Token:
    if space_id not in token.space_ids:
        return token
    left = [other for other in token.space_ids if other != space_id]
    return token.model_copy(update={"space_ids": left} if left else {"revoked": True})


def _update(store: Store, change: Callable[[Token], Token]) -> None:
    require_conditional_writes(store)
    for _ in range(UPDATE_TRIES):
        current, etag = _revalidate(store)
        changed = current.model_copy(update={"tokens": [change(token) for token in current.tokens]})
        if changed == current or not etag:
            return
        try:
            store.put(keys.TOKENS, changed.to_bytes(), if_match=etag, content_type=documents.JSON)
        except PreconditionLost:
            continue
        _registries.drop(store)
        return
    raise PreconditionLost("The token registry changes too often.")

"""The registry of tokens, `_system/tokens.json`. Tokens are random and stored as SHA-256 alone."""

from collections.abc import Callable

from livemem.access.principal import Principal
from livemem.errors import PreconditionLost, RegistryUnreadable
from livemem.process import Process, Timer
from livemem.store import documents, keys
from livemem.store.documents import Document
from livemem.store.probe import require_conditional_writes

UPDATE_TRIES = 50


CACHED_SECONDS = 30
"""For how long a registry that was read is not asked for again: how long a revoked token may still work."""


class Token(Document):
    """An entry of the registry. `space_ids: []` means all spaces; an entry without the field is no valid one."""

    hash: str
    name: str
    permissions: list[str]
    space_ids: list[str] | None = None
    email: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    last_used_at: str | None = None
    revoked: bool = False


class Registry(Document):
    """`_system/tokens.json`, changed by compare-and-swap alone."""

    version: int = 1
    rev: int = 0
    """Grows with each change, so that no two versions have the same bytes, and thus the same ETag."""
    tokens: list[Token] = []


class _Cache:
    """The registry as it was read last, with its ETag, and when."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._last: tuple[Registry, str] | None = None
        self._read_at = 0.0

    def last(self) -> tuple[Registry, str] | None:
        """Whatever was read last."""
        return self._last

    def recent(self) -> tuple[Registry, str] | None:
        """What was read in the last 30 s."""
        return self._last if self._timer() - self._read_at < CACHED_SECONDS else None

    def put(self, registry: Registry, etag: str) -> tuple[Registry, str]:
        self._last, self._read_at = (registry, etag), self._timer()
        return self._last


def registry(process: Process, *, fresh: bool = False) -> Registry:
    """The registry, at most 30 s old, or straight from the store if `fresh`; asked again by its ETag."""
    cached = None if fresh else process.cache(_Cache).recent()
    return (cached or _revalidate(process))[0]


def _revalidate(process: Process) -> tuple[Registry, str]:
    cache = process.cache(_Cache)
    known = cache.last()
    changed, found = (
        process.store.get_if_changed(keys.TOKENS, known[1])
        if known and known[1]
        else (True, process.store.get(keys.TOKENS))
    )
    if changed or not known:
        # A registry that was removed knows nobody; what was read before must not live on.
        try:
            known = (Registry.from_bytes(found.body), found.etag) if found else (Registry(), "")
        except ValueError:
            raise RegistryUnreadable("The token registry can't be read, so no token is accepted.") from None
    return cache.put(*known)


def allow_space(process: Process, principal: Principal, space_id: str) -> None:
    """Add a space that a token with a list has just created to its list, and to no other token's of the same name."""
    if principal.space_ids:
        _update(process, lambda token: _with_space(token, space_id) if token.hash == principal.token_hash else token)


def forget_space(process: Process, space_id: str) -> None:
    """Take a deleted space off all lists, so that a later one of the same id is not inherited.

    A token whose last space it was is revoked: an empty list would mean all spaces.
    """
    if any(space_id in (token.space_ids or ()) for token in registry(process, fresh=True).tokens):
        _update(process, lambda token: _without_space(token, space_id))


def _with_space(token: Token, space_id: str) -> Token:
    if not token.space_ids or space_id in token.space_ids:
        return token
    return token.model_copy(update={"space_ids": [*token.space_ids, space_id]})


def _without_space(token: Token, space_id: str) -> Token:
    if not token.space_ids or space_id not in token.space_ids:
        return token
    left = [other for other in token.space_ids if other != space_id]
    return token.model_copy(update={"space_ids": left} if left else {"revoked": True})


def add(process: Process, token: Token) -> None:
    """Enter a token; makes the registry if there is none. Raises RegistryUnreadable, PreconditionLost."""
    _change(process, lambda registry: registry.model_copy(update={"tokens": [*registry.tokens, token]}))


def _update(process: Process, change: Callable[[Token], Token]) -> None:
    _change(
        process,
        lambda registry: registry.model_copy(update={"tokens": [change(token) for token in registry.tokens]}),
    )


def _change(process: Process, change: Callable[[Registry], Registry]) -> None:
    require_conditional_writes(process.store)
    for _ in range(UPDATE_TRIES):
        current, etag = _revalidate(process)
        changed = change(current)
        if changed == current:
            return
        # Bytes that were there before would give a late repeat of an earlier change its ETag back.
        changed = changed.model_copy(update={"rev": current.rev + 1})
        condition = {"if_match": etag} if etag else {"if_none_match": True}
        try:
            etag = process.store.put(keys.TOKENS, changed.to_bytes(), content_type=documents.JSON, **condition)
        except PreconditionLost:
            continue
        process.cache(_Cache).put(changed, etag)
        return
    raise PreconditionLost("The token registry changes too often.")

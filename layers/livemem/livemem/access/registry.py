"""The registry of tokens, `_system/tokens.json`. Tokens are random and stored as SHA-256 alone.

A process asks for it every 30 s at most, by its ETag; and besides where it meets a token that it does not know, once
for each and a few times a second: so a new token works at once, and those that nobody knows cost next to nothing.
"""

import hmac
from collections import deque
from collections.abc import Callable

from cachetools import TTLCache

from livemem.access.principal import Principal
from livemem.errors import RegistryUnreadable
from livemem.process import Process, Timer
from livemem.store import keys, stored
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Count, StoredDocument

CACHED_SECONDS = 30
"""For how long a registry that was read is not asked for again: how long a revoked token may still work."""

LOOKS_A_SECOND = 5
"""How often a process asks again for the registry because of unknown tokens."""

MOST_UNKNOWN = 1_000
"""Unknown tokens that a process remembers, each for as long as the registry."""

MOST_TOKENS = 10_000
"""Entries that a registry may have: 6 MB."""


class Maker(StoredDocument):
    """The token that made another one. `hash`: the first 16 hex digits of its own; None for the bootstrap key."""

    hash: str | None = None
    name: str


class Token(StoredDocument):
    """An entry of the registry. `space_ids: []` means all spaces; an entry without the field is no valid one."""

    hash: str
    name: str
    permissions: list[str]
    space_ids: list[str] | None = None
    email: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    last_used_at: str | None = None
    """Older versions kept it here; now it is when `_system/last_used/{hash}` was written (last_use.py)."""
    revoked: bool = False
    replaced_by: str | None = None
    """Hash of the token that its holder rotated it to."""
    rotation: str | None = None
    """Digest of the Idempotency-Key of that rotation."""
    rotated_at: str | None = None
    """When it was rotated first; a repeat leaves it."""
    made_by: Maker | None = None
    """None in entries of older versions, which did not keep it (lineage.py)."""

    def may_reach(self, space_ids: frozenset[str]) -> bool:
        """Whether all that it may use is among these spaces; empty: all spaces."""
        return not space_ids or (bool(self.space_ids) and set(self.space_ids or ()) <= space_ids)


class Registry(Revised):
    """`_system/tokens.json`, changed by compare-and-swap alone."""

    version: Count = 1
    tokens: list[Token] = []


class _Cache:
    """The registry as it was read last, with its ETag, and when; its entries by hash; and what it does not know."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._last: tuple[Registry, str] | None = None
        self._read_at = 0.0
        self._by_hash: dict[str, Token] = {}
        self.unknown = TTLCache[str, None](MOST_UNKNOWN, CACHED_SECONDS, timer)
        self._looks = deque[float](maxlen=LOOKS_A_SECOND)

    def last(self) -> tuple[Registry, str] | None:
        """Whatever was read last."""
        return self._last

    def recent(self) -> tuple[Registry, str] | None:
        """What was read in the last 30 s."""
        return self._last if self._timer() - self._read_at < CACHED_SECONDS else None

    def may_look(self) -> bool:
        """Whether the store may be asked because of an unknown token, and count it."""
        now = self._timer()
        if len(self._looks) == LOOKS_A_SECOND and now - self._looks[0] < 1:
            return False
        self._looks.append(now)
        return True

    def entry(self, digest: str) -> Token | None:
        """The token of this hash in what was read last."""
        return self._by_hash.get(digest)

    def put(self, registry: Registry, etag: str) -> tuple[Registry, str]:
        if not self._last or self._last[0] is not registry:
            # Of two entries of one hash, which nobody but a person with an editor makes, the first one counts.
            self._by_hash = {token.hash: token for token in reversed(registry.tokens)}
            self.unknown.clear()
        self._last, self._read_at = (registry, etag), self._timer()
        return self._last


def registry(process: Process, *, fresh: bool = False) -> Registry:
    """The registry, at most 30 s old, or straight from the store if `fresh`; asked again by its ETag."""
    cached = None if fresh else process.cache(_Cache).recent()
    return (cached or _revalidate(process))[0]


def find(process: Process, digest: str) -> Token | None:
    """The entry of a token's hash: no request for 30 s, then 1 GET (304 where nothing changed).

    An unknown one is looked for once more in the store, unless that was done for too many others in this second; that
    it is unknown is then remembered for 30 s.
    """
    cache = process.cache(_Cache)
    is_new = not cache.recent()
    registry(process)
    if not cache.entry(digest) and digest not in cache.unknown and (is_new or cache.may_look()):
        if not is_new:
            _revalidate(process)
        if not cache.entry(digest):
            cache.unknown[digest] = None
    found = cache.entry(digest)
    # What is looked up is the digest of what was sent, which tells nothing of a token by the time that it takes.
    return found if found and hmac.compare_digest(found.hash.encode(), digest.encode()) else None


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
        known = (_read(found), found.etag) if found else (Registry(), "")
    return cache.put(*known)


def _read(found: Object) -> Registry:
    try:
        return Registry.from_bytes(found.body)
    except ValueError:
        raise RegistryUnreadable("The token registry can't be read, so no token is accepted.") from None


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


def _update(process: Process, change: Callable[[Token], Token]) -> None:
    change_all(
        process,
        lambda registry: registry.model_copy(update={"tokens": [change(token) for token in registry.tokens]}),
    )


def change_all(process: Process, change: Callable[[Registry], Registry]) -> Registry:
    """Write what `change` makes of the newest registry, and return it; makes the registry if there is none.

    `change` must be idempotent: it is applied again after every lost swap, also where our own first try did win and
    its answer was lost. Raises RegistryUnreadable, at last
    PreconditionLost.
    """
    require_conditional_writes(process.store)

    def changed(found: Registry | None) -> Registry | None:
        current = found or Registry()
        wanted = change(current)
        return wanted if wanted != current else None

    current, etag = _revalidate(process)
    known = Stored(keys.TOKENS, current, etag) if etag else None
    saved = stored.update(process.store, keys.TOKENS, changed, process.new_id, read=_read, known=known)
    # What was removed and is not to be changed is none.
    return process.cache(_Cache).put(*((saved.value, saved.etag) if saved else (Registry(), "")))[0]

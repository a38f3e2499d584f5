"""The registry of tokens, `_system/tokens.json`. Tokens are random and stored as SHA-256 alone.

A process asks for it at most every 30 s, by its ETag. It also asks when it meets an unknown token: once for each, and
at most a few times a second. So a new token works at once, and invalid tokens cost next to nothing. The same holds for
a space that is not on a known token's list.

Each entry is a line of the document. A process that reads a newer version parses only the lines that it does not know.
So a lost race costs little more than its requests, however many tokens there are.
"""

import hmac
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from livemem.access.look_rate import LookRate
from livemem.access.principal import Principal
from livemem.errors import RegistryUnreadable
from livemem.process import Process, Timer
from livemem.store import stored
from livemem.store.bucket import TOKENS
from livemem.store.cache import TimedCache
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Count, StoredDocument

CACHED_SECONDS = 30
"""For so long a process does not read the registry again, and a revoked token may still work."""

MOST_UNKNOWN = 1_000
"""Unknown tokens that a process remembers, each for `CACHED_SECONDS`."""

MOST_TOKENS = 10_000
"""Entries that a registry may have: 6 MB."""


class Maker(StoredDocument):
    """The token that made another one. `hash`: the first 16 hex digits of its own; None for the bootstrap key."""

    hash: str | None = None
    name: str


class Token(StoredDocument):
    """An entry of the registry. `space_ids: []` means all spaces. An entry without the field is invalid."""

    hash: str
    name: str
    permissions: list[str]
    space_ids: list[str] | None = None
    email: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    revoked: bool = False
    replaced_by: str | None = None
    """Hash of the token that its holder rotated it to."""
    rotation: str | None = None
    """Digest of the Idempotency-Key of that rotation."""
    rotated_at: str | None = None
    """When it was first rotated. A repeat of the rotation does not change it."""
    made_by: Maker | None = None
    """None in entries of older versions, which did not keep it (lineage.py)."""

    def may_reach(self, space_ids: frozenset[str]) -> bool:
        """Whether all spaces that it may use are among these. Empty: all spaces."""
        return not space_ids or (bool(self.space_ids) and set(self.space_ids or ()) <= space_ids)


class Registry(Revised):
    """`_system/tokens.json`, changed by compare-and-swap alone."""

    version: Count = 1
    tokens: list[Token] = []

    def to_bytes(self) -> bytes:
        """The document as it is stored: each entry is a line, without the fields that are None."""
        head = self.model_dump_json(indent=2, exclude={"tokens"}).encode().removesuffix(b"\n}")
        lines = b",\n".join(token.model_dump_json(exclude_none=True).encode() for token in self.tokens)
        return b"".join((head, _BEGIN, lines, _END))


_BEGIN, _END = b',\n  "tokens": [\n', b"\n  ]\n}\n"


@dataclass(frozen=True)
class _Read:
    """The registry as it was read, with its ETag, its entries by hash, and the time by the process's timer."""

    registry: Registry
    etag: str
    by_hash: Mapping[str, Token]
    at: float


class _Cache:
    """The last read, and unknown tokens."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._last: _Read | None = None
        self._lock = threading.Lock()
        self._lines: dict[bytes, Token] = {}
        self.unknown = TimedCache[str, None](MOST_UNKNOWN, timer, seconds=CACHED_SECONDS)
        self.looks = LookRate(timer)

    def last(self) -> "_Read | None":
        """The last read; None before the first."""
        return self._last

    def recent(self) -> "_Read | None":
        """The same, if it was in the last 30 s."""
        last = self._last
        return last if last and self._timer() - last.at < CACHED_SECONDS else None

    def read(self, item: Object) -> Registry:
        """The registry in an object. Lines of the version that was read before are not parsed again. Raises
        RegistryUnreadable.
        """
        try:
            return self._by_lines(item.body) or Registry.from_bytes(item.body)
        except ValueError:
            raise RegistryUnreadable(
                "The token registry can't be read, so only the bootstrap key is accepted until an operator repairs it."
            ) from None

    def _by_lines(self, body: bytes) -> Registry | None:
        """None for a document that another program has written, in another layout."""
        head, separator, rest = body.partition(_BEGIN)
        if not separator or not rest.endswith(_END):
            return None
        # A text in JSON holds no line break. So what one layout shows as lines is one entry each.
        cached, lines = self._lines, rest.removesuffix(_END).split(b",\n")
        try:
            tokens = {line: cached.get(line) or Token.from_bytes(line) for line in lines if line}
            registry = Registry.from_bytes(head + b"\n}")
        except ValueError:
            return None
        self._lines = tokens
        return registry.model_copy(update={"tokens": [tokens[line] for line in lines if line]})

    def put(self, registry: Registry, etag: str, before: "_Read | None") -> "_Read":
        """A read, to be remembered unless another thread has read since `before`: that may have seen a newer one. It is
        remembered in any case where `before` is None.
        """
        if before and before.registry is registry:
            by_hash = before.by_hash
        else:
            # Only a person with an editor makes two entries of one hash. The first one counts.
            by_hash = {token.hash: token for token in reversed(registry.tokens)}
        read = _Read(registry, etag, by_hash, self._timer())
        with self._lock:
            if before is None or self._last is before:
                self._last = read
                if by_hash is not (before and before.by_hash):
                    self.unknown.clear()
        return read


def registry(process: Process, *, fresh: bool = False) -> Registry:
    """The registry, at most 30 s old. If `fresh`, it is read from the store by its ETag."""
    cached = None if fresh else process.cache(_Cache).recent()
    return (cached or _revalidate(process)).registry


def find(process: Process, digest: str) -> Token | None:
    """The entry of a token's hash: no request for 30 s, then 1 GET (304 where nothing changed).

    For an unknown hash the store is asked once more. The process then remembers for 30 s that the hash is unknown.
    Raises TooSoon where too many such looks found nothing in this second: the token may well be new.
    """
    cache = process.cache(_Cache)
    recent = cache.recent()
    entry = (recent or _revalidate(process)).by_hash.get(digest)
    if not entry and digest not in cache.unknown:
        entry = _look(process, digest) if recent else None
        if not entry:
            cache.unknown.put(digest, None)
    # The digest of the sent token is looked up. So the time of the look-up reveals nothing of a token.
    return entry if entry and hmac.compare_digest(entry.hash.encode(), digest.encode()) else None


def _look(process: Process, digest: str) -> Token | None:
    looks = process.cache(_Cache).looks
    looks.require()
    entry = _revalidate(process).by_hash.get(digest)
    if not entry:
        looks.missed()
    return entry


def find_now(process: Process, digest: str) -> Token | None:
    """The entry of a known token's hash as it is now, for a token that the entry of the last read refuses: 1 GET (304
    where nothing changed), unless too many others were looked for in this second.

    No refusal is remembered: a client asks for a space, makes it and asks again.
    """
    cache = process.cache(_Cache)
    last = _revalidate(process) if cache.looks.allowed() else cache.last()
    return last.by_hash.get(digest) if last else None


def _revalidate(process: Process) -> _Read:
    cache = process.cache(_Cache)
    last = cache.last()
    changed, item = (
        process.store.get_if_changed(TOKENS, last.etag) if last and last.etag else (True, process.store.get(TOKENS))
    )
    if last and not changed:
        return cache.put(last.registry, last.etag, last)
    # A removed registry has no tokens. Those that were read before must not remain valid.
    return cache.put(*((cache.read(item), item.etag) if item else (Registry(), "")), last)


def allow_space(process: Process, principal: Principal, space_id: str) -> None:
    """Add a space to the list of the token that has just created it, and not to other tokens of the same name."""
    if principal.space_ids:
        _update(process, lambda token: _with_space(token, space_id) if token.hash == principal.token_hash else token)


def forget_space(process: Process, space_id: str) -> None:
    """Remove a deleted space from all lists, so that no token may use a later space of the same id.

    A token without another space is revoked, because an empty list would mean all spaces.
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
    remaining = [other for other in token.space_ids if other != space_id]
    return token.model_copy(update={"space_ids": remaining} if remaining else {"revoked": True})


def _update(process: Process, change: Callable[[Token], Token]) -> None:
    change_all(
        process,
        lambda registry: registry.model_copy(update={"tokens": [change(token) for token in registry.tokens]}),
    )


def change_all(process: Process, change: Callable[[Registry], Registry]) -> Registry:
    """Apply `change` to the newest registry, write the result and return it. Creates the registry if there is none.

    `change` must be idempotent: it is applied again after every lost swap, also after a swap that succeeded and whose
    answer was lost. Raises RegistryUnreadable, and PreconditionLost after the last try.
    """
    require_conditional_writes(process.store)

    def changed(registry: Registry | None) -> Registry | None:
        current = registry or Registry()
        update = change(current)
        return update if update != current else None

    current, cache = _revalidate(process), process.cache(_Cache)
    base = Stored(TOKENS, current.registry, current.etag) if current.etag else None
    saved = stored.update(process.store, TOKENS, changed, process.new_id, read=cache.read, current=base)
    # A removed registry that `change` leaves as it is remains an empty one.
    return cache.put(*((saved.value, saved.etag) if saved else (Registry(), "")), None).registry

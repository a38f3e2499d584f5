"""A grant: what a person allowed a client by OAuth. It is a narrowed view of one token of the service.

The bucket holds only hashes of its tokens. A process reads a grant at most every 30 s, as it does the registry.
"""

import hashlib
import hmac
import re
from datetime import datetime, timedelta

from livemem import clock
from livemem.access.look_rate import LookRate
from livemem.access.registry import CACHED_SECONDS
from livemem.process import Process, Timer
from livemem.store import keys, stored
from livemem.store.bucket import GRANT
from livemem.store.cache import TimedCache
from livemem.store.stored import Revised
from livemem.store.stored_documents import Count, Line, Moment

ACCESS_PREFIX = "lma_"
GRACE = timedelta(seconds=60)
"""For so long after a refresh the former tokens of a grant still work. Clients refresh from two places at once."""
GRANT_LIFE = timedelta(days=90)
"""For so long after its last refresh a grant lives."""
MOST_CACHED = 10_000

_TOKEN = re.compile(rf"lm[ar]_(?P<grant>{keys.RUN_ID.pattern})_[A-Za-z0-9_-]{{40,140}}")


class Grant(Revised):
    """`_system/oauth/grants/{id}.json`, changed by compare-and-swap alone. `space_ids: []`: all spaces of the token."""

    grant_id: Line
    token_hash: Line
    """The service token with which the person signed in."""
    client_id: str
    client_name: Line
    redirect_host: Line
    scope: list[Line]
    space_ids: list[Line]
    resource: str
    salt: Line
    access_hash: Line = ""
    refresh_hash: Line = ""
    previous_access_hash: Line = ""
    previous_refresh_hash: Line = ""
    generation: Count = 0
    """How often its tokens were replaced."""
    created_at: Moment
    issued_at: Moment
    access_ends_at: Moment
    ends_at: Moment
    revoked: bool = False

    def is_over(self, now: datetime) -> bool:
        """Whether it is revoked or has ended."""
        return self.revoked or clock.parse(self.ends_at) <= now

    def in_grace(self, now: datetime) -> bool:
        """Whether the tokens before the present ones still work."""
        return now < clock.parse(self.issued_at) + GRACE

    def opens(self, digest: str, now: datetime) -> bool:
        """Whether the access token of this digest is valid now."""
        if self.is_over(now):
            return False
        present = same(digest, self.access_hash) and now < clock.parse(self.access_ends_at)
        return present or (same(digest, self.previous_access_hash) and self.in_grace(now))


def same(digest: str, stored_digest: str) -> bool:
    """Whether two digests are one, in constant time. No digest equals an empty text."""
    return bool(stored_digest) and hmac.compare_digest(digest.encode(), stored_digest.encode(errors="replace"))


def token_digest(token: str) -> str:
    """How a grant knows one of its tokens: 64 hex digits."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def grant_of(token: str) -> str | None:
    """The grant that a token names. None for a text of another form."""
    match = _TOKEN.fullmatch(token)
    return match["grant"] if match else None


class _Cache:
    """Grants that were read in the last 30 s, and digests that are unknown."""

    def __init__(self, timer: Timer) -> None:
        self.grants = TimedCache[str, Grant](MOST_CACHED, timer, seconds=CACHED_SECONDS)
        self.unknown = TimedCache[str, None](MOST_CACHED, timer, seconds=CACHED_SECONDS)
        self.looks = LookRate(timer)


def opened_by(process: Process, token: str) -> Grant | None:
    """The grant that an access token opens, or None: no request for 30 s, then 1 GET.

    A token that does not fit what was read costs 1 GET more, and is then unknown for 30 s. Raises StoreUnavailable, and
    TooSoon after a few such looks that found nothing in this second.
    """
    grant_id, digest, now = grant_of(token), token_digest(token), process.clock()
    cache = process.cache(_Cache)
    if grant_id is None or not token.startswith(ACCESS_PREFIX) or digest in cache.unknown:
        return None
    cached = cache.grants.get(grant_id)
    if cached and cached.opens(digest, now):
        return cached
    cache.looks.require()
    grant = stored.find(process.store, GRANT.key(grant_id), stored.or_none(Grant))
    if grant and grant.value and grant.value.grant_id == grant_id:
        cache.grants.put(grant_id, grant.value)
        if grant.value.opens(digest, now):
            return grant.value
    cache.looks.missed()
    cache.unknown.put(digest, None)
    return None

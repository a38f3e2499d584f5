"""How often tokens may be tried on the page of sign-in: five times for a request, twenty times an hour from an address.

A try takes a place before the token is looked at, and a right token gives it back. So tries at the same moment are
counted too. Places are kept in small documents by digest, which the sweep removes when they are a day old.
"""

import hashlib
import ipaddress
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from livemem import clock
from livemem.errors import LiveMemoryError, TooSoon
from livemem.process import Process
from livemem.store import stored
from livemem.store.bucket import WRONG_TOKENS
from livemem.store.stored import Revised
from livemem.store.stored_documents import LazyModel, Line, Moment

logger = logging.getLogger(__name__)

SPAN = timedelta(hours=1)
FOR_A_REQUEST = 5
FROM_AN_ADDRESS = 20
NETWORK_BITS = 64
"""Of an address of IPv6: a network of this size belongs to one subscriber."""


class TokenTry(LazyModel, frozen=True):
    """One token that was tried."""

    id: Line
    at: Moment


class Tries(Revised):
    """`_system/oauth/wrong/{digest}.json`: the tries of the last hour."""

    tries: list[TokenTry] = []


@contextmanager
def counted(process: Process, request: str, address: str) -> Iterator[None]:
    """Let a token be tried for a request (its digest) from an address: 2 GET and 2 PUT, twice that for a right token.

    Raises TooSoon instead if there were too many tries.
    """
    place = TokenTry(id=process.new_id(), at=clock.iso_millis(process.clock()))
    keys = [(WRONG_TOKENS.key(_digest("request", request)), FOR_A_REQUEST)]
    network = _network(address)
    if network:
        keys.append((WRONG_TOKENS.key(_digest("address", network)), FROM_AN_ADDRESS))
    for key, most in keys:
        _take(process, key, most, place)
    yield
    for key, _ in keys:
        _give_back(process, key, place)


def _take(process: Process, key: str, most: int, place: TokenTry) -> None:
    refused: list[TooSoon] = []

    def take(tries: Tries | None) -> Tries | None:
        refused.clear()
        now = process.clock()
        recent = [attempt for attempt in (tries or Tries()).tries if clock.parse(attempt.at) > now - SPAN]
        if any(attempt.id == place.id for attempt in recent):
            return None
        if len(recent) >= most:
            seconds = (min(clock.parse(attempt.at) for attempt in recent) + SPAN - now).total_seconds()
            refused.append(TooSoon("Too many wrong tokens. Try again later.", retry_after=max(1, math.ceil(seconds))))
            return None
        return Tries(tries=[*recent, place])

    stored.update(process.store, key, take, process.new_id, read=stored.or_empty(Tries))
    if refused:
        raise refused[0]


def _give_back(process: Process, key: str, place: TokenTry) -> None:
    def give_back(tries: Tries | None) -> Tries | None:
        remaining = [attempt for attempt in (tries or Tries()).tries if attempt.id != place.id]
        return Tries(tries=remaining) if tries and len(remaining) < len(tries.tries) else None

    try:
        stored.update(process.store, key, give_back, process.new_id, read=stored.or_empty(Tries))
    except LiveMemoryError as error:
        # It ends by time.
        logger.warning("a try was not given back", extra={"error_code": error.code})


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind} {text}".encode(errors="replace")).hexdigest()


def _network(address: str) -> str | None:
    """The network that tries are counted for. None for an address that is not of the internet: behind a proxy all
    clients have it, and one of them would lock out all others.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    if not ip.is_global:
        return None
    bits = NETWORK_BITS if ip.version == 6 else 32
    return str(ipaddress.ip_network(f"{ip}/{bits}", strict=False))

"""The client of an id: of its registration (RFC 7591), or of the https URL of the document that describes it.

An id *is* the registration, so nothing is stored. Anybody may register anything, so a registration proves nothing, and
a stored one would only be a way to fill the bucket.

The source for documents: draft-ietf-oauth-client-id-metadata-document-01. A document is fetched when it is first needed
(`outbound/public_fetch.py`), and kept for an hour at most: by each process, and in the bucket for all of them. Anybody
may name any URL. So a process fetches a few a second at most, and the bucket has a fixed number of places for them.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from livemem.access.look_rate import LookRate
from livemem.errors import PreconditionLost
from livemem.outbound.public_fetch import NotFetched
from livemem.process import Process, Timer
from livemem.signin.client_metadata import Client, described
from livemem.signin.refusal import Refused
from livemem.store import stored
from livemem.store.bucket import CLIENT_DOCUMENT
from livemem.store.cache import TimedCache
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Line

PREFIX = "lmc_"
ID_CHARACTERS = 2_000
URL_CHARACTERS = 500
IN_BUCKET = timedelta(minutes=50)
IN_PROCESS = 600
"""Seconds. Together with `IN_BUCKET` an hour."""
REFUSED = 30
"""For so many seconds a process does not try again what it could not fetch."""
MOST_CACHED = 1_000

_URL = re.compile(r"https://(?P<host>(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*)(?P<path>/[A-Za-z0-9._~:/?@!$&'()*+,;=%-]+)")


def register(metadata: Mapping[str, Any]) -> Client:
    """The client of a registration. No request. Raises Refused.

    Every such client is a public one, also one that asks for a secret. The answer says that (RFC 7591, 3.2.1).
    """
    client = described("", metadata)
    client_id = _encode(client.name, client.redirect_uris)
    if len(client_id) > ID_CHARACTERS:
        raise Refused("invalid_client_metadata", "The registration is too long: name fewer redirect addresses.")
    return replace(client, client_id=client_id)


def find(process: Process, client_id: str) -> Client:
    """The client of an id: the address of its document, or what `register` gave.

    Requests for a document: none for ten minutes, then 1 GET, and for one that the bucket does not have a fetch and 1
    PUT. Raises Refused, StoreUnavailable.
    """
    if client_id.startswith("https://"):
        return _find_document(process, client_id)
    try:
        if len(client_id) > ID_CHARACTERS or not client_id.startswith(PREFIX):
            raise ValueError
        text = client_id.removeprefix(PREFIX)
        name, uris = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        client = register({"client_name": name, "redirect_uris": uris})
    except (ValueError, TypeError, RecursionError, binascii.Error, Refused):
        raise Refused("invalid_client", "The client is not known: register it again.") from None
    if client.client_id != client_id:
        raise Refused("invalid_client", "The client is not known: register it again.")
    return client


def _encode(name: str, uris: tuple[str, ...]) -> str:
    text = json.dumps([name, list(uris)], separators=(",", ":")).encode()
    return PREFIX + base64.urlsafe_b64encode(text).decode().rstrip("=")


class ClientDocument(Revised):
    """`_system/oauth/documents/{place}.json`: the last document that was fetched for this place."""

    client_id: str
    client_name: Line
    redirect_uris: list[str]


class _Cache:
    """Clients of the last ten minutes, and why the last documents were refused."""

    def __init__(self, timer: Timer) -> None:
        self.clients = TimedCache[str, Client](MOST_CACHED, IN_PROCESS, timer)
        self.refused = TimedCache[str, Refused](MOST_CACHED, REFUSED, timer)
        self.fetches = LookRate(timer)


def _find_document(process: Process, url: str) -> Client:
    """The client whose document has this URL. Raises Refused, which tells the person what is wrong with it."""
    cache = process.cache(_Cache)
    if client := cache.clients.get(url):
        return client
    if refused := cache.refused.get(url):
        raise Refused(refused.reason, refused.detail)
    _check(url)
    key = CLIENT_DOCUMENT.key(hashlib.sha256(url.encode()).hexdigest())
    document = stored.find(process.store, key, stored.or_none(ClientDocument))
    try:
        client = _kept(document, url) or _fetched(process, cache, url, key, document)
    except Refused as error:
        if error.reason != "temporarily_unavailable":
            cache.refused.put(url, error)
        raise
    cache.clients.put(url, client)
    return client


def _check(url: str) -> None:
    """Raise Refused for a URL that no client may have as its id (section 3 of the draft)."""
    match = _URL.fullmatch(url) if len(url) <= URL_CHARACTERS else None
    if not match or {".", ".."} & set(match["path"].partition("?")[0].split("/")):
        raise Refused(
            "invalid_client",
            "The client's id is not the address of a document: https, a host name in lower case and ASCII, a path, and "
            "no port, user or fragment.",
        )


def _kept(document: Stored[ClientDocument | None] | None, url: str) -> Client | None:
    """The client of the bucket's document, if that is young and of this URL."""
    if not document or not document.value or document.value.client_id != url or document.age > IN_BUCKET:
        return None
    with suppress(Refused):
        return described(url, document.value.model_dump())
    return None


def _fetched(process: Process, cache: _Cache, url: str, key: str, existing: Stored[Any] | None) -> Client:
    if not cache.fetches.allowed():
        raise Refused("temporarily_unavailable", "Many clients sign in at the moment. Try again in a few seconds.")
    try:
        metadata = json.loads(process.fetch_document(url))
    except NotFetched as error:
        raise _unusable(url, str(error)) from None
    except (ValueError, RecursionError):
        raise _unusable(url, "its answer is not JSON") from None
    if not isinstance(metadata, dict) or metadata.get("client_id") != url:
        raise _unusable(url, "the document there is of another client_id")
    try:
        client = described(url, metadata)
        if not _is_public(metadata):
            raise Refused("invalid_client_metadata", "Only public clients: token_endpoint_auth_method must be none.")
    except Refused as error:
        raise _unusable(url, error.detail) from None
    document = ClientDocument(client_id=url, client_name=client.name, redirect_uris=list(client.redirect_uris))
    with suppress(PreconditionLost):
        stored.create(process.store, key, document, process.new_id, over=existing)
    return client


def _is_public(metadata: Mapping[str, Any]) -> bool:
    """Whether the client asks for tokens without a secret. ChatGPT prefers a signature, and offers `none` beside it."""
    methods = metadata.get("token_endpoint_auth_methods_supported")
    offered = methods if isinstance(methods, list) else ()
    return metadata.get("token_endpoint_auth_method", "none") == "none" or "none" in offered


def _unusable(url: str, why: str) -> Refused:
    host = url.split("/")[2]
    return Refused(
        "invalid_client", f"The client can't be known, because its document at {host} is of no use: {why.rstrip('.')}."
    )

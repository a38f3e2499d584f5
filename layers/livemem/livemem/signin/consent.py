"""From a client's request to a code: the request is checked, a person shows a token, and chooses spaces and rights.

The id of a client *is* its registration (RFC 7591), so nothing is stored. Anybody may register anything, so that proves
nothing, and a stored one would only be a way to fill the bucket. Or the id is the https URL of the document that
describes the client (draft-ietf-oauth-client-id-metadata-document-01). A document is fetched when it is first needed
(`outbound/public_fetch.py`), and kept for an hour at most: by each process, and in the bucket for all of them. Anybody
may name any URL. So a process fetches a few a second at most, and the bucket has a fixed number of places for them.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from livemem.access import decision
from livemem.access import registry as registries
from livemem.access.grant import same, token_digest
from livemem.access.look_rate import LookRate
from livemem.access.principal import Principal
from livemem.errors import Forbidden, PreconditionLost, Unauthenticated
from livemem.outbound.public_fetch import NotFetched
from livemem.process import Process, Timer
from livemem.signin.client_metadata import Client, described
from livemem.signin.refusal import Refused
from livemem.store import keys, stored
from livemem.store.bucket import ATTEMPT, CLIENT_DOCUMENT, CODE
from livemem.store.cache import TimedCache
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Line

SCOPES = ("read", "write")
"""What a client may ever get. Never `admin`."""
CONSENT = timedelta(minutes=10)
"""For so long after the token was shown the person may choose."""
STATE_CHARACTERS = 2_000
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
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
        self.clients = TimedCache[str, Client](MOST_CACHED, timer, seconds=IN_PROCESS)
        self.refused = TimedCache[str, Refused](MOST_CACHED, timer, seconds=REFUSED)
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


@dataclass(frozen=True)
class AuthorizationRequest:
    """What a client asks for (RFC 6749, 4.1.1; RFC 7636; RFC 8707)."""

    client_id: str
    redirect_uri: str
    state: str
    scope: tuple[str, ...]
    resource: str
    code_challenge: str

    def digest(self, nonce: str) -> str:
        """Of this request in the browser that has this nonce."""
        return hashlib.sha256(json.dumps([nonce, *astuple(self)]).encode()).hexdigest()


class TokenRefused(Forbidden):
    """The shown token is valid, but nobody can sign in with it, for this `reason`."""

    def __init__(self, reason: Literal["bootstrap", "replaced", "no_right"], detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Attempt(Revised):
    """`_system/oauth/attempts/{digest of the ticket}.json`: a valid token was shown for this request."""

    token_hash: Line
    request: Line


class Code(Revised):
    """`_system/oauth/codes/{digest}.json`: created once, and never changed."""

    grant_id: Line
    token_hash: Line
    client_id: str
    client_name: Line
    redirect_uri: str
    code_challenge: Line
    scope: list[Line]
    space_ids: list[Line]
    resource: str


def check_client(process: Process, params: Mapping[str, str]) -> tuple[Client, str]:
    """The client of a request, and where it wants the answer. Requests as `registration.find`.

    Raises Refused: then nobody is redirected. Raises StoreUnavailable.
    """
    client = find(process, params.get("client_id", ""))
    uri = params.get("redirect_uri", "")
    if not client.may_redirect(uri):
        raise Refused("invalid_request", "The address to return to is not one that the client has registered.")
    return client, uri


def check_request(params: Mapping[str, str], client: Client, uri: str, resource: str) -> AuthorizationRequest:
    """The request, once the client is known. `resource`: the address of `/mcp`. Raises Refused, which the client is
    told.
    """
    if params.get("response_type") != "code":
        raise Refused("unsupported_response_type", "response_type must be code.")
    challenge = params.get("code_challenge", "")
    if params.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise Refused("invalid_request", "PKCE with S256 is required.")
    if len(params.get("state", "")) > STATE_CHARACTERS:
        raise Refused("invalid_request", f"state has at most {STATE_CHARACTERS} characters.")
    names = params.get("scope", "").split()
    scope = tuple(right for right in SCOPES if right in names or not names)
    if not scope:
        raise Refused("invalid_scope", f"The scopes are {' and '.join(SCOPES)}.")
    check_resource(params.get("resource", ""), resource)
    return AuthorizationRequest(client.client_id, uri, params.get("state", ""), scope, resource, challenge)


def check_resource(uri: str, resource: str) -> None:
    """Raise Refused if a client names another resource than `/mcp`. Its query (`?space=demo`) is part of none."""
    if uri and uri.partition("?")[0].rstrip("/") != resource:
        raise Refused("invalid_target", f"The resource is {resource}.")


def show_token(process: Process, request: AuthorizationRequest, nonce: str, token: str, ticket: str) -> Principal:
    """Note that a person has shown a token for the request, under a new random `ticket`: 1 PUT, and the registry.

    Raises Unauthenticated, TokenRefused (the bootstrap key, a token that was replaced, or one without the rights asked
    for), RegistryUnreadable, StoreUnavailable.
    """
    principal = decision.authorise(process, f"Bearer {token}", needs=None, space_id=None)
    if principal.bootstrap or principal.token_hash is None:
        raise TokenRefused("bootstrap", "Sign in with a token of your own, not with the bootstrap key.")
    if principal.rotated:
        raise TokenRefused("replaced", "This token was replaced by another one. Sign in with that.")
    if not principal.permissions & set(request.scope):
        raise TokenRefused("no_right", "This token has none of the rights that are asked for.")
    note_shown(process, request, nonce, principal, ticket)
    return principal


def note_shown(process: Process, request: AuthorizationRequest, nonce: str, principal: Principal, ticket: str) -> None:
    """Note under a new random `ticket` that the person in this browser may use the token of this principal: 1 PUT.

    Raises StoreUnavailable, ConditionalWritesUnsupported.
    """
    require_conditional_writes(process.store)
    attempt = Attempt(token_hash=principal.token_hash or "", request=request.digest(nonce))
    stored.create(process.store, ATTEMPT.key(token_digest(ticket)), attempt, process.new_id)


def approve(
    process: Process,
    request: AuthorizationRequest,
    nonce: str,
    ticket: str,
    *,
    scope: Sequence[str],
    space_ids: Sequence[str],
    code: str,
) -> str:
    """Give the client the new random `code`, and return it: 1 GET and 1 PUT, and the registry. `space_ids` empty: all
    spaces of the token.

    Raises Unauthenticated (the ticket is unknown or too old, or the token is not valid any more), Forbidden (more than
    was asked for, or than the token may), RegistryUnreadable, StoreUnavailable.
    """
    token_hash = _shown(process, request, nonce, ticket)
    principal = principal_behind(process, token_hash)
    if not scope or not set(scope) <= principal.permissions & set(request.scope):
        raise Forbidden("Choose rights that the client asks for and your token has.")
    if not all(keys.SPACE_ID.fullmatch(space_id) and principal.may_see(space_id) for space_id in space_ids):
        raise Forbidden("Choose spaces that your token may use.")
    document = Code(
        grant_id=process.new_id(),
        token_hash=token_hash,
        client_id=request.client_id,
        client_name=find(process, request.client_id).name,
        redirect_uri=request.redirect_uri,
        code_challenge=request.code_challenge,
        scope=[right for right in SCOPES if right in scope],
        space_ids=sorted(set(space_ids)),
        resource=request.resource,
    )
    stored.create(process.store, CODE.key(token_digest(code)), document, process.new_id)
    return code


def holder(process: Process, request: AuthorizationRequest, nonce: str, ticket: str) -> Principal:
    """The person that has shown a token for the request: 1 GET, and the registry.

    Raises Unauthenticated, RegistryUnreadable, StoreUnavailable.
    """
    return principal_behind(process, _shown(process, request, nonce, ticket))


def _shown(process: Process, request: AuthorizationRequest, nonce: str, ticket: str) -> str:
    """The hash of the token that was shown. Raises Unauthenticated."""
    attempt = stored.find(process.store, ATTEMPT.key(token_digest(ticket)), stored.or_none(Attempt))
    if (
        not attempt
        or not attempt.value
        or attempt.age > CONSENT
        or not same(request.digest(nonce), attempt.value.request)
    ):
        raise Unauthenticated("This sign-in has ended. Begin again in the client.")
    return attempt.value.token_hash


def principal_behind(process: Process, token_hash: str) -> Principal:
    """The principal of a token that the registry knows by this hash. Raises Unauthenticated, RegistryUnreadable."""
    entry = registries.find(process, token_hash)
    if not entry:
        raise Unauthenticated("The token is not known any more.")
    return decision.principal_of(entry, process.clock())

"""From a client's request to a code: the request is checked, a person shows a token, and chooses spaces and rights."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import timedelta
from typing import Literal

from livemem.access import decision
from livemem.access import registry as registries
from livemem.access.grant import same, token_digest
from livemem.access.principal import Principal
from livemem.errors import Forbidden, Unauthenticated
from livemem.process import Process
from livemem.signin import registration
from livemem.signin.client_metadata import Client
from livemem.signin.refusal import Refused
from livemem.store import keys, stored
from livemem.store.bucket import ATTEMPT, CODE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised
from livemem.store.stored_documents import Line

SCOPES = ("read", "write")
"""What a client may ever get. Never `admin`."""
CONSENT = timedelta(minutes=10)
"""For so long after the token was shown the person may choose."""
STATE_CHARACTERS = 2_000
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


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
    client = registration.find(process, params.get("client_id", ""))
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
        client_name=registration.find(process, request.client_id).name,
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

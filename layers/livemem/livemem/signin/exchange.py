"""The token endpoint: a code becomes a grant, a refresh token becomes the next one, and a grant ends.

Tokens are not kept, and yet the same request gets the same answer: each token follows from the refresh token before it
and the grant's salt (HMAC). So clients that refresh from two places at once, or lose an answer, get on. Neither the
bucket nor an old token alone is enough to make a token.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock
from livemem.access.grant import GRANT_LIFE, Grant, grant_of, same, token_digest
from livemem.errors import PreconditionLost, Unauthenticated
from livemem.process import Process
from livemem.signin import client_metadata, consent
from livemem.signin.consent import Code
from livemem.signin.refusal import Refused
from livemem.store import stored
from livemem.store.bucket import CODE, GRANT, REDEEMED
from livemem.store.objects import Object
from livemem.store.stored import Revised

CODE_LIFE = timedelta(seconds=60)
ACCESS_LIFE = timedelta(hours=24)
"""Long, as many clients never refresh. The grant is looked up for each call anyway."""
TAG_CHARACTERS = 16
TOLD_IN = timedelta(seconds=1)
"""The store tells ages in whole seconds."""


@dataclass(frozen=True)
class Issued:
    """What a client gets. `seconds`: for how long the access token is valid."""

    access_token: str
    refresh_token: str
    seconds: int
    scope: tuple[str, ...]


class Redeemed(Revised):
    """`_system/oauth/redeemed/{digest of the code}.json`: created by the one request that may make the grant."""


def redeem(
    process: Process,
    code: str,
    *,
    client_id: str,
    redirect_uri: str,
    verifier: str,
    new_secret: Callable[[], str] = secrets.token_urlsafe,
) -> Issued:
    """Make the grant of a code: 1 GET and 2 PUT, and the registry. A code that comes again ends its grant. A request
    that came before the code was redeemed ends nothing: its client has sent it again meanwhile.

    Raises Refused (`invalid_grant`), RegistryUnreadable, StoreUnavailable.
    """
    digest, now = token_digest(code), process.clock()
    stored_code = stored.find(process.store, CODE.key(digest), stored.or_none(Code))
    grant_code = stored_code.value if stored_code else None
    if (
        not stored_code
        or not grant_code
        or grant_code.client_id != client_id
        or grant_code.redirect_uri != redirect_uri
    ):
        raise _unknown("The code")
    if not same(_challenge(verifier), grant_code.code_challenge):
        raise Refused("invalid_grant", "The code_verifier does not fit.")
    grant = _grant(grant_code, now, new_secret())
    try:
        stored.create(process.store, REDEEMED.key(digest), Redeemed(), process.new_id)
    except PreconditionLost:
        mark = stored.find(process.store, REDEEMED.key(digest), stored.or_none(Redeemed))
        if not mark or process.clock() - now <= mark.age + TOLD_IN:
            # RFC 6749, 4.1.2: whoever has the code twice is not only the client.
            _end(process, grant_code.grant_id, grant)
        raise _unknown("The code") from None
    if stored_code.age > CODE_LIFE:
        raise _unknown("The code")
    _check_token(process, grant_code.token_hash)
    refresh = _with_tag(grant, new_secret())
    grant = _issue(grant, refresh, now)
    with stored.race(lost=_unknown("The code")):
        stored.create(process.store, GRANT.key(grant.grant_id), grant, process.new_id)
    return _issued(grant, refresh, now)


def refresh(process: Process, token: str, *, client_id: str) -> Issued:
    """The next tokens of a grant: 1 GET and 1 PUT, and the registry. The same request within a minute gets the same
    answer: 1 GET. A refresh token from before that ends the grant, unless the request came before the present tokens
    were made: then its client has sent it again meanwhile, and was faster with that.

    Raises Refused (`invalid_grant`), RegistryUnreadable, StoreUnavailable, PreconditionLost.
    """
    grant_id = grant_of(token)
    if grant_id is None or not token.startswith("lmr_"):
        raise _unknown("The refresh token")
    digest, now = token_digest(token), process.clock()
    was_present = False

    def change(grant: Grant | None) -> Grant | None:
        nonlocal was_present
        if not grant or grant.is_over(now) or grant.client_id != client_id:
            raise _unknown("The refresh token")
        if same(digest, grant.refresh_hash):
            was_present = True
            _check_token(process, grant.token_hash)
            return _issue(grant, _next(grant, token), process.clock())
        if same(digest, grant.previous_refresh_hash) and grant.in_grace(now):
            return None
        if not _is_own(grant, token) or was_present or now < clock.parse(grant.issued_at):
            raise _unknown("The refresh token")
        return grant.model_copy(update={"revoked": True})

    saved = stored.update(process.store, GRANT.key(grant_id), change, process.new_id, read=_readable)
    if not saved or saved.value.revoked:
        raise _unknown("The refresh token")
    return _issued(saved.value, _next(saved.value, token), process.clock())


def revoke(process: Process, token: str) -> None:
    """End the grant of an access or refresh token (RFC 7009): 1 GET and 1 PUT. An unknown one changes nothing.

    Raises Refused (the grant can't be read), StoreUnavailable, PreconditionLost.
    """
    grant_id, digest = grant_of(token), token_digest(token)
    if grant_id is None:
        return

    def change(grant: Grant | None) -> Grant | None:
        if not grant or grant.revoked:
            return None
        hashes = (grant.access_hash, grant.previous_access_hash, grant.refresh_hash, grant.previous_refresh_hash)
        is_known = any(same(digest, token_hash) for token_hash in hashes) or (
            token.startswith("lmr_") and _is_own(grant, token)
        )
        return grant.model_copy(update={"revoked": True}) if is_known else None

    stored.update(process.store, GRANT.key(grant_id), change, process.new_id, read=_readable)


def _end(process: Process, grant_id: str, otherwise: Grant) -> None:
    """Revoke the grant. One that is not yet there is created as a revoked one, so that it never comes to be."""

    def change(grant: Grant | None) -> Grant | None:
        return None if grant and grant.revoked else (grant or otherwise).model_copy(update={"revoked": True})

    stored.update(process.store, GRANT.key(grant_id), change, process.new_id, read=_readable)


def _readable(item: Object) -> Grant:
    try:
        return Grant.from_bytes(item.body)
    except ValueError:
        raise _unknown("The grant") from None


def _check_token(process: Process, token_hash: str) -> None:
    try:
        consent.principal_behind(process, token_hash)
    except Unauthenticated as error:
        raise Refused("invalid_grant", error.detail) from None


def _unknown(what: str) -> Refused:
    return Refused("invalid_grant", f"{what} is not known, was used, or has ended. Sign in again.")


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode(errors="replace")).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _grant(code: Code, now: datetime, salt: str) -> Grant:
    moment = clock.iso_millis(now)
    return Grant(
        **code.model_dump(include={"grant_id", "token_hash", "client_id", "client_name", "scope", "space_ids"}),
        redirect_host=client_metadata.redirect_host(code.redirect_uri),
        resource=code.resource,
        salt=salt,
        created_at=moment,
        issued_at=moment,
        access_ends_at=clock.iso_millis(now + ACCESS_LIFE),
        ends_at=clock.iso_millis(now + GRANT_LIFE),
    )


def _issue(grant: Grant, refresh_token: str, now: datetime) -> Grant:
    """The grant with this refresh token and the access token that follows from it."""
    return grant.model_copy(
        update={
            "previous_access_hash": grant.access_hash,
            "previous_refresh_hash": grant.refresh_hash,
            "access_hash": token_digest(_access(grant, refresh_token)),
            "refresh_hash": token_digest(refresh_token),
            "generation": grant.generation + 1,
            "issued_at": clock.iso_millis(now),
            "access_ends_at": clock.iso_millis(now + ACCESS_LIFE),
            "ends_at": clock.iso_millis(now + GRANT_LIFE),
        }
    )


def _issued(grant: Grant, refresh_token: str, now: datetime) -> Issued:
    seconds = max(int((clock.parse(grant.access_ends_at) - now).total_seconds()), 1)
    return Issued(_access(grant, refresh_token), refresh_token, seconds, tuple(grant.scope))


def _mac(grant: Grant, what: str, text: str) -> str:
    mac = hmac.digest(grant.salt.encode(), f"{what} {text}".encode(errors="replace"), "sha256")
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def _access(grant: Grant, refresh_token: str) -> str:
    return f"lma_{grant.grant_id}_{_mac(grant, 'access', refresh_token)}"


def _next(grant: Grant, refresh_token: str) -> str:
    return _with_tag(grant, _mac(grant, "refresh", refresh_token))


def _with_tag(grant: Grant, secret: str) -> str:
    """A refresh token. Its tag shows later that it was one of this grant, so that no guess can end the grant."""
    begin = f"lmr_{grant.grant_id}_{secret}"
    return begin + _mac(grant, "tag", begin)[:TAG_CHARACTERS]


def _is_own(grant: Grant, token: str) -> bool:
    return same(_mac(grant, "tag", token[:-TAG_CHARACTERS])[:TAG_CHARACTERS], token[-TAG_CHARACTERS:])

"""The outside provider (OpenID Connect), as a client of it: what it publishes, where a person goes, whom it names.

What it publishes is read when it is first needed and kept for an hour. The operator has chosen the provider. It is
trusted to say who a person is, and with nothing else: its answers are bounded in time and size, its addresses must be
https, and no redirect is followed. Its token counts only with a signature by a pair of keys, of those alone that it
publishes. Source: OpenID Connect Core 1.0 (3.1.3.7 for the token), Discovery 1.0.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx2

from livemem.access.grant import same
from livemem.access.look_rate import LookRate
from livemem.background import within
from livemem.errors import NotConfigured, ProviderFailed
from livemem.outbound import secret_parameter
from livemem.outbound.http_client import TooMuch, http_client
from livemem.outbound.secret_parameter import SecretUnreadable
from livemem.process import Process, Timer
from livemem.settings import LOOPBACK, Settings
from livemem.store.cache import TimedCache

SECONDS = 5.0
"""For each request to the provider, in all."""
MOST_BYTES = 256 * 1024
KEPT_SECONDS = 3_600
CONFIGURATION = "/.well-known/openid-configuration"
ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY = 60
"""Seconds by which the provider's clock may be off."""
MOST_CHARACTERS = 32_000


@dataclass(frozen=True)
class Provider:
    """What the provider publishes of itself. `algorithms`: those of its tokens that are taken."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    algorithms: tuple[str, ...]
    takes_basic: bool
    """Whether it takes the client's secret in a header."""
    names_itself: bool
    """Whether it says who it is when a person comes back (RFC 9207)."""


@dataclass(frozen=True)
class Login:
    """A person's way to the provider and back. `secret`: random, of 256 bits, in a cookie and shown to nobody else.

    All of its secrets follow from that one, so the service stores nothing of it. A sign-in that one person begins does
    not end in another person's browser. A code of another sign-in has another verifier and another nonce.
    """

    secret: str

    @property
    def state(self) -> str:
        """What the provider hands back with the person."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the provider's token must hold."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What proves to the provider that a code comes from where it was asked for (RFC 7636)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    def is_of(self, state: str) -> bool:
        """Whether the person comes back from this way."""
        return same(state, self.state)

    def _derived(self, what: str) -> str:
        return _text(hmac.digest(self.secret.encode(errors="replace"), what.encode(), "sha256"))


class _Cache:
    """The provider and its keys."""

    def __init__(self, timer: Timer) -> None:
        self.providers = TimedCache[str, Provider](1, timer, seconds=KEPT_SECONDS)
        self.keys = TimedCache[str, Sequence[Mapping[str, Any]]](1, timer, seconds=KEPT_SECONDS)
        self.looks = LookRate(timer)


def authorization_url(process: Process, login: Login, callback: str) -> str:
    """Where a person goes to sign in with the provider. Raises ProviderFailed, NotConfigured."""
    provider, settings = _provider(process), process.settings
    sent = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": callback,
        "scope": settings.oidc_scope,
        "state": login.state,
        "nonce": login.nonce,
        "code_challenge": login.challenge,
        "code_challenge_method": "S256",
    }
    joint = "&" if urlsplit(provider.authorization_endpoint).query else "?"
    return f"{provider.authorization_endpoint}{joint}{urlencode(sent)}"


def claims(process: Process, login: Login, came: Mapping[str, str], callback: str) -> dict[str, Any]:
    """What the provider says of the person who came back with these parameters: 1 to 4 requests to it.

    Raises ProviderFailed, NotConfigured.
    """
    provider = _provider(process)
    issuer = came.get("iss")
    if (issuer or provider.names_itself) and issuer != provider.issuer:
        # RFC 9207, 2.4: the answer of another provider (mix-up).
        raise ProviderFailed("The answer is not of the sign-in provider that was asked.")
    if "error" in came:
        raise ProviderFailed("The sign-in provider did not let you in.")
    issued = _redeem(process, provider, login, came.get("code", ""), callback)
    token, access = issued.get("id_token"), issued.get("access_token")
    if not isinstance(token, str):
        raise ProviderFailed("The sign-in provider did not say who you are (no id_token).")
    person = _validated(process, provider, token, login)
    claim = process.settings.oidc_claim
    needed = {claim, "email_verified"} if claim == "email" else {claim}
    if not needed <= person.keys() and provider.userinfo_endpoint and isinstance(access, str):
        more = _userinfo(provider, access, str(person["sub"]))
        # An address and whether it is verified come from one place.
        person |= {name: more.get(name) for name in needed}
    return person


def _provider(process: Process) -> Provider:
    settings, cache = process.settings, process.cache(_Cache)
    issuer = settings.oidc_issuer
    if not issuer or not settings.oidc_client_id:
        raise NotConfigured("OIDC_ISSUER and OIDC_CLIENT_ID are set together.")
    if cached := cache.providers.get(issuer):
        return cached
    metadata = _json(_request("GET", f"{issuer.rstrip('/')}{CONFIGURATION}"))
    if metadata.get("issuer") != issuer:
        raise ProviderFailed("The sign-in provider publishes another issuer than OIDC_ISSUER.")
    provider = Provider(
        issuer,
        _endpoint(issuer, metadata, "authorization_endpoint"),
        _endpoint(issuer, metadata, "token_endpoint"),
        _endpoint(issuer, metadata, "jwks_uri"),
        _endpoint(issuer, metadata, "userinfo_endpoint") if metadata.get("userinfo_endpoint") else None,
        accepted(metadata.get("id_token_signing_alg_values_supported")),
        # Without the list only the header is certain (Discovery 1.0, 3).
        "client_secret_basic" in (metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]),
        metadata.get("authorization_response_iss_parameter_supported") is True,
    )
    cache.providers.put(issuer, provider)
    return provider


def _endpoint(issuer: str, metadata: Mapping[str, Any], name: str) -> str:
    url = metadata.get(name)
    try:
        parts = urlsplit(url) if isinstance(url, str) and url.isascii() and url.isprintable() else None
        local = urlsplit(issuer).hostname in LOOPBACK
        if not parts or not parts.hostname or "@" in parts.netloc or parts.fragment:
            raise ValueError
        if parts.scheme != "https" and not (local and parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError
    except ValueError:
        raise ProviderFailed(f"The sign-in provider publishes no usable {name}.") from None
    return str(url)


def _redeem(process: Process, provider: Provider, login: Login, code: str, callback: str) -> Mapping[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback,
        "code_verifier": login.verifier,
        "client_id": process.settings.oidc_client_id,
    }
    secret = _secret(process.settings)
    auth = None
    if secret and provider.takes_basic:
        # RFC 6749, 2.3.1: both are encoded as a form before they become a header.
        auth = (quote_plus(form["client_id"]), quote_plus(secret))
    elif secret:
        form["client_secret"] = secret
    answer = _request("POST", provider.token_endpoint, data=form, auth=auth)
    if answer.status_code in (400, 401, 403):
        raise ProviderFailed(
            "The sign-in provider refuses the code. Begin again in the client. "
            "If this happens again, OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is wrong."
        )
    return _json(answer)


def _secret(settings: Settings) -> str:
    try:
        return secret_parameter.read(settings.oidc_client_secret, "sign-in provider's secret")
    except SecretUnreadable as error:
        raise NotConfigured(str(error)) from None


def _validated(process: Process, provider: Provider, token: str, login: Login) -> dict[str, Any]:
    """The claims of the token. The keys are read again where the token's own is not among them."""
    cache = process.cache(_Cache)
    keys = cache.keys.get(provider.jwks_uri)
    if keys is None or (key_of(token, keys) is None and cache.looks.allowed()):
        keys = _json(_request("GET", provider.jwks_uri)).get("keys")
        keys = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
        cache.keys.put(provider.jwks_uri, keys)
    try:
        return validated(
            token,
            keys,
            algorithms=provider.algorithms,
            issuer=provider.issuer,
            client_id=process.settings.oidc_client_id,
            nonce=login.nonce,
        )
    except IdTokenInvalid as error:
        raise ProviderFailed(f"The sign-in provider's token is not valid: {error}.") from error


def _userinfo(provider: Provider, access: str, subject: str) -> dict[str, Any]:
    """More of the same person, from providers whose tokens are thin. Without it what the token says is all."""
    answer = _request("GET", provider.userinfo_endpoint or "", headers={"Authorization": f"Bearer {access}"})
    info = _json(answer)
    if info.get("sub") != subject:
        raise ProviderFailed("The sign-in provider names two different people.")
    return info


def _request(method: str, url: str, **sent: Any) -> httpx2.Response:
    client = http_client(SECONDS, MOST_BYTES)
    headers = {"Accept": "application/json", **sent.pop("headers", {})}
    try:
        return within(SECONDS, lambda: client.request(method, url, headers=headers, **sent))
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, TooMuch, ValueError) as error:
        raise ProviderFailed("The sign-in provider does not answer. Try again, or show a token.") from error
    finally:
        client.close()


def _json(answer: httpx2.Response) -> dict[str, Any]:
    try:
        content = json.loads(answer.content) if answer.status_code == 200 else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ProviderFailed("The sign-in provider does not answer as one. Try again, or show a token.")
    return content


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class IdTokenInvalid(Exception):
    """The token is not valid. The text says why, as the end of a sentence."""


def accepted(published: object) -> tuple[str, ...]:
    """The algorithms that are taken of those that the provider publishes. RS256 if it publishes none."""
    published = ["RS256"] if published is None else published
    return tuple(algorithm for algorithm in ASYMMETRIC if isinstance(published, list) and algorithm in published)


def key_of(token: str, keys: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The key that the token names, or the only one for signatures if it names none."""
    import jwt  # noqa: PLC0415 - nobody signs in with a provider in most services

    try:
        key_id = jwt.get_unverified_header(token).get("kid")
    except jwt.PyJWTError:
        return None
    usable = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]
    if key_id is None:
        return usable[0] if len(usable) == 1 else None
    return next((key for key in usable if key.get("kid") == key_id), None)


def validated(
    token: str,
    keys: Sequence[Mapping[str, Any]],
    *,
    algorithms: Sequence[str],
    issuer: str,
    client_id: str,
    nonce: str,
) -> dict[str, Any]:
    """The claims of a valid token. Raises IdTokenInvalid."""
    import jwt  # noqa: PLC0415

    if len(token) > MOST_CHARACTERS:
        raise IdTokenInvalid("it is too long")
    key = key_of(token, keys)
    if key is None:
        raise IdTokenInvalid("none of the provider's keys has signed it")
    try:
        algorithm = jwt.get_unverified_header(token).get("alg")
        if algorithm not in algorithms or key.get("alg", algorithm) != algorithm:
            raise IdTokenInvalid("it is not signed as the provider says that it signs")
        claims: dict[str, Any] = jwt.decode(
            token,
            jwt.PyJWK(dict(key), algorithm),
            algorithms=[algorithm],
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"], "enforce_minimum_key_length": True},
        )
    except jwt.ExpiredSignatureError as error:
        raise IdTokenInvalid("it has expired") from error
    except (jwt.InvalidAudienceError, jwt.InvalidIssuerError) as error:
        raise IdTokenInvalid("it is of another issuer, or for another client") from error
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise IdTokenInvalid("its signature or its content is not valid") from error
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise IdTokenInvalid("it is of another issuer, or for another client")
    if not same(str(claims["nonce"]), nonce):
        raise IdTokenInvalid("it is not of this sign-in")
    return claims

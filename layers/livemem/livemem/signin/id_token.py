"""The token in which the outside provider says who a person is, checked by PyJWT (OpenID Connect Core 1.0, 3.1.3.7).

Only signatures with a pair of keys count, and of them those alone that the provider publishes. A token without a
signature, or with a shared secret as its key, is none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from livemem.access.grant import same

ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY = 60
"""Seconds by which the provider's clock may be off."""
MOST_CHARACTERS = 32_000


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

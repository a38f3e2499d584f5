"""How a token is made, and the hash by which the registry knows it."""

import hashlib
import secrets

PREFIX = "lm_"
ALGORITHM = "sha256"


def new() -> str:
    """A new token of 256 random bits: `lm_` and 43 URL-safe characters."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: bytes) -> str:
    """How the registry knows a token: `sha256:` and 64 hex digits."""
    return f"{ALGORITHM}:{hashlib.sha256(token).hexdigest()}"


def rotation_digest(key: str) -> str:
    """How a rotated token's entry knows the Idempotency-Key of its rotation: 64 hex digits."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()

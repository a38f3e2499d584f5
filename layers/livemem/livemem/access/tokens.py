"""Making tokens: 256 random bits, shown once; the registry holds their SHA-256 alone."""

import hashlib
import secrets
from collections.abc import Sequence

from livemem import clock
from livemem.access import registry as registries
from livemem.access.principal import PERMISSIONS
from livemem.access.registry import Token
from livemem.errors import InvalidRequest
from livemem.process import Process
from livemem.store import keys

PREFIX = "lm_"


def new_secret() -> str:
    """A new token: `lm_` and 43 URL-safe characters."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: bytes) -> str:
    """How the registry knows a token: `sha256:` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(token).hexdigest()


def create(process: Process, secret: str, *, name: str, permissions: Sequence[str], space_ids: Sequence[str]) -> Token:
    """Enter a token into the registry; `space_ids` empty means all spaces.

    Raises InvalidName, InvalidRequest (naming the field), RegistryUnreadable, PreconditionLost.
    """
    keys.check_agent(name)
    for space_id in space_ids:
        keys.check_space_id(space_id)
    if not permissions or not set(permissions) <= set(PERMISSIONS):
        raise InvalidRequest.of("permissions", f"must be some of {', '.join(PERMISSIONS)}")
    token = Token(
        hash=digest(secret.encode()),
        name=name,
        permissions=sorted(set(permissions), key=PERMISSIONS.index),
        space_ids=list(dict.fromkeys(space_ids)),
        created_at=clock.iso(process.clock()),
    )
    registries.add(process, token)
    return token

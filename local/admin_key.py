"""The bootstrap key as the functions know it: by its SHA-256."""

import hashlib
from collections.abc import Mapping

VARIABLE = "ADMIN_BOOTSTRAP_KEY_SHA256"


def sha256(key: str) -> str:
    """The 64 hex digits of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def given_hash(variables: Mapping[str, str]) -> str | None:
    """Those of the key that is set by its variable, or by that of its hash; None if a key is to be made."""
    key = variables.get("ADMIN_BOOTSTRAP_KEY")
    return variables.get(VARIABLE) or (sha256(key) if key else None)

"""Tokens of a service under test, written into its registry as they lie there."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from tests.support.policy import BUCKET
from tests.support.service import Service

TOKEN = "lm_" + "a1B2-c3_" * 5 + "xyz"
"""As long as a real one."""
REGISTRY = "_system/tokens.json"
ALL = ("read", "write", "admin")


def entry(
    secret: str = TOKEN, permissions: Sequence[str] = ALL, space_ids: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """An entry of the registry; no `space_ids`: all spaces."""
    digest = "sha256:" + sha256(secret.encode()).hexdigest()
    known = {"hash": digest, "name": "ann", "permissions": [*permissions], "space_ids": [*space_ids]}
    return {**known, "created_at": "2026-01-01T00:00:00Z", **more}


def write_registry(service: Service, *entries: dict[str, Any]) -> None:
    """Put a registry with these entries; every function starts anew, so that none knows the one before."""
    write_raw(service, json.dumps({"version": 1, "tokens": entries}).encode())


def write_raw(service: Service, body: bytes) -> None:
    """Put whatever is to lie in the registry's place."""
    service.s3.put_object(Bucket=BUCKET, Key=REGISTRY, Body=body)
    service.modules.clear()

"""All routes of all functions, and a request for each."""

from typing import Any

from scripts.openapi import HTTP_FUNCTIONS, load
from tests.support.functions import request
from tests.support.world import BOOTSTRAP_KEY

VALUES = {
    "space_id": "mine",
    "note_id": "20260220T140000_ann_todo_00000000",
    "number": "1",
    "path": "a/b.md",
    "token_hash": "0123456789abcdef",
    "connection_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "backup_id": "2026-02-20T02-00-00",
    "conversation_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "memory_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "room": "general",
    "slot": "20260220T140000",
    "turn_index": "1",
    "level": "1",
    "n": "1",
    "job": "mine.backup.2026-02-20T02-00-00",
}
ROUTES = [(function, key) for function in HTTP_FUNCTIONS for key in sorted(load(function).api.needs)]
"""(function, `GET /v1/...`) of each."""


def good(key: str, token: str | None = BOOTSTRAP_KEY, **changed: str) -> dict[str, Any]:
    """An event for a route, as API Gateway sends it; `changed` are other values of the names in its path."""
    method, _, template = key.partition(" ")
    values = {**VALUES, **changed}
    places = [name for name in VALUES if f"{{{name}}}" in key or f"{{{name}+}}" in key]
    path: dict[str, Any] = {name: values[name] for name in places}
    return request(method, template, token=token, **path)

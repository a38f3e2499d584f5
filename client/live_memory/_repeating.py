"""Decides which requests are sent again, and when. A request that could be carried out twice is never sent again."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from live_memory.errors import LiveMemoryError
from live_memory.operations import Operation

_AT_FIRST_SECONDS = 0.25
_AT_MOST_SECONDS = 8.0
_LONGEST_WAIT_SECONDS = 60
"""Seconds. If the service asks for a longer wait, the caller gets the error and decides."""

_SAFE_CHANGES = frozenset(
    {
        # Both set a state.
        "patch_space",
        "patch_token",
        # The second request finds the work done, or makes something that nobody will use.
        "close_conversation",
        "create_upload",
        "create_export",
    }
)
_NAMED = frozenset({"append_message", "append_turn", "post_message"})


def named(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with a `message_id` for each message that has none, so that it can be repeated."""
    if operation.name not in _NAMED:
        return dict(body)
    if isinstance(items := body.get("items"), list):
        return {**body, "items": [_with_id(item) if isinstance(item, dict) else item for item in items]}
    return _with_id(body)


def is_repeatable(operation: Operation, body: Mapping[str, Any]) -> bool:
    """Whether a second request does nothing that the first has not done.

    These are requests that read, replace or remove, that have an Idempotency-Key, or whose messages all have ids.
    """
    if operation.method in ("GET", "PUT", "DELETE") or operation.takes_key:
        return True
    if operation.name in _NAMED:
        return bool(body.get("message_id") or body.get("items"))
    return operation.name in _SAFE_CHANGES


def _with_id(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "message_id": message.get("message_id") or os.urandom(16).hex()}


def _chance() -> float:
    # To load `random` takes longer than a hook has, and a hook sends nothing again.
    import random  # noqa: PLC0415

    return random.random()  # noqa: S311 - it decides when to come back, and nothing else


@dataclass(frozen=True)
class Policy:
    """How often and when a request is sent again."""

    retries: int
    chance: Callable[[], float] = _chance
    """From 0 to 1; clients that lost their connections together must not all return together."""

    def pause(self, error: LiveMemoryError, *, repeatable: bool, tries: int) -> float | None:
        """Seconds until the next try; None: there is none.

        Args:
            error: what became of the last try.
            repeatable: whether the request may be carried out twice.
            tries: how many there were.
        """
        # A request that did not reach the service, or was refused, was not carried out, whether repeatable or not.
        if not error.curable or not (repeatable or error.code == "no_connection" or error.status == 429):
            return None
        # The caller must look at a conflict.
        if error.status == 409 or tries > self.retries:
            return None
        if error.retry_after is not None:
            # Clients return after the wait, but not all at once.
            return error.retry_after + self.chance() if error.retry_after <= _LONGEST_WAIT_SECONDS else None
        ceiling: float = min(_AT_MOST_SECONDS, _AT_FIRST_SECONDS * 2.0 ** (tries - 1))
        return ceiling * (0.5 + self.chance() / 2)

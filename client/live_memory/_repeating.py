"""What may be sent again, and when: never what could be done twice."""

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from live_memory.errors import LiveMemoryError
from live_memory.operations import Operation

_AT_FIRST_SECONDS = 0.25
_AT_MOST_SECONDS = 8.0
_LONGEST_WAIT_SECONDS = 60
"""What asks for more patience than this is told to the caller, who knows what else there is to do."""

_SAFE_CHANGES = frozenset(
    {
        # Both say how something is to be.
        "patch_space",
        "patch_token",
        # The second finds it done, or makes what nobody will use.
        "close_conversation",
        "create_upload",
        "purge_tokens",
        "revoke_token",
        # Each line has a name of its own.
        "import_turns",
    }
)
_NAMED = frozenset({"append_message", "append_turn", "post_message"})
_NAMED_LISTS = {"post_messages": "messages"}


def named(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with a `message_id` for each message that has none, so that it can be repeated."""
    if operation.name in _NAMED:
        return _with_id(body)
    several = _NAMED_LISTS.get(operation.name)
    if several and isinstance(body.get(several), list):
        return {**body, several: [_with_id(one) if isinstance(one, dict) else one for one in body[several]]}
    return dict(body)


def is_repeatable(operation: Operation, body: Mapping[str, Any]) -> bool:
    """Whether a second request does nothing that the first has not done.

    All that reads, replaces or removes; what has an Idempotency-Key; messages that have ids, and they all have.
    """
    if operation.method in ("GET", "PUT", "DELETE") or operation.takes_key:
        return True
    if operation.name in _NAMED:
        return bool(body.get("message_id"))
    return operation.name in _SAFE_CHANGES or operation.name in _NAMED_LISTS


def _with_id(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "message_id": message.get("message_id") or secrets.token_hex(16)}


@dataclass(frozen=True)
class Policy:
    """How often and when a request is sent again."""

    retries: int
    chance: Callable[[], float] = random.random
    """From 0 to 1; all clients that were cut off at once must not come back at once."""

    def pause(self, error: LiveMemoryError, *, repeatable: bool, tries: int) -> float | None:
        """Seconds until the next try; None: there is none.

        Args:
            error: what became of the last try.
            repeatable: whether the request may be carried out twice.
            tries: how many there were.
        """
        # A request that did not get through, or was turned away, was not carried out, whatever it is.
        if not error.curable or not (repeatable or error.code == "no_connection" or error.status == 429):
            return None
        # A conflict is for the caller to look at.
        if error.status == 409 or tries > self.retries:
            return None
        if error.retry_after is not None:
            # Not before it is over, nor all at once.
            return error.retry_after + self.chance() if error.retry_after <= _LONGEST_WAIT_SECONDS else None
        ceiling: float = min(_AT_MOST_SECONDS, _AT_FIRST_SECONDS * 2.0 ** (tries - 1))
        return ceiling * (0.5 + self.chance() / 2)

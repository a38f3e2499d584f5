"""Importing turns: several of them in one call."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from livemem.conversations import log
from livemem.conversations.turn import Draft
from livemem.errors import InvalidRequest, StoreUnavailable
from livemem.process import Process

MANY = 50
"""New turns of one call for which the indexer is asked."""
MOST = 2_000
"""Turns of one call: about 1 MiB of short messages."""


@dataclass(frozen=True)
class Imported:
    """How many turns were appended, how many were there already, and the newest turn. `left` counts those for which
    there was no time. The caller sends all again, or those alone.
    """

    imported: int
    repeated: int
    last_turn: int
    left: int = 0
    redacted: dict[str, int] = field(default_factory=dict, hash=False)
    """Counts of the secrets that were removed, by kind."""


def take_in(
    process: Process,
    space_id: str,
    conversation_id: str,
    author: str,
    drafts: Sequence[Draft],
    until: datetime | None = None,
) -> Imported:
    """Append the turns in their order, as many as the time until `until` allows. Turns whose `message_id` is known
    already stay as they are.

    All are checked before the first is written. 1 round trip for each. Many new ones are indexed at once, so that no
    search has to read them one by one. Raises NotFound, InvalidRequest.
    """
    if not drafts:
        raise InvalidRequest.of("items", "must have at least one turn")
    drafts = [_prepared(draft, f"items.{place}.") for place, draft in enumerate(drafts)]
    appended = log.append_all(process, space_id, conversation_id, author, drafts, until)
    fresh = sum(item.fresh for item in appended)
    newest = max((item.turn.turn_index for item in appended), default=0)
    if fresh >= MANY:
        # Without this the first search asks for it.
        with suppress(StoreUnavailable):
            process.enqueue("indexer", {"space_id": space_id})
    redacted = sum((Counter(item.redacted) for item in appended), Counter())
    return Imported(fresh, len(appended) - fresh, newest, len(drafts) - len(appended), dict(sorted(redacted.items())))


def _prepared(draft: Draft, where: str) -> Draft:
    if draft.message_id is None:
        raise InvalidRequest.of(f"{where}message_id", "is required, so that the import can be repeated")
    return log.prepare(draft, where)

"""A pause between two runs of a space that are started by hand, so that a faulty loop can't ask the LLM again and
again.

An object of its own names the run that was started last. It is changed by compare-and-swap: of many callers that start
a run at once, one succeeds. Its age is counted by the store's clock.
"""

import math

from livemem.errors import PreconditionLost, TooSoon
from livemem.process import Process
from livemem.store import stored
from livemem.store.bucket import STARTED_BY_HAND
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised


class Started(Revised):
    """`_runs/by_hand.json`: the run that was started by hand last."""

    run_id: str


def claim(process: Process, space_id: str, run_id: str) -> None:
    """Take the space's turn for a run by hand: 1 GET, 1 PUT; none where there is no pause. Raises TooSoon."""
    seconds = process.settings.consolidation_cooldown_seconds
    if not seconds:
        return
    require_conditional_writes(process.store)
    key = STARTED_BY_HAND.key(space_id)
    # The content of the document is for people.
    last = stored.find(process.store, key, stored.or_none(Started))
    if last and last.age.total_seconds() < seconds:
        raise _too_soon(seconds, seconds - last.age.total_seconds())
    try:
        stored.create(process.store, key, Started(run_id=run_id), process.new_id, over=last)
    except PreconditionLost:
        raise _too_soon(seconds, seconds) from None


def _too_soon(seconds: int, seconds_ago: float) -> TooSoon:
    return TooSoon(
        f"A run of this space was started by hand less than {seconds} s ago. Wait, or read that run.",
        retry_after=max(math.ceil(seconds_ago), 1),
    )

"""The brake on what the LLM may cost on a day: no call is made once the tokens of its day are used up.

Before a call its tokens are reserved: those of the prompt, and as many as the answer may have. A call is made while
what was used and what others have reserved is below the budget. So the call that crosses the line is still made, but no
second call beside it. When the call has ended, the tokens that it used replace the reservation. The reservation of a
dead worker ends by time, and counts as its prompt.

For the budget of a space that is one compare-and-swap. For the budget of the service each call reserves first and looks
then. Of two calls at once the one that looks last sees both. A call that finds the budget used up withdraws. If only
later calls use it up, the call waits a moment for them to withdraw.

A call of a run belongs to the day (UTC) on which the run was queued, every other one to the day on which it is made. A
failure of the brake fails no work: where the used tokens can't be read, the call is made.
"""

import logging
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from livemem import clock as clocks
from livemem.errors import LiveMemoryError, RunError
from livemem.jobs.lease import BACKOFF_LONGEST
from livemem.llm.client import MAY_COST, LlmError, Reply
from livemem.llm.tool_calling import ToolReply
from livemem.llm.usage import Usage
from livemem.llm.window import BYTES_PER_TOKEN
from livemem.process import Process
from livemem.spaces import totals, usage_counts
from livemem.spaces.totals import Reservation, Totals
from livemem.store import timing

logger = logging.getLogger(__name__)

EXHAUSTED = "token_budget_exhausted"
"""The code of the error of work for which its day has no tokens left."""
ANSWER_TOKENS = 4_000
"""Tokens reserved for an answer that nothing bounds (LLMAAS_MAX_TOKENS): more than most answers have."""
LOOKS = 6
PAUSE = 0.25
"""Seconds, at least, between two looks whether later calls have withdrawn."""
OF_ALL = "all spaces together", "LLM_DAILY_TOKEN_BUDGET"
OF_SPACE = "this space", "LLM_DAILY_TOKEN_BUDGET_PER_SPACE"


@dataclass
class Meter:
    """The calls of one piece of work. Each call is reserved before it is made. `used` counts the calls so far."""

    process: Process
    space_id: str
    day: date
    call_id: str
    """The id under which the calls are reserved, and counted once."""
    later: str
    """A sentence for the user: what happens to the work when the tokens are used up."""
    used: Usage = field(default_factory=Usage)
    _prompt: int = 0
    _tokens: int = 0
    _asking: int | None = None

    def before_call(self, prompt: int, limit: int | None, seconds: float) -> None:
        """Reserve the next call: `prompt` in tokens, `limit` of the answer's tokens, `seconds` that the call may take.
        Without a budget, or if the call is reserved already: no request. Else 1 PUT, 1 GET unless this process wrote
        last, and for the service's budget 1 LIST and at most 15 GETs.

        Raises RunError where the day's tokens are used up.
        """
        if self._asking is not None:
            return
        now = self.process.clock()
        self._prompt += prompt
        self._tokens += prompt + (ANSWER_TOKENS if limit is None else limit)
        reservation = Reservation(
            space_id=self.space_id,
            prompt=self._prompt,
            tokens=self._tokens,
            until=clocks.iso(now + timedelta(seconds=max(seconds, 0.0)) + timing.MARGIN),
        )
        _reserve(self, reservation)
        self._asking = prompt

    def answered(self, reply: Reply | ToolReply) -> None:
        """Count the tokens that the provider reports, or an estimate from the text that the model has written."""
        estimate = (self._asking or 0) + reply.written // BYTES_PER_TOKEN
        self._end(Usage.of_call(reply.usage, estimate, cut=reply.cut))

    def failed(self, error: LlmError) -> None:
        """Count a call that failed: the model may have worked for it all the same."""
        self._end(Usage.of_call(error.usage, (self._asking or 0) if error.code in MAY_COST else 0))

    def _end(self, used: Usage) -> None:
        self._asking = None
        self.used += used

    def settle(self) -> None:
        """Count the used tokens: 1 PUT, 1 GET unless this process wrote last. No request where no call was made."""
        if self._asking is not None:
            # It ended in a way that tells nothing.
            self._end(Usage(calls=1, estimated_tokens=self._asking))
        usage_counts.end_call(self.process, self.day, self.space_id, self.call_id, self.used)


@contextmanager
def metered(process: Process, space_id: str, later: str) -> Iterator[Meter]:
    """Calls of the LLM that count for this day. They are counted at the end, when their answers are stored."""
    meter = Meter(process, space_id, process.clock().date(), process.new_id(), later)
    try:
        yield meter
    finally:
        meter.settle()


def _reserve(meter: Meter, reservation: Reservation) -> None:
    """Raise RunError if the day's tokens are used up, the service's or the space's."""
    process, day, call_id = meter.process, meter.day, meter.call_id
    settings = process.settings
    of_all, of_space = settings.llm_daily_token_budget, settings.llm_daily_token_budget_per_space
    if not of_all and not of_space:
        return
    try:
        settled = totals.least_settled(process, day)
        refused = _said(day, OF_ALL, settled, 0, of_all) if of_all and settled >= of_all else None
        refused = refused or _reserve_in_space(process, day, call_id, reservation, of_space)
        if not refused and of_all:
            refused = _look_at_all(process, day, call_id, reservation.space_id, of_all)
    except LiveMemoryError as error:
        logger.warning(
            "the budget could not be read", extra={"space_id": reservation.space_id, "error_code": error.code}
        )
        return
    if refused:
        raise RunError(EXHAUSTED, f"{refused} {meter.later}")


def _said(day: date, of: tuple[str, str], used: int, reserved: int, limit: int) -> str:
    under_way = f", and calls in progress may use {reserved} more" if reserved else ""
    return f"On {day} (UTC) {of[0]} used {used} of {limit} tokens of the LLM ({of[1]}){under_way}."


def _reserve_in_space(process: Process, day: date, call_id: str, reservation: Reservation, limit: int) -> str | None:
    """Write the reservation, and return None. If the space's budget is used up, return a sentence that says so."""
    refused: list[str] = []

    def make(day_totals: Totals) -> Totals | None:
        refused.clear()
        if call_id in day_totals.recent:
            # A late worker: the run has ended, and is counted.
            return None
        now, used = process.clock(), day_totals.settled(reservation.space_id)
        reserved = sum(day_totals.reserved(now, reservation.space_id, but=call_id).values())
        if limit and used + reserved >= limit:
            refused.append(_said(day, OF_SPACE, used, reserved, limit))
            return None
        return totals.opened(day_totals, call_id, reservation, now)

    totals.change(process, day, reservation.space_id, make)
    if refused:
        # The version that this process saw last may be old: other calls have ended since.
        totals.change(process, day, reservation.space_id, make, fresh=True)
    return refused[0] if refused else None


def _look_at_all(process: Process, day: date, call_id: str, space_id: str, limit: int) -> str | None:
    """None if the service's budget has room for the call. Else withdraw the reservation and return the reason."""
    for look in range(LOOKS):
        shards, now = totals.of_day(process, day), process.clock()
        used = sum(shard.settled() for shard in shards)
        reserved = {other: tokens for shard in shards for other, tokens in shard.reserved(now, but=call_id).items()}
        if used + sum(reserved.values()) < limit:
            return None
        if used + sum(tokens for other, tokens in reserved.items() if other < call_id) >= limit:
            break
        process.store.sleep(PAUSE * (1 + zlib.crc32(f"{call_id}{look}".encode()) / 2**32))
    # If the withdrawal fails, the reservation ends by time.
    with suppress(LiveMemoryError):
        totals.change(process, day, space_id, lambda shard: totals.closed(shard, call_id))
    return _said(day, OF_ALL, used, sum(reserved.values()), limit)


def pause(process: Process, moment: datetime) -> timedelta | None:
    """How long automatic work of this moment's day waits when the tokens are used up: until the next day (UTC), at most
    an hour, in case the budget is raised. None if the next day has begun already.
    """
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    rest = day + timedelta(days=1) - process.clock()
    return min(rest, BACKOFF_LONGEST) if rest > timedelta() else None

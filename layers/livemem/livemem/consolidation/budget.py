"""The brake on what the LLM may cost on a day: a run is not begun once the tokens of its day are used up.

A run belongs to the day (UTC) on which it was queued. The call that crosses the line is still made, and so are those
that are under way then: as many as the function has slots.
"""

from datetime import date, datetime, timedelta

from livemem import clock as clocks
from livemem.errors import RunError
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.runs.run import BUDGET_EXHAUSTED, Run
from livemem.spaces import usage
from livemem.spaces.lease import BACKOFF_LONGEST

FOLDED_LATER = "The notes are live; they are folded on the next day, or as soon as there is more."


def check(process: Process, run: Run) -> None:
    """Raise RunError if the tokens of the run's day are used up, the service's or the space's (`check_day`)."""
    check_day(process, run.space_id, clocks.parse(run.queued_at).date(), FOLDED_LATER)


def check_day(process: Process, space_id: str, day: date, later: str) -> None:
    """Raise RunError if the day's tokens are used up, the service's or the space's; `later` says what becomes of what
    was to be done.

    No request without a budget; else 1 LIST per 1,000 runs of the day, and 1 GET for each that this process has not
    seen to have ended.
    """
    settings = process.settings
    limits = settings.llm_daily_token_budget, settings.llm_daily_token_budget_per_space
    if not any(limits):
        return
    whole = bool(settings.llm_daily_token_budget)
    used = usage.read(process, usage.runs_of(process, [day], None if whole else space_id))
    of_space = sum((use.usage for one, use in used.items() if one.space_id == space_id), Usage()).tokens
    of_all = sum((use.usage for use in used.values()), Usage()).tokens
    for spent, limit, whose, name in (
        (of_all, limits[0], "all spaces together", "LLM_DAILY_TOKEN_BUDGET"),
        (of_space, limits[1], "this space", "LLM_DAILY_TOKEN_BUDGET_PER_SPACE"),
    ):
        if limit and spent >= limit:
            raise RunError(
                BUDGET_EXHAUSTED,
                f"On {day} (UTC) {whose} used {spent} of {limit} tokens of the LLM ({name}). {later}",
            )


def pause(process: Process, moment: datetime) -> timedelta | None:
    """For how long automatic work of this moment's day waits then: until the next day (UTC), or an hour, in case that
    there is more. None if that has begun already.
    """
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    left = day + timedelta(days=1) - process.clock()
    return min(left, BACKOFF_LONGEST) if left > timedelta() else None

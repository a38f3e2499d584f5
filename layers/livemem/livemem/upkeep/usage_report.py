"""What the LLM was used for, by day: of a space, or of all that the caller may see."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import InvalidRequest
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import totals, usage_counts
from livemem.spaces.totals import Budget, Sums
from livemem.store import keys

DAYS_DEFAULT = 7
SHOWN_SPACES = 100
"""Spaces that a report names: those that used most."""


@dataclass(frozen=True)
class UsageOfDays:
    """`days`: each day from the first to the last, those without runs too. `spaces`: the 100 that used most."""

    days: Mapping[date, Sums]
    total: Sums
    spaces: Mapping[str, Sums]
    budget: Budget


def read(process: Process, caller: Principal, space_id: str | None, *, days: int, until: date | None) -> UsageOfDays:
    """The report of a space, for so many days up to `until` (UTC; None: today): 1 GET a day.

    Without a space, of all that the caller may see, with those that are deleted since: 1 LIST a day, and at most 16
    GETs. A caller who may see some spaces only is shown no budget. Raises Forbidden, NotFound, InvalidRequest.
    """
    budget = process.settings.llm_daily_token_budget_per_space
    if space_id is None:
        decision.check_permission(caller, "admin")
        budget = 0 if caller.space_ids else process.settings.llm_daily_token_budget
    else:
        decision.check_space(process, caller, keys.check_space_id(space_id))
        heads.load_recent(process, space_id)
    today = process.clock().date()
    wanted = _days(days, until or today)

    def of_day(day: date) -> dict[str, Sums]:
        if space_id is not None:
            sums = totals.of_space(process, day, space_id).by_space()
            return {space_id: sums[space_id]} if space_id in sums else {}
        documents = totals.of_day(process, day)
        return {name: sums for item in documents for name, sums in item.by_space().items() if caller.may_see(name)}

    asked = list(dict.fromkeys([*wanted, today]))
    by_day = dict(zip(asked, process.store.map(of_day, asked), strict=True))
    by_space: dict[str, Sums] = {}
    for day in wanted:
        for name, sums in by_day[day].items():
            by_space[name] = by_space.get(name, Sums()).plus(sums)
    most = sorted(by_space, key=lambda name: (-by_space[name].usage.tokens, name))[:SHOWN_SPACES]
    return UsageOfDays(
        days={day: totals.together(by_day[day].values()) for day in wanted},
        total=totals.together(by_space.values()),
        spaces={name: by_space[name] for name in most},
        budget=Budget(budget or None, totals.together(by_day[today].values()).usage.tokens),
    )


def _days(days: int, until: date) -> list[date]:
    """So many days up to `until`, in their order; raises InvalidRequest."""
    if not 1 <= days <= usage_counts.KEPT_DAYS:
        raise InvalidRequest.of("days", f"must be from 1 to {usage_counts.KEPT_DAYS}")
    try:
        return [until - timedelta(days=back) for back in reversed(range(days))]
    except OverflowError:
        raise InvalidRequest.of("until", "is too early: `days` would begin before the year 1") from None

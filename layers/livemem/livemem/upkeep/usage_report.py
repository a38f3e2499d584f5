"""What the LLM was used for, by day: of a space, or of all that the caller may see."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from livemem.access.principal import Principal
from livemem.errors import InvalidRequest
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import totals, usage_counts
from livemem.spaces.totals import Sums

DAYS_DEFAULT = 7
SHOWN_SPACES = 100
"""Spaces that a report names: those that used most."""


@dataclass(frozen=True)
class Budget:
    """What may be used on a day (UTC), None where there is no limit, and what was used of it today."""

    tokens_per_day: int | None
    used_today: int

    @property
    def exhausted(self) -> bool:
        """Whether no further call is made today."""
        return self.tokens_per_day is not None and self.used_today >= self.tokens_per_day


@dataclass(frozen=True)
class UsageOfDays:
    """`days`: each day from the first to the last, those without runs too. `spaces`: the 100 that used most."""

    days: Mapping[date, Sums]
    total: Sums
    spaces: Mapping[str, Sums]
    budget: Budget


def of_space(process: Process, space_id: str, *, days: int, until: date | None) -> UsageOfDays:
    """The report of a space, for so many days up to `until` (UTC; None: today): 1 GET a day.

    Raises NotFound, InvalidRequest.
    """
    heads.load_recent(process, space_id)
    today = process.clock().date()
    wanted = _days(days, until or today)
    asked = list(dict.fromkeys([*wanted, today]))
    results = process.store.map(lambda day: totals.of_space(process, day, space_id).by_space(), asked)
    by_day = {day: {space_id: item[space_id]} for day, item in zip(asked, results, strict=True) if space_id in item}
    return _report(by_day, wanted, today, process.settings.llm_daily_token_budget_per_space)


def of_all(process: Process, caller: Principal, *, days: int, until: date | None) -> UsageOfDays:
    """The same of all spaces that the caller may see, with those that are deleted since: 1 LIST a day, and at most 16
    GETs.

    The budget is the service's, so a caller who may see some spaces only is shown none.
    """
    today = process.clock().date()
    wanted = _days(days, until or today)
    asked = list(dict.fromkeys([*wanted, today]))
    results = process.store.map(lambda day: totals.of_day(process, day), asked)
    by_day = {
        day: {name: sums for document in batch for name, sums in document.by_space().items() if caller.may_see(name)}
        for day, batch in zip(asked, results, strict=True)
    }
    return _report(by_day, wanted, today, 0 if caller.space_ids else process.settings.llm_daily_token_budget)


def service_budget(process: Process) -> Budget:
    """What of the service's budget is used today: 1 LIST, and at most 16 GETs."""
    result = totals.of_day(process, process.clock().date())
    used = _together(sums for item in result for sums in item.by_space().values())
    return Budget(process.settings.llm_daily_token_budget or None, used.usage.tokens)


def _report(by_day: Mapping[date, Mapping[str, Sums]], dates: list[date], today: date, limit: int) -> UsageOfDays:
    shown = {day: by_day.get(day, {}) for day in dates}
    by_space: dict[str, Sums] = {}
    for batch in shown.values():
        for name, sums in batch.items():
            by_space[name] = by_space.get(name, Sums()).plus(sums)
    most = sorted(by_space, key=lambda name: (-by_space[name].usage.tokens, name))[:SHOWN_SPACES]
    return UsageOfDays(
        days={day: _together(group.values()) for day, group in shown.items()},
        total=_together(by_space.values()),
        spaces={name: by_space[name] for name in most},
        budget=Budget(limit or None, _together(by_day.get(today, {}).values()).usage.tokens),
    )


def _days(days: int, until: date) -> list[date]:
    """So many days up to `until`, in their order; raises InvalidRequest."""
    if not 1 <= days <= usage_counts.KEPT_DAYS:
        raise InvalidRequest.of("days", f"must be from 1 to {usage_counts.KEPT_DAYS}")
    try:
        return [until - timedelta(days=back) for back in reversed(range(days))]
    except OverflowError:
        raise InvalidRequest.of("until", "is too early: `days` would begin before the year 1") from None


def _together(parts: Iterable[Sums]) -> Sums:
    whole = Sums()
    for sums in parts:
        whole = whole.plus(sums)
    return whole

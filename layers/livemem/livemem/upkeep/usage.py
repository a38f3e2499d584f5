"""What the LLM was used for, by day: of a space, or of all that the caller may see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TypeVar

from livemem.access.principal import Principal
from livemem.errors import InvalidRequest
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import usage
from livemem.spaces.usage import Entered, RunUse

K = TypeVar("K")

DAYS_DEFAULT = 7
SHOWN_SPACES = 100
"""Spaces that a report names: those that used most."""


@dataclass(frozen=True)
class Sum:
    """Runs that were started, those of them that failed, notes that they folded, and what they asked of the LLM."""

    runs: int = 0
    failed_runs: int = 0
    notes: int = 0
    usage: Usage = field(default_factory=Usage)


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
class Report:
    """`days`: each day from the first to the last, those without runs too. `spaces`: the 100 that used most."""

    days: Mapping[date, Sum]
    total: Sum
    spaces: Mapping[str, Sum]
    budget: Budget


def of_space(process: Process, space_id: str, *, days: int, until: date | None) -> Report:
    """The report of a space, for so many days up to `until` (UTC; None: today): 1 LIST a day and 1 GET a run.

    Raises NotFound, InvalidRequest, AnswerTooLarge.
    """
    heads.load_recent(process, space_id)
    limit = process.settings.llm_daily_token_budget_per_space
    return _report(process, days, until, limit, lambda one: one.space_id == space_id, space_id)


def of_all(process: Process, caller: Principal, *, days: int, until: date | None) -> Report:
    """The same of all spaces that the caller may see, with those that are deleted since.

    The budget is the service's, so who may see some spaces only is told of none.
    """
    limit = 0 if caller.space_ids else process.settings.llm_daily_token_budget
    return _report(process, days, until, limit, lambda one: caller.may_see(one.space_id), None)


def service_budget(process: Process) -> Budget:
    """What of the service's budget is used today: 1 LIST, and 1 GET for each run of today that may still change."""
    used = usage.read(process, usage.runs_of(process, [process.clock().date()]))
    limit = process.settings.llm_daily_token_budget
    return Budget(limit or None, sum(use.usage.tokens for use in used.values()))


def _report(
    process: Process,
    days: int,
    until: date | None,
    limit: int,
    counts: Callable[[Entered], bool],
    space_id: str | None,
) -> Report:
    today = process.clock().date()
    wanted = _days(days, until or today)
    entered = usage.runs_of(process, list(dict.fromkeys([*wanted, today])), space_id)
    used = usage.read(process, [one for one in entered if counts(one)])
    by_day = _sums(used, lambda one: one.day)
    shown = {one: use for one, use in used.items() if wanted[0] <= one.day <= wanted[-1]}
    by_space = _sums(shown, lambda one: one.space_id)
    most = sorted(by_space, key=lambda name: (-by_space[name].usage.tokens, name))[:SHOWN_SPACES]
    return Report(
        days={day: by_day.get(day, Sum()) for day in wanted},
        total=_sums(shown, lambda _: "").get("", Sum()),
        spaces={name: by_space[name] for name in most},
        budget=Budget(limit or None, by_day.get(today, Sum()).usage.tokens),
    )


def _days(days: int, until: date) -> list[date]:
    """So many days up to `until`, in their order; raises InvalidRequest."""
    if not 1 <= days <= usage.KEPT_DAYS:
        raise InvalidRequest.of("days", f"must be from 1 to {usage.KEPT_DAYS}")
    try:
        return [until - timedelta(days=back) for back in reversed(range(days))]
    except OverflowError:
        raise InvalidRequest.of("until", "must be a day on which there was a service") from None


def _sums(used: Mapping[Entered, RunUse], group: Callable[[Entered], K]) -> dict[K, Sum]:
    sums: dict[K, Sum] = {}
    for one, use in used.items():
        so_far = sums.get(group(one), Sum())
        sums[group(one)] = Sum(
            so_far.runs + 1, so_far.failed_runs + use.failed, so_far.notes + use.notes, so_far.usage + use.usage
        )
    return sums

"""The usage of the LLM, as answers."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from livemem_http.views.fields import SpaceId, View, described

if TYPE_CHECKING:
    from livemem.spaces.totals import Budget, Sums
    from livemem.upkeep.usage_report import UsageOfDays

Day = Annotated[str, described("A day, UTC.", "2026-02-20", format="date")]


class Used(View):
    """The work of runs and its cost."""

    runs: Annotated[
        int,
        described("Number of runs that have ended or wait for approval. Runs with nothing to do are not counted.", 3),
    ]
    failed_runs: Annotated[int, described("Number of these runs that failed.", 0)]
    notes: Annotated[int, described("Number of notes that these runs folded.", 60)]
    calls: Annotated[int, described("Number of LLM calls.", 3)]
    prompt_tokens: Annotated[int, described("Number of prompt tokens, as counted by the provider.", 45_000)]
    completion_tokens: Annotated[int, described("Number of completion tokens, as counted by the provider.", 9_000)]
    estimated_tokens: Annotated[
        int,
        described(
            "Estimated number of tokens of calls that the provider did not count, because they timed out or died.", 0
        ),
    ]
    tokens: Annotated[int, described("Total number of tokens.", 54_000)]

    date: Annotated[Day | None, Field(description="The day on which the runs were queued, UTC, in a list of days.")] = (
        None
    )
    space_id: Annotated[SpaceId | None, Field(description="The space, in a list of spaces.")] = None

    @classmethod
    def of(cls, sums: "Sums", *, date: str | None = None, space_id: str | None = None) -> "Used":
        used = sums.usage
        return cls(
            runs=sums.runs,
            failed_runs=sums.failed_runs,
            notes=sums.notes,
            calls=used.calls,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            estimated_tokens=used.estimated_tokens,
            tokens=used.tokens,
            date=date,
            space_id=space_id,
        )


class BudgetView(View):
    """The daily budget, and the part of it that was used today (UTC)."""

    tokens_per_day: Annotated[int | None, described("The limit of tokens per day. Left out: no limit.", 1_000_000)] = (
        None
    )
    used_today: Annotated[int, described("Number of tokens used today.", 54_000)]
    exhausted: Annotated[bool, described("Whether runs fail with `token_budget_exhausted` until tomorrow.", False)]

    @classmethod
    def of(cls, budget: "Budget") -> "BudgetView":
        return cls(tokens_per_day=budget.tokens_per_day, used_today=budget.used_today, exhausted=budget.exhausted)


class UsageReport(View):
    """The usage of the LLM by day, of a space or of all spaces that the token may see."""

    items: Annotated[list[Used], described("The days in their order, including days without runs.")]
    total: Annotated[Used, described("The totals of these days.")]
    budget: Annotated[BudgetView, described("The daily budget. A token with a list of spaces does not see the limit.")]
    spaces: Annotated[list[Used], described("The spaces with the highest usage, at most 100, the highest first.")]

    @classmethod
    def of(cls, report: "UsageOfDays") -> "UsageReport":
        return cls(
            items=[Used.of(sums, date=str(day)) for day, sums in report.days.items()],
            total=Used.of(report.total),
            budget=BudgetView.of(report.budget),
            spaces=[Used.of(sums, space_id=name) for name, sums in report.spaces.items()],
        )

"""What a played day costs and how it went, as tables: by operation, in all, by what was changed, and for a year."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from benchmarks.scale.account import ALL
from benchmarks.scale.day import BEGIN, HOUR, ZONES, Load, Play
from benchmarks.scale.land import BUSY, LOOP, REST, VERY_BUSY, Mix
from benchmarks.scale.tally import dollars

STORED = 0.023
"""Dollars of a GB and month in S3."""
FIXED = 7.30 + 12.30 + 3.00
"""Dollars a month of alarms, metrics and a dashboard (docs/deploy.md)."""
IN, OUT = 1e-6, 4e-6
"""Dollars of a token of the prompt and of the answer, as docs/deploy.md assumes."""
DEAR = ("PUT", "LIST", "COPY")
SCHEDULED = ("the sweep of what is due", "the daily sweep", "the night", "the look at digests")
"""Operations that go through all spaces, so that they are there once, however many spaces are busy."""


@dataclass(frozen=True)
class Operation:
    """What an operation took on a day, of all spaces."""

    name: str
    invocations: float
    requests: Mapping[str, float]
    s3: float
    rest: float
    """The part of `s3` for spaces at rest."""
    other: float


class Report:
    """The numbers of a day: what was played for one of `share` busy spaces counts so often."""

    def __init__(self, played: Play) -> None:
        self.played, self.share = played, played.load.share

    @cached_property
    def operations(self) -> list[Operation]:
        """The dearest first."""
        names = {*self.played.account.bills, *(name for name, _ in self.played.account.tally.owned)}
        found = [self._operation(name) for name in names]
        return sorted(found, key=lambda one: -one.s3 - one.other)

    def _operation(self, name: str) -> Operation:
        tally, bill = self.played.account.tally, self.played.account.bills[name]
        of_all = name in SCHEDULED
        by_sort = {sort: asked for (who, sort), asked in tally.owned.items() if who == name}
        requests: Counter[str] = Counter()
        for sort, asked in by_sort.items():
            often = self._often(sort, of_all=of_all)
            requests.update({verb: count * often for verb, count in asked.items()})
        raw = sum(asked.total() for asked in by_sort.values())
        # Functions are not billed by space. So they count as their requests do.
        times = requests.total() / raw if raw else float(self.share)
        invocations = bill.invocations * (1 if of_all else times)
        rest = dollars(by_sort.get(REST, Counter()))
        return Operation(name, invocations, requests, dollars(requests), rest, bill.dollars * times)

    def _often(self, sort: str, *, of_all: bool = True) -> int:
        """How many times a request about a space of this sort counts. All spaces at rest are played, and the tenant in
        a loop is one. A schedule (`of_all`) lists all spaces once, however many of them are busy.
        """
        if sort in (BUSY, VERY_BUSY):
            return self.share
        return 1 if of_all or sort in (REST, LOOP) else self.share

    @property
    def cost(self) -> float:
        """Dollars of the day without the LLM and what is stored."""
        return sum(one.s3 + one.other for one in self.operations)

    @property
    def at_rest(self) -> float:
        """Those of spaces at rest: their requests, and as large a part of the schedules' functions."""
        return sum(one.rest + one.other * one.rest / one.s3 for one in self.operations if one.rest)

    @property
    def llm(self) -> float:
        """Dollars of the LLM. The tenant in a loop is one."""
        model, once = self.played.model, self.played.of_loop
        tokens = self.share * model.tokens - (self.share - 1) * once["llm_prompt_tokens"]
        return tokens * IN + (self.share * model.written - (self.share - 1) * once["llm_completion_tokens"]) * OUT

    def stored(self, sizes: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Objects and bytes of all spaces."""
        counted = [
            (count * times, size * times) for sort, (count, size) in sizes.items() for times in [self._often(sort)]
        ]
        return sum(count for count, _ in counted), sum(size for _, size in counted)

    def peak(self, what: str) -> tuple[int, str]:
        """The most reads or writes in one second below one prefix. Prefixes of all spaces count `share` times."""
        peaks = self.played.account.tally.peaks[what]
        return max((count * (self.share if prefix.startswith("_") else 1), prefix) for prefix, count in peaks.items())

    @property
    def throttled(self) -> int:
        """Requests that S3, Lambda or the API refused."""
        return self.share * self.played.account.throttled.total() + self.played.account.tally.throttled


def operations(report: Report) -> Iterator[str]:
    """The table of a day's operations."""
    yield "| operation | invocations | PUT, LIST, COPY | GET | S3 $ | Lambda, API, logs $ | sum $ |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for one in report.operations:
        dear, cheap = sum(one.requests.get(verb, 0) for verb in DEAR), one.requests.get("GET", 0)
        row = f"{one.invocations:,.0f} | {dear:,.0f} | {cheap:,.0f} | {one.s3:.2f} | {one.other:.2f}"
        yield f"| {one.name} | {row} | {one.s3 + one.other:.2f} |"
    yield f"| **all** | | | | | | **{report.cost:.2f}** |"


def concurrency(report: Report) -> Iterator[str]:
    """The table of functions: how many at once, and how long events waited."""
    yield "| function | at once | events | waited p50 s | p99 s |"
    yield "|---|---:|---:|---:|---:|"
    account, share = report.played.account, report.share
    for name, most in account.peak.most_common():
        waits = sorted(account.waits[name])
        times = f"{waits[len(waits) // 2]:.0f} | {waits[int(len(waits) * 0.99)]:.0f}" if waits else "| "
        scaled = most if name == "sweep" else most * share
        yield f"| {name if name == ALL else f'`{name}`'} | {scaled:,} | {len(waits) * share:,} | {times} |"


def longest(report: Report, function: str) -> float:
    """Seconds that an event of the function waited at most for a slot."""
    return max(report.played.account.waits[function], default=0.0)


def summary(name: str, report: Report) -> str:
    """A row of the table of days."""
    played = report.played
    objects, size = report.stored(played.after)
    reads, writes = report.peak("reads"), report.peak("writes")
    row = [
        name,
        f"{report.cost:.2f}",
        f"{report.at_rest:.2f}",
        f"{report.llm:.2f}",
        f"{played.percentile(0.5):.0f}",
        f"{played.percentile(0.99):.0f}",
        f"{longest(report, 'digest'):.0f}",
        f"{longest(report, 'backup'):.0f}",
        f"{played.account.peak[ALL] * report.share:,}",
        f"{reads[0]:,} / {writes[0]:,}",
        f"{report.throttled:,}",
        f"{played.left * report.share:,}",
        f"{objects:,}",
        f"{size / 1e9:.2f}",
    ]
    return f"| {' | '.join(row)} |"


WHOLE = Load()
"""10,000 spaces."""
SMALL = Load(
    mix=Mix(500, 50, 5),
    share=5,
    times_more=5,
    slots=dict.fromkeys(("consolidate", "summarize", "digest", "backup", "ask"), 5),
    llm_a_minute=150,
)
"""A stack with the template's own slots, so that a day of it is played in a minute or two."""
DAYS: Mapping[str, Load] = {
    "a day": SMALL,
    "10 times the notes": replace(SMALL, notes=600),
    "the LLM is down from 10:00 to 16:00": replace(SMALL, llm_down=(4 * HOUR, 10 * HOUR)),
    "all digests at the same hours": replace(SMALL, zones=ZONES[:1]),
    "one tenant in a loop: a note and a search every 5 seconds": replace(SMALL, loop=7_200),
}
HEAD = (
    (
        "| | $ without LLM | of that at rest | LLM $ | note to bank p50 s | p99 s | a digest waits at most s | "
        "a backup s | invocations at once | reads / writes a second below a prefix | throttled | left | objects | GB |"
    ),
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def day(load: Load = WHOLE) -> Iterator[str]:
    """All tables of one day."""
    report = Report(Play(load).play())
    yield from HEAD
    yield summary("a day", report)
    yield ""
    yield from operations(report)
    yield ""
    yield from concurrency(report)
    yield ""
    yield from year(report)
    failed = {name: count for name, count in report.played.account.failed.items() if count}
    given_up = dict(report.played.account.given_up)
    yield f"Answers that were errors: {failed or 'none'}. Events given up: {given_up or 'none'}."


def tenfold() -> Iterator[str]:
    """The same day of 10,000 spaces with 10 times the notes."""
    yield from HEAD
    yield summary("10 times the notes", Report(Play(replace(WHOLE, notes=10 * WHOLE.notes)).play()))


def days(loads: Mapping[str, Load] = DAYS) -> Iterator[str]:
    """A day of a small stack, and the same with one thing changed."""
    yield from HEAD
    for name, load in loads.items():
        yield summary(name, Report(Play(load).play()))


def year(report: Report) -> Iterator[str]:
    """What a year costs, if each day is like this one. Storage grows day by day; former versions are not counted."""
    objects, size = report.stored(report.played.before)
    later, grown = report.stored(report.played.after)
    added = (grown - size) / 1e9
    stored = sum((size / 1e9 + added * 30.4 * month) * STORED for month in range(1, 13))
    yield "| a year | |"
    yield "|---|---:|"
    yield f"| requests and functions, $ | {365 * report.cost:,.0f} |"
    yield f"| storage, $ | {stored:,.0f} |"
    yield f"| alarms, metrics, dashboard, $ | {12 * FIXED:,.0f} |"
    yield f"| LLM, $ | {365 * report.llm:,.0f} |"
    yield f"| objects at its end | {objects + 365 * (later - objects):,} |"
    yield f"| GB at its end | {size / 1e9 + 365 * added:,.0f} |"
    yield f"The day begins on {BEGIN:%Y-%m-%d %H:%M} UTC."

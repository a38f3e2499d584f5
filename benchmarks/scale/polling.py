"""1,000 tokens of one tenant that ask for a bank file each second, beside another tenant's agent that does the same and
writes a note each second.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.scale import aws, land
from benchmarks.scale.account import ALL, Account, with_rates
from benchmarks.scale.land import BUSY, Mix, names
from benchmarks.scale.tally import dollars
from benchmarks.scale.virtual import Schedule
from livemem.access import decision, secret
from livemem.access.registry import Registry, Token
from livemem.bank import files
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.process import Process
from livemem.store.bucket import TOKENS
from tests.support.template import read_template

SECONDS = 60
WARM = 30
"""Seconds after which the flood is an old one."""
TRIES = 3
"""Of the other agent's request, as the client library makes them."""


@dataclass(frozen=True)
class Polling:
    """Who polls, and the limits. `most` is RequestsPerSpacePerSecond. `reads_at_once` is the reserved concurrency of
    reads, 0 for none.
    """

    tokens: int = 1_000
    api_rate: float = 2_000
    most: int = 50
    reads_at_once: int = 0
    seconds: int = SECONDS


@dataclass
class Polled:
    """What became of the requests, and what they cost."""

    answered: Counter[int] = field(default_factory=Counter)
    """Requests of the polling tenant that were answered, by second."""
    reads: Counter[bool] = field(default_factory=Counter)
    """First tries of the other tenant's agent: whether they were answered."""
    notes: Counter[bool] = field(default_factory=Counter)
    """The same of its notes."""
    lost: int = 0
    """Of both: what was not answered after further tries."""
    at_once: int = 0
    at_once_later: int = 0
    """The most invocations at once, in the first `WARM` seconds and later."""
    dollars_an_hour: float = 0.0
    """By the requests after the first `WARM` seconds."""


class _Play:
    def __init__(self, polling: Polling) -> None:
        self.polling, self.found = polling, Polled()
        self.polled, self.other = names(BUSY, 2)
        self.owners = [self.polled] * polling.tokens + [self.other]
        self.world = land.made(Mix(0, 2, 0), datetime(2026, 2, 25, 6, tzinfo=UTC))
        self._register()
        parameters = read_template()["Parameters"]
        self.account = Account(
            self.world,
            Schedule(self.world.clock),
            {"settings": with_rates(self.world.settings, polling.most)},
            slots={"reads": polling.reads_at_once} if polling.reads_at_once else {},
            api_rate=polling.api_rate,
            api_burst=min(parameters["ApiBurstLimit"]["Default"], 2 * polling.api_rate),
        )

    def _register(self) -> None:
        entries = [
            Token(
                hash=secret.digest(f"lm_{number}".encode()),
                name="agent",
                permissions=["read", "write"],
                space_ids=[space_id],
                created_at="2026-02-20T14:00:00Z",
            )
            for number, space_id in enumerate(self.owners)
        ]
        self.world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=entries).to_bytes())

    def ask(self, number: int) -> bool:
        """Ask for a bank file. Whether it was answered."""
        space_id = self.owners[number]
        return self._request("reads", "a bank file", number, lambda process: files.read(process, space_id, "log.md"))

    def poll(self, number: int) -> None:
        second = int(self.account.schedule.now)
        answered = self.ask(number)
        self.found.answered[second] += answered

    def read(self) -> None:
        """The other agent's read."""
        self._insist(self.found.reads, lambda: self.ask(len(self.owners) - 1))

    def note(self, second: int) -> None:
        """The other agent's note."""
        draft = NoteDraft("progress", f"Second {second}.")

        def write() -> bool:
            return self._request(
                "ingest",
                "a note",
                len(self.owners) - 1,
                lambda process: appending.append(process, self.other, "agent", draft),
            )

        self._insist(self.found.notes, write)

    def _request(self, function: str, operation: str, number: int, work: Callable[[Process], object]) -> bool:
        def do(process: Process, _: datetime) -> bool:
            decision.authorise(process, f"Bearer lm_{number}", needs="read", space_id=self.owners[number])
            self.account.schedule.sleep(aws.COMPUTE_SECONDS.value - aws.REFUSED_SECONDS.value)
            return bool(work(process))

        return bool(self.account.request(function, operation, do, aws.REFUSED_SECONDS.value))

    def _insist(self, counts: Counter[bool], ask: Callable[[], bool]) -> None:
        for number in range(TRIES):
            done = ask()
            if number == 0:
                counts[done] += 1
            if done:
                return
            self.account.schedule.sleep(0.25 * 2**number)
        self.found.lost += 1

    def play(self) -> Polled:
        schedule, seconds = self.account.schedule, self.polling.seconds
        for second in range(seconds):
            schedule.at(second + 0.9, lambda second=second: self.note(second))  # type: ignore[misc]
            schedule.at(second + 0.9, self.read)
            for number in range(self.polling.tokens):
                # Each token has its own moment in a second. The other agent's is behind most of them.
                moment = second + number * 0.618 % 1
                schedule.at(moment, lambda number=number: self.poll(number))  # type: ignore[misc]
        schedule.run(WARM)
        before, self.found.at_once = self._dollars(), self.account.peak[ALL]
        self.account.peak.clear()
        schedule.run(seconds)
        whole = self._dollars() - before
        self.found.at_once_later = self.account.peak[ALL]
        self.found.dollars_an_hour = whole * 3_600 / (seconds - WARM)
        schedule.run(seconds + 60)
        return self.found

    def _dollars(self) -> float:
        operation = "a bank file"
        return dollars(self.account.tally.requests[operation]) + self.account.bills[operation].dollars


def play(polling: Polling) -> Polled:
    """Let them ask."""
    return _Play(polling).play()


ROWS = (
    Polling(api_rate=50, most=0),
    Polling(most=0),
    Polling(most=0, reads_at_once=400),
    Polling(),
    Polling(reads_at_once=400),
)


def table(rows: tuple[Polling, ...] = ROWS) -> Iterator[str]:
    """The lines of the table."""
    yield (
        "| `ApiRateLimit` | `RequestsPerSpacePerSecond` | `ReadsConcurrency` | answered a second, at first and later | "
        "other agent's reads refused | its notes refused | lost after three tries | at once, at first and later | "
        "$ an hour |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for one in rows:
        found = play(one)
        at_first = sum(found.answered[second] for second in range(WARM)) / WARM
        later = sum(found.answered[second] for second in range(WARM, one.seconds)) / (one.seconds - WARM)
        row = [
            f"{one.api_rate:,.0f}",
            f"{one.most}",
            f"{one.reads_at_once}",
            f"{at_first:,.0f}, {later:,.0f}",
            f"{found.reads[False]} of {found.reads.total()}",
            f"{found.notes[False]} of {found.notes.total()}",
            f"{found.lost}",
            f"{found.at_once:,}, {found.at_once_later:,}",
            f"{found.dollars_an_hour:.2f}",
        ]
        yield f"| {' | '.join(row)} |"

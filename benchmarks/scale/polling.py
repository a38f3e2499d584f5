"""1,000 tokens of one tenant that ask for a bank file each second, beside another tenant's agent that does the same and
writes a note each second.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.scale import land
from benchmarks.scale.account import ALL, Account
from benchmarks.scale.land import BUSY, Mix, names
from benchmarks.scale.tally import dollars
from benchmarks.scale.virtual import Schedule
from livemem.access import decision, secret
from livemem.access.registry import Registry, Token
from livemem.bank import files
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.process import Process
from livemem.store import keys
from tests.support.template import read_template

SECONDS = 10


@dataclass
class Polled:
    """What became of the requests, and what they cost in an hour."""

    answered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    notes: Counter[bool] = field(default_factory=Counter)
    """Notes of the other tenant's agent: whether they were taken."""
    at_once: int = 0
    s3_requests: int = 0
    dollars_an_hour: float = 0.0


def play(tokens: int, api_rate: float, seconds: int = SECONDS, reads_at_once: int = 0) -> Polled:
    """Let them ask for so many seconds. `reads_at_once`: the reserved concurrency of reads, 0 for none."""
    polling, other = names(BUSY, 2)
    world = land.made(Mix(0, 2, 0), datetime(2026, 2, 25, 6, tzinfo=UTC))
    owners = [polling] * tokens + [other]
    entries = [
        Token(
            hash=secret.digest(f"lm_{number}".encode()),
            name="agent",
            permissions=["read"],
            space_ids=[space_id],
            created_at="2026-02-20T14:00:00Z",
        )
        for number, space_id in enumerate(owners)
    ]
    world.inner.put_object(Bucket="bucket", Key=keys.TOKENS, Body=Registry(tokens=entries).to_bytes())
    parameters = read_template()["Parameters"]
    burst = max(api_rate, parameters["ApiBurstLimit"]["Default"])
    slots = {"reads": reads_at_once} if reads_at_once else {}
    account = Account(world, Schedule(world.clock), {}, slots=slots, api_rate=api_rate, api_burst=burst)
    found = Polled()

    def ask(number: int, space_id: str) -> None:
        def work(process: Process, _: datetime) -> bool:
            decision.authorise(process, f"Bearer lm_{number}", needs="read", space_id=space_id)
            return bool(files.read(process, space_id, "log.md"))

        done = account.request("reads", "a bank file", work)
        (found.answered if done else found.refused)[space_id] += 1

    def note(second: int) -> None:
        def work(process: Process, _: datetime) -> object:
            return appending.append(process, other, "agent", NoteDraft("progress", f"Second {second}."))

        found.notes[bool(account.request("ingest", "a note", work))] += 1

    for second in range(seconds):
        account.schedule.at(second + 0.9, lambda second=second: note(second))  # type: ignore[misc]
    for number, space_id in enumerate(owners):
        for second in range(seconds):
            # Each token has its own moment in a second; the other agent's is behind most of them.
            moment = second + (number * 0.618 % 1 if space_id == polling else 0.9)
            account.schedule.at(moment, lambda number=number, space_id=space_id: ask(number, space_id))  # type: ignore[misc]
    account.schedule.run(seconds + 60)
    requests = account.tally.requests["a bank file"]
    found.at_once, found.s3_requests = account.peak[ALL], requests.total()
    whole = dollars(requests) + account.bills["a bank file"].dollars
    found.dollars_an_hour = whole * 3_600 / seconds
    return found


def table() -> Iterator[str]:
    """The lines of the table."""
    usual = read_template()["Parameters"]["ApiRateLimit"]["Default"]
    yield (
        "| `ApiRateLimit` | `ReadsConcurrency` | answered a second | other agent's reads refused | its notes refused | "
        "at once | $ an hour |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for rate, reads_at_once in ((usual, 0), (2_000, 0), (2_000, 400)):
        found = play(1_000, rate, reads_at_once=reads_at_once)
        polling, other = names(BUSY, 2)
        refused = f"{found.refused[other]} of {found.refused[other] + found.answered[other]}"
        notes = f"{found.notes[False]} of {found.notes.total()}"
        row = [
            f"{rate:,}",
            f"{reads_at_once}",
            f"{found.answered[polling] / SECONDS:,.0f}",
            refused,
            notes,
            f"{found.at_once:,}",
        ]
        yield f"| {' | '.join([*row, f'{found.dollars_an_hour:.2f}'])} |"

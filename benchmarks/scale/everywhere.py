"""A search over all spaces that a token may see, 20 in each answer: what it costs with 20, 100 and 1,000 spaces."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.scale import land
from benchmarks.scale.account import Account
from benchmarks.scale.land import Mix
from benchmarks.scale.tally import dollars
from benchmarks.scale.virtual import Schedule
from livemem.process import Process
from livemem.recall import search
from livemem.recall.search_request import SearchRequest
from tests.support.world import EVERYONE

COUNTS = 20, 100, 1_000
QUERY = "a first note of some length"


@dataclass(frozen=True)
class Searched:
    """What a search over all spaces took: answers, requests to S3, seconds one after the other, and dollars in all."""

    spaces: int
    answers: int
    requests: int
    seconds: float
    dollars: float


def play(count: int) -> tuple[Searched, Searched]:
    """By a new process, and by the same one again."""
    world = land.made(Mix(count, 0, 0), datetime(2026, 2, 25, 6, tzinfo=UTC))
    account, found = Account(world, Schedule(world.clock), {}), list[Searched]()
    for name in ("cold", "warm"):
        account.schedule.at(account.schedule.now, lambda name=name: found.append(_all(account, name)))  # type: ignore[misc]
        account.schedule.run(account.schedule.now + 600)
    return found[0], found[1]


def _all(account: Account, name: str) -> Searched:
    began, after, seen, answers = account.schedule.now, None, 0, 0
    while not answers or after is not None:

        def work(process: Process, _: datetime, after: str | None = after) -> search.HitsOfSpaces:
            return search.several(process, EVERYONE, None, SearchRequest.of(QUERY), after)

        answer: search.HitsOfSpaces = account.request("search", name, work)
        assert not answer.failed
        seen, answers, after = seen + len(answer.answers), answers + 1, answer.more
    asked = account.tally.requests[name]
    cost = dollars(asked) + account.bills[name].dollars
    return Searched(seen, answers, asked.total(), account.schedule.now - began, cost)


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| spaces | answers | requests to S3, cold, warm | seconds, cold, warm | $ of 1,000 searches, cold, warm |"
    yield "|---:|---:|---:|---:|---:|"
    for count in COUNTS:
        cold, warm = play(count)
        asked = f"{cold.requests:,}, {warm.requests:,}"
        cost = f"{1_000 * cold.dollars:.2f}, {1_000 * warm.dollars:.2f}"
        yield f"| {cold.spaces:,} | {cold.answers} | {asked} | {cold.seconds:.1f}, {warm.seconds:.1f} | {cost} |"

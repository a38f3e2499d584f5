"""Kills, breaks and interleaves all that is done to memories, plays random histories of them and of rooms and digests,
and prints what came of it.

    python -m benchmarks.memories_proof --histories 20000 --workers 2

Wrong is: a number of the log that is missing or given twice, a cause with two operations, what was acknowledged and is
not in its operation, a content that a later operation of its memory lost, two memories that say the same (but for what
holds for a time beside what holds for ever, and what somebody put there by hand), what held for ever and became
temporary though nobody asked for it, a merge of different things, what was deleted before its time or stays after it, a
snapshot or a reader (fresh, or with what it knew) that does not say what the log says. Of digests: a message that is
lost, digested twice, or waits when all has come to rest, a memory that was found and not stored once, a question whose
answer was there when its asker looked. Exits with 1 if anything is.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.support import digest_histories, memory_crash, memory_histories
from tests.support.crash import ERRORS, KILLS
from tests.support.memory_crash import OPERATIONS, PAIRS

WIDTH = 52
AT_ONCE = 250
RACES = 20
STALLS = 70
"""More requests than a small digest makes."""
Row = tuple[str, int, list[str]]
"""What was done, how often, and what was wrong after it."""


def crashes(place: int) -> Row:
    """An operation that dies at each of its requests, or whose requests fail one by one."""
    operation = OPERATIONS[place]
    points = range(memory_crash.requests_of(operation))
    done = [
        memory_crash.crash(operation, fault, point, again=again)
        for fault in (*KILLS, *ERRORS)
        for again in (True, False)
        for point in points
    ]
    return operation.name, len(done), [f"{operation}: {one}" for wrong in done for one in wrong]


def pairs(place: int) -> Row:
    """Two operations, and all that can happen between them."""
    first, second = PAIRS[place]
    done = list(memory_crash.pair(first, second))
    return f"{first} & {second}", len(done), [f"{where}: {one}" for where, wrong in done for one in wrong]


def races(place: int) -> Row:
    """Forty who store ten facts in different words."""
    raced = memory_histories.race(place, lockstep=place % 2 == 1)
    wrong = raced.wrong if len(raced.memories) == 10 else [*raced.wrong, f"{len(raced.memories)} memories"]
    return "40 who store 10 facts at once", 1, wrong


def histories(start: int) -> Row:
    """A part of the random histories."""
    found = [wrong for number in range(start, start + AT_ONCE) for wrong in memory_histories.play(number)[0]]
    return "random histories", AT_ONCE, found


def stalls(stop: int) -> Row:
    """A worker that stands still before a request while another one does part of its work."""
    parts = (None, *range(1, STALLS))
    return (
        "digests by two, one of which stands still",
        len(parts),
        [one for part in parts for one in digest_histories.stalled(stop, part)],
    )


def digests(start: int, *, calm: bool = False) -> Row:
    """A part of the random histories of rooms and digests."""
    numbers = range(start, start + AT_ONCE)
    found = [wrong for number in numbers for wrong in digest_histories.play(number, calm=calm)[0]]
    return f"random histories of digests{', without faults' if calm else ''}", AT_ONCE, found


def rows(workers: int, count: int) -> Iterator[Row]:
    """All rows; histories and races in one row for each kind."""
    with ProcessPoolExecutor(workers) as pool:
        yield from _each(pool, crashes, range(len(OPERATIONS)))
        yield from _each(pool, pairs, range(len(PAIRS)))
        for found in (
            list(_each(pool, races, range(RACES))),
            list(_each(pool, stalls, range(STALLS))),
            list(_each(pool, histories, range(0, count, AT_ONCE))),
            list(_each(pool, digests, range(0, count, AT_ONCE))),
            list(_each(pool, partial(digests, calm=True), range(0, count // 10, AT_ONCE))),
        ):
            if found:
                yield found[0][0], sum(tried for _, tried, _ in found), [one for row in found for one in row[2]]


def _each(pool: ProcessPoolExecutor, work: Callable[[int], Row], places: Sequence[int]) -> Iterator[Row]:
    yield from pool.map(partial(_quietly, work), places)


def _quietly(work: Callable[[int], Row], place: int) -> Row:
    logging.disable(logging.CRITICAL)
    return work(place)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Prove that memories converge.")
    parser.add_argument("--histories", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    begun = time.monotonic()
    everything: list[str] = []
    print(f"| {'what':{WIDTH}} |    tried |    wrong |\n|{'-' * (WIDTH + 2)}|---------:|---------:|")
    total = 0
    for name, tried, wrong in rows(wanted.workers, wanted.histories):
        print(f"| {name:{WIDTH}} | {tried:8} | {len(wrong):8} |", flush=True)
        total, everything = total + tried, [*everything, *wrong]
    print(f"| {'all':{WIDTH}} | {total:8} | {len(everything):8} |\n{time.monotonic() - begun:.0f} s")
    for one in everything[:50]:
        print(one, file=sys.stderr)
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())

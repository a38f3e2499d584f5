"""Kills, breaks and interleaves all that is done to conversations, plays random histories, and prints what came of it.

    python -m benchmarks.conversations_proof --histories 20000 --workers 2

Wrong is: a number that is missing or given twice, an acknowledged message that is not in the log once with its content,
a block or a group that the planner does not give for the log, an object that is written over, a question whose answer
was there when its asker looked, a version that counts before it is whole, work that the sweep does not find, what is
left of a deleted conversation. Exits with 1 if anything is. What two ask at once although nothing failed is counted
below the table: two redos of one summary side by side, or a worker that stood still for longer than its claim lives.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.support import talk_crash, talk_histories
from tests.support.crash import ERRORS, KILLS
from tests.support.talk_crash import OPERATIONS, PAIRS, RECOVERIES, WAYS

WIDTH = 52
AT_ONCE = 250
Row = tuple[str, int, list[str], int]
"""What was done, how often, what was wrong after it, and how often two asked for the same at once without a fault."""


def crashes(place: int) -> Row:
    """An operation that dies at each of its requests, or whose requests fail one by one."""
    operation = OPERATIONS[place]
    points = range(talk_crash.requests_of(operation))
    done = [
        talk_crash.crash(operation, fault, recover, point)
        for fault in (*KILLS, *ERRORS)
        for recover in (RECOVERIES if fault in KILLS else RECOVERIES[:1])
        for point in points
    ]
    return operation.name, len(done), [one for wrong in done for one in wrong], 0


def pairs(place: int) -> Row:
    """Two operations, and all that can happen between them."""
    first, second = PAIRS[place]
    done = [(where, wrong) for way in WAYS for where, wrong in way(first, second)]
    return f"{first} & {second}", len(done), [f"{where}: {one}" for where, wrong in done for one in wrong], 0


def histories(start: int, *, calm: bool = False) -> Row:
    """A part of the random histories."""
    logging.disable(logging.CRITICAL)
    wrong: list[str] = []
    twice = 0
    for number in range(start, start + AT_ONCE):
        found, _, raced = talk_histories.play(number, calm=calm)
        wrong += found
        twice += raced if calm else 0
    return f"random histories{', without faults' if calm else ''}", AT_ONCE, wrong, twice


def rows(workers: int, count: int) -> Iterator[Row]:
    """All rows; histories in one row each kind."""
    with ProcessPoolExecutor(workers) as pool:
        for work, places in ((crashes, len(OPERATIONS)), (pairs, len(PAIRS))):
            yield from _each(pool, work, range(places))
        for calm in (False, True):
            parts = range(0, count // 10 if calm else count, AT_ONCE)
            name, tried, twice = "", 0, 0
            wrong: list[str] = []
            for name, some, found, more in _each(pool, partial(histories, calm=calm), parts):  # noqa: B007
                tried, wrong, twice = tried + some, wrong + found, twice + more
            if tried:
                yield name, tried, wrong, twice


def _each(pool: ProcessPoolExecutor, work: Callable[[int], Row], places: Sequence[int]) -> Iterator[Row]:
    yield from pool.map(partial(_quietly, work), places)


def _quietly(work: Callable[[int], Row], place: int) -> Row:
    logging.disable(logging.CRITICAL)
    return work(place)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Prove that conversations converge.")
    parser.add_argument("--histories", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    begun = time.monotonic()
    everything: list[str] = []
    print(f"| {'what':{WIDTH}} |    tried |    wrong |\n|{'-' * (WIDTH + 2)}|---------:|---------:|")
    total = twice = 0
    for name, tried, wrong, more in rows(wanted.workers, wanted.histories):
        print(f"| {name:{WIDTH}} | {tried:8} | {len(wrong):8} |", flush=True)
        total, everything, twice = total + tried, [*everything, *wrong], twice + more
    print(f"| {'all':{WIDTH}} | {total:8} | {len(everything):8} |\n{time.monotonic() - begun:.0f} s")
    print(f"{twice} calls of the LLM without a fault for what another worker made at the same time")
    for one in everything[:50]:
        print(one, file=sys.stderr)
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())

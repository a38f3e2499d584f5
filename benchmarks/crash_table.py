"""Kills and breaks every operation at every S3 request, plays random histories, and prints what came of it.

    python -m benchmarks.crash_table [--histories 20000]

Exits with 1 if any column but the first is not zero. The bucket has the semantics of S3 (tests/support/bucket.py, held
to real stores by the storage tests); the operations are the product's own code.
"""

import argparse
import logging
import sys
import time

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support import crash
from tests.support.histories import Histories

COLUMNS = ("tried", "lost", "folded twice", "wrong files", "LLM repeated", "left behind")
WIDTH = 34
STEPS = 40
PART = 1_000


def row(name: str, *cells: object) -> str:
    """One line of the table."""
    return f"| {name:<{WIDTH}} | " + " | ".join(f"{cell:>12}" for cell in cells) + " |"


def crash_rows() -> int:
    """Print a row per operation; returns the number of broken promises."""
    broken = 0
    sums = [0] * len(COLUMNS)
    results: dict[str, list[crash.Result]] = {}
    for result in crash.table():
        results.setdefault(result.operation, []).append(result)
    for operation, parts in results.items():
        cells = [
            sum(part.points for part in parts),
            sum(part.count("lost") for part in parts),
            sum(part.count("folded_twice") + part.count("both_live_and_folded") for part in parts),
            sum(part.count("wrong_files") + part.count("wrong_numbers") for part in parts),
            sum(part.repeated_calls for part in parts),
            sum(part.count("left_behind") for part in parts),
        ]
        sums = [total + cell for total, cell in zip(sums, cells, strict=True)]
        broken += sum(cells[1:])
        print(row(operation, *cells), flush=True)
    print(row("all operations", *sums))
    return broken


def play(count: int) -> int:
    """Play random histories; a broken promise raises with the shortest history that shows it."""
    played = 0
    while played < count:
        part = min(PART, count - played)
        run_state_machine_as_test(
            seed(played)(type("Histories", (Histories,), {})),
            settings=settings(
                max_examples=part,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        played += part
    return played


def main() -> int:
    """Print the tables; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=20_000)
    wanted = parser.parse_args()
    logging.disable(logging.CRITICAL)
    faults = len(crash.KILLS) + len(crash.ERRORS)
    print(f"Every request of every operation, {faults} faults, {len(crash.RECOVERIES)} ways to recover\n")
    print(row("operation", *COLUMNS))
    print(row("-" * WIDTH, *(["-" * 12] * len(COLUMNS))))
    started = time.monotonic()
    broken = crash_rows()
    print(row("random histories", play(wanted.histories), 0, 0, 0, 0, 0))
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

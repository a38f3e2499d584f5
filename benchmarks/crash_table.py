"""Kills and breaks every operation at every S3 request, plays all that can happen between two operations and random
histories, and prints what came of it.

    python -m benchmarks.crash_table [--histories 20000]

Exits with 1 if any column but the first is not zero. The bucket has the semantics of S3 (tests/support/bucket.py, held
to real stores by the storage tests); the operations are the product's own code.
"""

import argparse
import logging
import sys
import time
from collections.abc import Iterable

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support import crash, pairs
from tests.support.audit import Audit
from tests.support.histories import Calm, Histories

COLUMNS: dict[str, tuple[str, ...]] = {
    "lost": ("lost",),
    "doubled": ("folded_twice", "both_live_and_folded", "doubled"),
    "wrong files": ("wrong_files", "wrong_numbers", "broken_backups"),
    "wrong runs": ("wrong_runs",),
    "left behind": ("left_behind",),
    "wrong reads": ("wrong_reads",),
    "blocked": ("blocked",),
    "wrong health": ("wrong_health",),
}
"""What of an audit is counted in each."""
WIDTH = 52
STEPS = 40
PART = 1_000


def row(name: str, *cells: object) -> str:
    """One line of the table."""
    return f"| {name:<{WIDTH}} | " + " | ".join(f"{cell:>12}" for cell in cells) + " |"


def cells(tried: int, audits: Iterable[Audit], repeated_calls: int = 0) -> list[int]:
    """The cells of a row."""
    found = list(audits)
    counted = [sum(len(getattr(one, name)) for one in found for name in names) for names in COLUMNS.values()]
    return [tried, *counted, repeated_calls]


def rows(name: str, parts: Iterable[tuple[str, list[int]]]) -> int:
    """Print a row per part and one of their sums, and return the number of broken promises."""
    sums = [0] * (len(COLUMNS) + 2)
    for part, found in parts:
        sums = [total + cell for total, cell in zip(sums, found, strict=True)]
        print(row(part, *found), flush=True)
    print(row(name, *sums), flush=True)
    return sum(sums[1:])


def crash_rows() -> Iterable[tuple[str, list[int]]]:
    """A row per operation."""
    results: dict[str, list[crash.Result]] = {}
    for result in crash.table():
        results.setdefault(result.operation, []).append(result)
    for operation, parts in results.items():
        audits = (found for part in parts for found in part.audits)
        calls = sum(part.repeated_calls for part in parts)
        yield operation, cells(sum(part.points for part in parts), audits, calls)


def pair_rows() -> Iterable[tuple[str, list[int]]]:
    """A row per pair of operations."""
    for pair in pairs.PAIRS:
        audits = [found for _, found in pair.play()]
        yield pair.name, cells(len(audits), audits)


def play(machine: type[Calm], count: int) -> int:
    """Play random histories; a broken promise raises with the shortest history that shows it."""
    played = 0
    while played < count:
        part = min(PART, count - played)
        run_state_machine_as_test(
            seed(played)(type(machine.__name__, (machine,), {})),
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
    print(f"Every request of every operation, {faults} faults, {len(crash.RECOVERIES)} ways to recover;")
    print("everything that can happen between two operations; random histories, and such without faults\n")
    print(row("operation", "tried", *COLUMNS, "LLM repeated"))
    print(row("-" * WIDTH, *(["-" * 12] * (len(COLUMNS) + 2))))
    started = time.monotonic()
    broken = rows("all operations", crash_rows()) + rows("all pairs", pair_rows())
    for name, machine, share in (("random histories", Histories, 1), ("histories without faults", Calm, 5)):
        print(row(name, *cells(play(machine, wanted.histories // share), [])), flush=True)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

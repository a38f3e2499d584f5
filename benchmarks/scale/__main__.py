"""The tables of docs/scale.md: `python -m benchmarks.scale` prints all, `python -m benchmarks.scale NAME ...` some.

All of them take about half an hour of one processor, most of it `memory`, `tenfold` and `days`.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from benchmarks.scale import alike, aws, everywhere, growth, memory, polling, queues, registry, report, shares, years

TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "aws": aws.table,
    "alike": alike.table,
    "growth": lambda: growth.table((*growth.CASES, *years.CASES)),
    "everywhere": everywhere.table,
    "registry": registry.table,
    "queues": queues.table,
    "shares": shares.table,
    "polling": polling.table,
    "memory": memory.table,
    "day": report.day,
    "tenfold": report.tenfold,
    "days": report.days,
}


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", choices=[*TABLES, []], nargs="*", metavar="NAME", help=", ".join(TABLES))
    wanted = parser.parse_args()
    for name in wanted.what or TABLES:
        began, used = time.monotonic(), time.process_time()
        print(f"\n{name}\n")
        for line in TABLES[name]():
            print(line, flush=True)
        spent = time.monotonic() - began, time.process_time() - used
        print(f"\nMeasured in {spent[0]:.0f} s, with {spent[1]:.0f} s of processor time.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""One command for all tables: `python -m benchmarks.scale growth`, or another name of TABLES (docs/scale.md)."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from benchmarks.scale import growth, queues, registry, shares

TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "growth": growth.table,
    "queues": queues.table,
    "registry": registry.table,
    "shares": shares.table,
}


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", choices=sorted(TABLES), nargs="?", default="growth")
    wanted = parser.parse_args()
    began = time.monotonic()
    for line in TABLES[wanted.what]():
        print(line, flush=True)
    print(f"Measured in {time.monotonic() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

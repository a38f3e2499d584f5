"""Kills and breaks every action of every kind of work at every request to the store, plays all that can happen between
two actions and random histories (tests/simulation), and prints what came of it.

    .venv/bin/python -m benchmarks.proof [--kinds consolidation memories] [--histories 20000] [--workers 2]

Exits with 1 if anything was wrong; the first findings are told on the standard error. What is wrong is said by each
kind: `tests/simulation/kinds/`. The bucket has the semantics of S3 (tests/support/bucket.py, held to real stores by the
storage tests); the actions are the product's own code. Histories follow from their numbers.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation import kills, pairs
from tests.simulation.choices import seeded
from tests.simulation.histories import play
from tests.simulation.kinds import KINDS
from tests.simulation.scene import Kind

WIDTH = 64
AT_ONCE = 250
"""Histories that one worker plays at a time."""
TOLD = 20


@dataclass
class Row:
    """What was tried under a name, and the findings by column."""

    name: str
    tried: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def add(self, kind: Kind, where: str, found: list[str]) -> None:
        """Count what is wrong after one try."""
        self.tried += 1
        self.told += [f"{where}: {one}" for one in found][: TOLD - len(self.told)]
        for one in found:
            column = one.partition(":")[0]
            self.wrong[column if column in kind.columns else kind.columns[-1]] += 1

    def __add__(self, other: "Row") -> "Row":
        return Row(self.name, self.tried + other.tried, self.wrong + other.wrong, [*self.told, *other.told][:TOLD])


Part = tuple[int, str, int, int]
"""A kind, what of it is played (actions, pairs, extras, histories, calm), which one, and the first number."""


def played(part: Part) -> Row:
    """The row of a part."""
    logging.disable(logging.CRITICAL)
    place, what, which, start = part
    kind = KINDS[place]
    if what == "actions":
        row, found = Row(kind.actions[which].name), kills.kill(kind, kind.actions[which])
    elif what == "pairs":
        row, found = Row(str(kind.pairs[which])), pairs.Play(kind, kind.pairs[which]).all()
    elif what == "extras":
        name, one, _ = kind.extras[which]
        row, found = Row(name), ((f"{name} {start}", one(start)) for _ in range(1))
    else:
        calm, history = what == "calm", kind.histories[which]
        numbers = range(start, start + AT_ONCE)
        row = Row("histories without faults" if calm else "random histories")
        found = ((f"history {number}", play(kind, history, seeded(number), calm=calm)) for number in numbers)
    with kind.limits():
        for where, wrong in found:
            row.add(kind, where, wrong)
    return row


def parts(place: int, count: int) -> Iterator[Part]:
    """All parts of a kind, with so many histories."""
    kind = KINDS[place]
    for what, all_of in (("actions", kind.actions), ("pairs", kind.pairs)):
        yield from ((place, what, which, 0) for which in range(len(all_of)))
    for which, (_, _, times) in enumerate(kind.extras):
        yield from ((place, "extras", which, number) for number in range(times))
    for which, history in enumerate(kind.histories):
        yield from ((place, "histories", which, start) for start in range(0, count, AT_ONCE))
        if history.has_calm:
            yield from ((place, "calm", which, start) for start in range(0, count // 10, AT_ONCE))


def rows(pool: ProcessPoolExecutor, place: int, count: int) -> Iterator[Row]:
    """The rows of a kind, and one for all actions, and for all pairs; histories and extras in one row each."""
    wanted = list(parts(place, count))
    held: Row | None = None
    for (_, what, which, start), row, following in zip(
        wanted, pool.map(played, wanted), [*wanted[1:], None], strict=True
    ):
        del start
        if what in ("actions", "pairs"):
            yield row
            held = (held or Row(f"all {what}")) + row
        else:
            held = held + row if held else row
        if following is None or following[1] != what or (what not in ("actions", "pairs") and following[2] != which):
            yield held
            held = None


def line(name: str, *cells: object) -> str:
    """One line of a table."""
    return f"| {name:<{WIDTH}} | " + " | ".join(f"{cell:>12}" for cell in cells) + " |"


def main() -> int:
    """Print the tables; returns the exit status."""
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(description="Prove what is promised.")
    parser.add_argument("--kinds", nargs="*", default=names, choices=names)
    parser.add_argument("--histories", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    started, broken = time.monotonic(), 0
    with ProcessPoolExecutor(wanted.workers) as pool:
        for place, kind in enumerate(KINDS):
            if kind.name not in wanted.kinds:
                continue
            print(f"\n{line(kind.name, 'tried', *kind.columns)}")
            print(line("-" * WIDTH, *(["-" * 12] * (len(kind.columns) + 1))))
            for row in rows(pool, place, wanted.histories):
                print(line(row.name, row.tried, *(row.wrong[column] for column in kind.columns)), flush=True)
                broken += row.wrong.total()
                for one in row.told:
                    print(f"  {one}", file=sys.stderr)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

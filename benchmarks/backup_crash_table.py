"""Kills and breaks backups, retention, restores, forks, imports, exports, erasures and garbage collection at every S3
request, lets somebody recover, and prints what came of it.

    python -m benchmarks.backup_crash_table

Wrong is: a complete manifest over missing or changed objects, a space that is seen before it is whole, an erased word
anywhere in the bucket, a note that is lost, a lease or a folder that stays. Exits with 1 if anything is.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from livemem.archives import packing
from livemem.backups import snapshots
from tests.support import crash, crash_archives, crash_arrivals, crash_backups, crash_erasure, crash_garbage
from tests.support.crash import ERRORS, KILLS

WIDTH = 44
Row = tuple[str, int, list[str]]
"""An operation, how many crashes of it were tried, and what was wrong after them."""


def backup_rows() -> Iterator[Row]:
    """Backups, the removal of one, retention."""
    for operation in crash_backups.OPERATIONS:
        points = range(crash_backups.requests_of(operation))
        found = [
            crash_backups.crash(one, fault, point, again=again)
            for one, fault, again in crash_backups.table()
            if one is operation
            for point in points
        ]
        yield operation.name, len(found), _all(found)


def arrival_rows() -> Iterator[Row]:
    """Restores and forks."""
    for bringing in crash_arrivals.ALL:
        found = [
            crash_arrivals.crash(bringing, fault, point, repeats=repeats)
            for fault in (*KILLS, *ERRORS)
            for repeats in (True, False)
            for point in bringing.points()
        ]
        yield bringing.name, len(found), _all(found)


def archive_rows() -> Iterator[Row]:
    """Exports and imports that are killed, and asked for again."""
    for operation in (*crash_archives.EXPORTS, *crash_archives.IMPORTS):
        found = [
            _archive(operation, lambda point=point, fault=fault: crash_archives.crash(operation, fault, point)[0])  # type: ignore[misc]  # noqa: B023
            for fault in KILLS
            for point in crash_archives.points(operation, fault)
        ]
        yield operation.name, len(found), _all(found)


def _archive(operation: crash_archives.Operation, crashed: Callable[[], crash_archives.World]) -> list[str]:
    world = crashed()
    try:
        if operation in crash_archives.EXPORTS:
            crash_archives.repeat_export(world, operation)
        else:
            crash_archives.check_hidden_or_whole(world, operation)
            crash_archives.repeat_import(world, operation)
            assert crash_archives.check_hidden_or_whole(world, operation), "the space does not come"
        crash_archives.forget(world)
        assert not world.keys("_exports/"), "an archive stays"
        assert not world.keys("_uploads/"), "an upload stays"
    except AssertionError as error:
        return [str(error) or "it is not whole"]
    return []


def erasure_rows() -> Iterator[Row]:
    """Erasures, in a bucket that keeps versions."""
    for which in crash_erasure.ERASURES:
        points = range(len(crash_erasure.requests_of(which)))
        found = [
            crash_erasure.crash(which, fault, point, repeated=repeated)
            for fault in KILLS
            for repeated in (True, False)
            for point in points
        ]
        found += [
            crash_erasure.crash(which, fault, point, repeated=True)
            for fault in ERRORS
            for point in crash_erasure.writes_of(which)
        ]
        yield f"erasure of a {which.what} that is {which.name}", len(found), _all(found)


def garbage_rows() -> Iterator[Row]:
    """Old notes that are moved to a record."""
    for operation in crash_garbage.OPERATIONS:
        found = []
        for fault in (*KILLS, *ERRORS):
            for _, recover in crash.RECOVERIES if fault in KILLS else crash.RECOVERIES[:1]:
                for point in range(crash.requests_of(operation)):
                    audit, calls = crash.crash(operation, fault, recover, point)
                    found.append([] if audit.clean() and not calls else [str(audit)])
        yield operation.name, len(found), _all(found)


def _all(found: Iterable[list[str]]) -> list[str]:
    return [item for wrong in found for item in wrong]


def main() -> int:
    """Print the table; returns the exit status."""
    logging.disable(logging.CRITICAL)
    # So that there are several batches and parts of few objects.
    snapshots.BATCH, packing.PART_BYTES, packing.LEVEL = 4, crash_archives.PART, 1
    started = time.monotonic()
    print(f"| {'operation':<{WIDTH}} | {'crashes':>8} | {'wrong':>8} |")
    print(f"|-{'-' * WIDTH}-|-{'-' * 8}:|-{'-' * 8}:|")
    tried = broken = 0
    for part in (backup_rows, arrival_rows, archive_rows, erasure_rows, garbage_rows):
        for name, count, wrong in part():
            tried, broken = tried + count, broken + len(wrong)
            print(f"| {name:<{WIDTH}} | {count:>8} | {len(wrong):>8} |", flush=True)
            for item in wrong[:3]:
                print(f"  {item}")
    print(f"| {'all':<{WIDTH}} | {tried:>8} | {broken:>8} |")
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

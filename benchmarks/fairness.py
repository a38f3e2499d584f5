"""Many spaces reach their thresholds at once, with an LLM that takes its time: who is served when, and what is wasted.

    .venv/bin/python -m benchmarks.fairness [--spaces 50] [--seconds 20] [--slots 5]

Ideal is that each slot works without a pause and no question is asked in vain: spaces / slots * seconds. While a space
waits a further note is written to it now and then, whose event must not cost it its place. Exits with 1 if a space was
not served once, or a run was wasted.
"""

import argparse
import math
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.chaos.bucket import Bucket
from benchmarks.chaos.findings import runs_of
from benchmarks.chaos.programs import BUCKET, ProgramError
from benchmarks.chaos.work import THRESHOLD, Space
from benchmarks.chaos.world import Options, World, default_data, running
from tests.support.audit import records_of

POLL = 2.0
PATIENCE = 4.0
"""How many times the ideal it may take before the rest is given up."""


def main() -> int:
    """Print who was served when; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description="Many spaces at once.")
    parser.add_argument("--spaces", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="that the LLM takes")
    parser.add_argument("--slots", type=int, default=5, help="consolidations at the same time")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two notes to a space that waits")
    parser.add_argument("--data", type=Path, help="folder for data and logs; emptied first")
    wanted = parser.parse_args()
    options = Options(
        data=wanted.data or default_data("fairness"),
        llm_seconds=(wanted.seconds, wanted.seconds),
        clock_minutes=0,
        spaces=wanted.spaces,
        sweep_seconds=900,
        slots=wanted.slots,
    )
    ideal = math.ceil(wanted.spaces / wanted.slots) * wanted.seconds
    print(f"{wanted.spaces} spaces, {wanted.slots} slots, an LLM of {wanted.seconds:g} s: ideally {ideal:g} s")
    try:
        with running(options) as world:
            return _play(world, ideal, wanted.every)
    except ProgramError as error:
        print(error, file=sys.stderr)
        return 2


def _play(world: World, ideal: float, every: float) -> int:
    with ThreadPoolExecutor(max_workers=4) as executor:
        list(executor.map(world.work.create, world.work.spaces))
        began = time.monotonic()
        written = list(executor.map(lambda space: _write(world, space, THRESHOLD), world.work.spaces))
    print(f"All notes were written after {time.monotonic() - began:.1f} s.", flush=True)
    bucket = Bucket(world.store.client(), BUCKET)
    served: dict[str, float] = {}
    due = time.monotonic() + every
    while time.monotonic() - began < PATIENCE * ideal:
        time.sleep(POLL)
        if time.monotonic() > due:
            due += every
            for space in world.work.spaces:
                if space.space_id not in served:
                    _write(world, space, 1)
        objects = bucket.read()
        for space in world.work.spaces:
            if space.space_id not in served and records_of(objects, space.space_id):
                served[space.space_id] = time.monotonic() - began
                print(f"  {served[space.space_id]:6.1f} s  {len(served):3}  {space.space_id}", flush=True)
        runs = [run for space in world.work.spaces for run in runs_of(objects, space.space_id)]
        if len(served) == len(world.work.spaces) and all(run["status"] not in ("queued", "running") for run in runs):
            break
    outcomes = Counter(str(run["code"] or run["status"]) for run in runs)
    wasted = len(runs) - outcomes["done"]
    last = max(served.values(), default=math.nan)
    print(f"Served: {len(served)} of {len(world.work.spaces)}, the last one after {last:.1f} s")
    print(f"Ratio to the ideal: {last / ideal:.2f}")
    told = ", ".join(f"{status} {count}" for status, count in sorted(outcomes.items()))
    print(f"Runs: {len(runs)} ({told}), wasted {wasted}; questions to the LLM: {len(world.llm.asked)}")
    if not all(written):
        print("Some notes were refused.")
    return 0 if len(served) == len(world.work.spaces) and not wasted else 1


def _write(world: World, space: Space, count: int) -> bool:
    notes = [{"category": "progress", "content": f"note {number}"} for number in range(count)]
    return world.work.admin.ask("POST", f"/spaces/{space.space_id}/notes", {"items": notes}).ok


if __name__ == "__main__":
    sys.exit(main())

"""An environment of the benchmark has a clock of its own."""

import os
import subprocess
import sys

import pytest

from benchmarks.chaos.programs import ROOT
from benchmarks.chaos.world import CLOCKS

FORK = """
import os
import chaos_clock
from datetime import UTC, datetime
from livemem import clock

for _ in range(20):
    if os.fork() == 0:
        real = datetime.now(UTC)
        off = round((clock.now() - real).total_seconds())
        ids = round((clock.id_time(clock.new_id()) - real).total_seconds())
        os.write(1, f"{off} {ids}\\n".encode())
        os._exit(0)
    os.wait()
"""


def run(minutes: str) -> set[str]:
    path = os.pathsep.join([str(ROOT / "layers" / "livemem"), str(CLOCKS)])
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        env={**os.environ, "PYTHONPATH": path, "CHAOS_CLOCK_MINUTES": minutes},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.splitlines())


@pytest.mark.process
def test_each_fork_has_the_right_time_or_is_off_by_all_of_it_and_so_are_its_ids():
    found = run("2.5")
    assert found <= {"0 0", "150 150", "-150 -150"}
    assert len(found) > 1


@pytest.mark.process
def test_without_the_variable_all_clocks_are_right():
    assert run("0") == {"0 0"}

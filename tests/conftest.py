"""What goes for the whole suite."""

import gc
import importlib
import os
from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from scripts import generated

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if not WORKER:
    generated.main()
# As the functions that search have it (template.yaml): threads of numpy wait for each other by spinning. It reads this
# when it is imported.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Modules and tests stay to the end: the collector need not go through them hundreds of times.
gc.disable()

# The same examples on every machine and in every run: a failure is then a failure for everybody. How many of them there
# are is said here, and by a test itself only where each of its examples is a story of a second.
settings.register_profile("ci", max_examples=12, deadline=None, derandomize=True, database=None)
# CI takes these once a week.
settings.register_profile("weekly", max_examples=200, deadline=None, database=None)
settings.register_profile("proof", max_examples=2_000, deadline=None, database=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "ci"
settings.load_profile(PROFILE)
if PROFILE == "ci":
    # Else it would also draw constants of the modules that a process has loaded so far: other examples in each worker.
    # And it would parse all of them first, and hold each of 5,000 against every strategy.
    providers.is_local_module_file = lambda path: False  # type: ignore[assignment, attr-defined]


def pytest_collection(session: pytest.Session) -> None:
    """Each worker imports the files from another one on: what one has compiled, the others find in the cache."""
    if not WORKER:
        return
    root = session.config.rootpath
    places = [root / arg.partition("::")[0] for arg in session.config.args]
    files = [file for place in places for file in (sorted(place.rglob("test_*.py")) or [place])]
    first = len(files) * int(WORKER.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for file in files[first:] + files[:first]:
        # What is wrong with one is said when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()
    # What tests make goes by counts of references, but for few circles: looking for them each 700 objects took an
    # eighth of the time.
    gc.set_threshold(50_000, 20, 50)

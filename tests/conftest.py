"""What goes for the whole suite."""

import gc

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    # Modules and tests stay to the end: the collector need not go through them hundreds of times.
    gc.collect()
    gc.freeze()
    # What tests make goes by counts of references, but for few circles: looking for them each 700 objects took an
    # eighth of the time.
    gc.set_threshold(50_000, 20, 50)

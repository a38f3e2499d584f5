"""What goes for the whole suite."""

import gc

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    # Modules and tests stay to the end: the collector need not go through them hundreds of times.
    gc.collect()
    gc.freeze()

"""Stores of this machine, started once per test process when a test first asks for them, with a new bucket per test."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from livemem.store.clients import open_store
from livemem.store.objects import Store
from local.store.client import FileStore
from tests.support.object_stores import KINDS, Target, running

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def start_target() -> Iterator[Callable[[str], Target]]:
    """Gives a running store by name. One that is missing skips the test, and fails it with STORES_REQUIRED=1."""
    targets: dict[str, Target] = {}
    with ExitStack() as stack:

        def start(name: str) -> Target:
            if name not in targets:
                try:
                    targets[name] = stack.enter_context(running(KINDS[name]))
                except LookupError as missing:
                    if os.environ.get("STORES_REQUIRED") == "1":
                        pytest.fail(str(missing))
                    pytest.skip(str(missing))
            return targets[name]

        yield start


@pytest.fixture
def embedded(tmp_path: Path) -> FileStore:
    """The embedded store in this process."""
    return FileStore(tmp_path)


@pytest.fixture
def open_bucket(start_target: Callable[[str], Target], embedded: Any) -> Callable[..., Store]:
    """Makes a new bucket on a store by name and opens it as the service does."""

    def make(name: str, signature: str = "v4") -> Store:
        bucket = f"bucket-{next(_numbers)}"
        if name == "files":
            embedded.create_bucket(Bucket=bucket)
            return Store(bucket, embedded, embedded)
        target = start_target(name)
        target.client().create_bucket(Bucket=bucket)
        return open_store(target.settings(bucket, signature))

    return make


@pytest.fixture
def target(request: Any, start_target: Callable[[str], Target]) -> Target:
    """The store that a test is parametrised with (`indirect`)."""
    return start_target(request.param)

"""The storage contract of tests/integration/test_store.py, the same test functions, on real stores over HTTP."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from livemem.store.objects import Store
from tests.integration import test_store as contract

STORES = ("files", "embedded", "minio", "versitygw")

DEVIATIONS = {
    ("minio", "test_a_deletion_is_repeatable_and_conditional_where_asked"): "MinIO ignores If-Match on DELETE",
}
"""What a store does otherwise and the service does not depend on: docs/stores.md."""

# Whatever the contract asks of a store by its fixture is asked here as well, also what is added to it later.
globals().update(
    {
        name: test
        for name, test in vars(contract).items()
        if name.startswith("test_") and "store" in inspect.signature(test).parameters
    }
)


def fill(store: Store, written: list[str], content: bytes = b"") -> None:
    store.map(partial(store.put, body=content), written)


@pytest.fixture(name="store", params=STORES)
def _store(request: pytest.FixtureRequest, open_bucket: Callable[..., Store], monkeypatch: pytest.MonkeyPatch) -> Store:
    # The contract fills moto by its back door, which these don't have.
    monkeypatch.setattr(contract, "fill", fill)
    deviation = DEVIATIONS.get((request.param, request.node.originalname))
    if deviation:
        request.applymarker(pytest.mark.xfail(reason=deviation, strict=True))
    return open_bucket(request.param)


def test_every_deviation_is_of_a_test_that_exists():
    known: dict[str, Any] = globals()
    assert all(kind in STORES and name in known for kind, name in DEVIATIONS)

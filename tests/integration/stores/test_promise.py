"""The promise of the commit (docs/reliability.md) on stores over HTTP: a reduced run of what the unit tests do in
memory. Each operation dies before and after each of its requests; random histories interleave at every request."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from livemem.store.objects import Store
from tests.support import crash
from tests.support.histories import Histories
from tests.support.remote import RemoteBucket

STORES = ("moto", "minio", "versitygw")
OPERATIONS = {
    found.name: found
    for found in crash.OPERATIONS
    if found.name in ("consolidation, 2 files", "undo", "manual edit of a file", "deletion of a space")
}
BEFORE, AFTER = crash.KILLS
STRIDES = {"moto": 3, "minio": 1}
"""Of moto's requests every third one is enough: it is slow, and all are done on MinIO and in memory."""
HISTORIES, STEPS = 12, 25


@pytest.fixture(name="remote")
def _remote(request: pytest.FixtureRequest, open_bucket: Callable[..., Store]) -> RemoteBucket:
    store = open_bucket(request.param)
    return RemoteBucket(store.v4, store.bucket)


def test_the_operations_are_there():
    assert len(OPERATIONS) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("remote", "stride"), STRIDES.items(), ids=STRIDES, indirect=["remote"])
@pytest.mark.parametrize(
    ("fault", "recover"), [(BEFORE, crash.sweep_later), (AFTER, crash.retry)], ids=["sweep", "retry"]
)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_killed_at_any_request_keeps_the_promise(
    remote: RemoteBucket,
    stride: int,
    operation: crash.Operation,
    fault: crash.Fault,
    recover: Callable[[crash.World, crash.Operation], None],
):
    points = crash.requests_of(operation, remote.world)
    assert points >= 5
    for point in range(0, points, stride):
        found, repeated_calls = crash.crash(operation, fault, recover, point, remote.world)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"


@pytest.mark.slow
@pytest.mark.parametrize("remote", STORES, indirect=True)
def test_random_histories_lose_no_note_and_fold_none_twice(remote: RemoteBucket):
    here = type("Histories", (Histories,), {"new_world": staticmethod(remote.world)})
    run_state_machine_as_test(
        seed(1)(here),
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

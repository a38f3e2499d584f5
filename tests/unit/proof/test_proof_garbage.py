"""Garbage collection keeps the promise wherever it dies and whatever happens beside it: each note is live or in exactly
one record."""

import pytest

from tests.support import crash
from tests.support.crash import ERRORS, KILLS, RECOVERIES
from tests.support.crash_garbage import OPERATIONS, PAIRS


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("fault", KILLS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("recover", [recover for _, recover in RECOVERIES], ids=[label for label, _ in RECOVERIES])
def test_garbage_collection_killed_at_any_request_keeps_the_promise(operation, fault, recover):
    for point in range(crash.requests_of(operation)):
        found, repeated_calls = crash.crash(operation, fault, recover, point)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("fault", ERRORS, ids=lambda fault: fault.name)
def test_garbage_collection_whose_requests_fail_one_by_one_keeps_the_promise(operation, fault):
    for point in range(crash.requests_of(operation)):
        found, repeated_calls = crash.crash(operation, fault, crash.retry, point)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_moving_and_another_operation_keep_the_promise_whatever_happens_between_them(pair):
    broken = [f"{where} -> {found}" for where, found in pair.play() if not found.clean()]
    assert not broken, f"{len(broken)}:\n" + "\n".join(broken[:20])

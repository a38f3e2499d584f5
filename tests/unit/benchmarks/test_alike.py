"""The simulated account of docs/scale.md asks the store for what the local runtime asks it for."""

import pytest

from benchmarks.scale import alike


@pytest.mark.proof
@pytest.mark.process
def test_each_action_takes_the_same_requests_in_the_simulated_account_as_on_the_local_runtime():
    found = list(alike.compare())

    assert [(one.action, one.local) for one in found] == [(one.action, one.simulated) for one in found]
    assert len(found) == 7
    assert all(one.local for one in found)

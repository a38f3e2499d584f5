"""Random histories keep the promise: no note lost, none folded twice, no LLM call repeated after a commit."""

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.histories import Histories

HISTORIES = 500
STEPS = 30


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_histories_lose_no_note_and_fold_none_twice(part):
    run_state_machine_as_test(
        seed(part)(type("Histories", (Histories,), {})),
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

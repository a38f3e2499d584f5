"""Random histories keep the promise: no note lost, none folded twice, no LLM call repeated after a commit, nobody told
what is not so; and where nothing fails one LLM call a committed run, however often its invocation is delivered."""

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.histories import Calm, Histories

HISTORIES = 120
"""In each part; benchmarks/crash_table.py (make proof) plays 20,000."""
CALM = 60
STEPS = 16


def play(machine: type[Calm], part: int, histories: int) -> None:
    run_state_machine_as_test(
        seed(part)(type(machine.__name__, (machine,), {})),
        settings=settings(
            max_examples=histories,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_histories_lose_no_note_and_fold_none_twice(part: int):
    play(Histories, part, HISTORIES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1))
def test_without_faults_the_llm_is_asked_once_a_committed_run_even_if_it_is_delivered_five_times(part: int):
    play(Calm, part, CALM)

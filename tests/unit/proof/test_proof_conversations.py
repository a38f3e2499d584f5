"""Whatever request an operation on a conversation dies at, whatever happens between two of them, and in random
histories: each message is in the log once, blocks and groups are what the planner gives, nothing is written over,
nothing is asked again that is there, and the sweep alone brings all of it to rest.
"""

import pytest

from tests.support import talk_crash, talk_histories
from tests.support.crash import ERRORS, KILLS
from tests.support.talk_crash import OPERATIONS, PAIRS, RECOVERIES, WAYS

HISTORIES = 500
PARTS = 4
CALM = 150
POINTS = 40
"""Of a long operation at which it is killed here; benchmarks/conversations_proof.py takes all."""


def points(operation, most=POINTS):
    count = talk_crash.requests_of(operation)
    return range(0, count, max(1, count // most))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@pytest.mark.parametrize("recover", RECOVERIES, ids=lambda recover: recover.__name__)
def test_an_operation_on_a_conversation_killed_at_any_request_converges(operation, recover):
    for fault in KILLS:
        for point in points(operation):
            wrong = talk_crash.crash(operation, fault, recover, point)
            assert not wrong, f"{fault.name}, request {point}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_an_operation_on_a_conversation_whose_requests_fail_one_by_one_converges(operation):
    for fault in ERRORS:
        for point in points(operation, POINTS // 4):
            wrong = talk_crash.crash(operation, fault, talk_crash.again, point)
            assert not wrong, f"{fault.name}, request {point}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{first} & {second}" for first, second in PAIRS])
def test_two_operations_on_a_conversation_converge_whatever_happens_between_them(first, second):
    every = max(1, talk_crash.turns_of(first, second) // 12)
    broken = [f"{where}: {wrong}" for way in WAYS for where, wrong in way(first, second, every) if wrong]
    assert not broken, "\n".join(broken[:10])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_histories_of_a_conversation_converge(part):
    broken = [
        wrong for number in range(part * HISTORIES, (part + 1) * HISTORIES) for wrong in talk_histories.play(number)[0]
    ]
    assert not broken, "\n".join(broken[:10])


@pytest.mark.slow
def test_without_faults_boundaries_are_those_of_one_plan_and_nothing_is_asked_twice_even_by_two_at_once():
    for number in range(CALM):
        wrong, _, raced = talk_histories.play(number, calm=True)
        assert not wrong
        assert raced == 0

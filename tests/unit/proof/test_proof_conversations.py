"""Whatever request an operation on a conversation dies at, whatever happens between two of them, and in random
histories: each message is in the log once, blocks and groups are what the planner gives, nothing is written over,
nothing is asked again that is there, and the sweep alone brings all of it to rest.
"""

import pytest

from tests.support import talk_crash, talk_histories
from tests.support.crash import ERRORS, KILLS
from tests.support.talk_crash import OPERATIONS, PAIRS, RECOVERIES, WAYS

HISTORIES = 200
PARTS = 4
CALM = 60
POINTS = 20
"""Of a long operation at which it is killed here; benchmarks/conversations_proof.py (make proof) takes all."""
WAYS_TO_DIE = [(fault, recover) for recover in RECOVERIES for fault in KILLS]


def points(operation, turn, most=POINTS):
    """Every so many-th request of the operation. Each `turn` begins at another one, so that together they meet all."""
    count = talk_crash.requests_of(operation)
    every = max(1, count // most)
    return range(turn % every, count, every)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@pytest.mark.parametrize("recover", RECOVERIES, ids=lambda recover: recover.__name__)
def test_an_operation_on_a_conversation_killed_at_any_request_converges(operation, recover):
    for fault in KILLS:
        for point in points(operation, WAYS_TO_DIE.index((fault, recover))):
            wrong = talk_crash.crash(operation, fault, recover, point)
            assert not wrong, f"{fault.name}, request {point}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_an_operation_on_a_conversation_whose_requests_fail_one_by_one_converges(operation):
    for turn, fault in enumerate(ERRORS):
        for point in points(operation, turn, POINTS // 2):
            wrong = talk_crash.crash(operation, fault, talk_crash.again, point)
            assert not wrong, f"{fault.name}, request {point}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{first} & {second}" for first, second in PAIRS])
def test_two_operations_on_a_conversation_converge_whatever_happens_between_them(first, second):
    every = max(1, talk_crash.turns_of(first, second) // 8)
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

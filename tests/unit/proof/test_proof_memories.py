"""Whatever request an operation on memories dies at, whatever happens between two of them, and in random histories:
what was acknowledged is in the log once and nothing that was said is lost, no two memories say the same, what holds for
ever stays, what has expired goes, and every reader and every snapshot says what the log says.
"""

from itertools import combinations

import pytest

from livemem.text import similarity
from tests.support import memory_crash, memory_histories
from tests.support.crash import ERRORS, KILLS
from tests.support.memory_crash import OPERATIONS, PAIRS
from tests.support.memory_proof import TOPICS, plain, says, text

HISTORIES = 200
"""In each part; benchmarks/memories_proof.py (make proof) plays 20,000."""
PARTS = 4


def test_the_texts_of_the_proof_mean_to_the_service_what_they_mean_to_the_proof():
    for topic, things in enumerate(TOPICS):
        told = [(thing, text(topic, thing, place)) for thing, words in enumerate(things) for place in range(len(words))]
        for (thing, one), (other, another) in combinations(told, 2):
            assert similarity.differs(one, another) == (thing != other), (one, another)
            assert (similarity.normalised(one) == similarity.normalised(another)) == (plain(one) == plain(another))


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
@pytest.mark.parametrize("again", [True, False], ids=["repeated", "not repeated"])
def test_an_operation_on_memories_killed_or_broken_at_any_request_happens_once_or_never(operation, again):
    for fault in (*KILLS, *ERRORS):
        for point in range(memory_crash.requests_of(operation)):
            wrong = memory_crash.crash(operation, fault, point, again=again)
            assert not wrong, f"{fault.name}, request {point}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{first} & {second}" for first, second in PAIRS])
def test_two_operations_on_memories_converge_whatever_happens_between_them(first, second):
    broken = [f"{where}: {wrong}" for where, wrong in memory_crash.pair(first, second, every=3) if wrong]
    assert not broken, "\n".join(broken[:10])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_histories_of_memories_converge(part):
    numbers = range(part * HISTORIES, (part + 1) * HISTORIES)
    broken = [wrong for number in numbers for wrong in memory_histories.play(number)[0]]
    assert not broken, "\n".join(broken[:10])


@pytest.mark.parametrize("lockstep", [False, True], ids=["in any order", "in turn"])
def test_forty_who_store_ten_facts_at_once_in_different_words_make_ten_memories_that_hold_all_of_them(lockstep):
    raced = memory_histories.race(1, lockstep=lockstep)

    assert not raced.wrong
    assert len(raced.memories) == 10
    for topic in range(4, 14):
        (memory,) = [one for one in raced.memories if one["content"].startswith(f"{topic}: ")]
        assert all(says(memory, text(topic, 0, wording)) for wording in range(4))

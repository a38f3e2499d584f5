"""In random histories of rooms and digests each message is in exactly one memory that was found, or given up once, and
none is lost or stays; each memory is stored once; the LLM is never asked what was answered when its asker looked.
"""

import pytest

from tests.support import digest_histories

HISTORIES = 120
"""In each part; benchmarks/memories_proof.py (make proof) plays 20,000."""
PARTS = 4
CALM = 80


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_histories_of_rooms_and_digests_converge(part):
    numbers = range(part * HISTORIES, (part + 1) * HISTORIES)
    broken = [wrong for number in numbers for wrong in digest_histories.play(number)[0]]
    assert not broken, "\n".join(broken[:10])


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, 10, 20, 30, 40])
def test_a_worker_that_stood_still_at_any_request_while_another_one_went_on_changes_nothing(part):
    broken = [(stop, wrong) for stop in range(70) if (wrong := digest_histories.stalled(stop, part))]
    assert not broken, broken[:5]


@pytest.mark.slow
def test_without_faults_the_llm_is_asked_once_for_each_chunk():
    broken = [wrong for number in range(CALM) for wrong in digest_histories.play(number, calm=True)[0]]
    assert not broken, "\n".join(broken[:10])

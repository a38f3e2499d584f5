"""What a consolidation of notes of 2 kB with a bank of 200 kB takes on real parts. `make proof` takes 500 notes."""

import pytest

from benchmarks import consolidation


@pytest.mark.proof
def test_100_notes_and_a_bank_of_200_kb_stay_within_the_limits():
    (result,) = consolidation.run_all((100,))
    assert result["notes"] == 100
    assert result["peak_mib"] < consolidation.LIMIT_MIB
    assert result["reads"] <= 12 + 100 + 10
    # W + 9 of docs/consolidation.md; one of them counts what the LLM was used for (spaces/usage_counts.py).
    assert result["puts"] <= result["written"] + 9

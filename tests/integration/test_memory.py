"""What a consolidation of 500 notes of 2 kB with a bank of 200 kB takes on real parts: memory is held to its limit."""

import pytest

from benchmarks import consolidation


@pytest.mark.slow
def test_500_notes_and_a_bank_of_200_kb_stay_within_the_limits(tmp_path):
    (result,) = consolidation.run_all((500,))
    assert result["notes"] == 500
    assert result["peak_mib"] < consolidation.LIMIT_MIB
    assert result["reads"] <= 12 + 500 + 10
    # W + 9 of docs/consolidation.md; one of them counts what the LLM was used for (spaces/usage_counts.py).
    assert result["puts"] <= result["written"] + 9

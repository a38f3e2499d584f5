"""A search over all spaces of a token (docs/scale.md): what it costs grows with the spaces, and each answer has 20."""

import pytest

from benchmarks.scale import everywhere


@pytest.mark.proof
def test_each_answer_has_20_spaces_and_costs_what_the_first_one_does():
    few, many = everywhere.play(20), everywhere.play(40)

    assert [(one.spaces, one.answers) for one in (*few, *many)] == [(20, 1)] * 2 + [(40, 2)] * 2
    for own, others in zip(few, many, strict=True):
        assert others.requests == pytest.approx(2 * own.requests, abs=2)
    # A new process reads the snapshot of each space; after that a space is a head and some listings.
    assert few[0].requests <= 15 * 20
    assert few[1].requests <= 9 * 20
    # Well within the time of a request.
    assert max(one.seconds for one in few) < 5

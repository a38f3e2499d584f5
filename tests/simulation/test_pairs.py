"""Whatever happens between two actions: what their kind promises is so. Here every second pair is played, and each way
between them stops at every so many-th request; `make proof` takes all of them.
"""

import pytest

from tests.simulation.kinds import KINDS
from tests.simulation.pairs import EVERY, Play
from tests.support.part import part

PAIRS = [(kind, pair) for kind in KINDS for pair in part(kind.pairs, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pair"), PAIRS, ids=[f"{kind}: {pair}" for kind, pair in PAIRS])
def test_two_actions_keep_what_is_promised_whatever_happens_between_them(kind, pair):
    broken = [f"{where} -> {wrong}" for where, wrong in Play(kind, pair, kind.sampled.turns).all() if wrong]
    assert not broken, f"{len(broken)}:\n" + "\n".join(broken[:10])


def test_every_way_between_two_actions_is_gone():
    assert {way for _, pair in PAIRS for way in pair.ways} == EVERY

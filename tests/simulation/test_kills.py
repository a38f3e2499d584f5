"""Whatever request an action dies at or that fails, and however it recovers: what its kind promises is so. Here each
fault and each recovery meets every so many-th request, each other ones; `make proof` takes all of them.
"""

import pytest

from tests.simulation.kills import kill
from tests.simulation.kinds import KINDS

CASES = [(kind, action) for kind in KINDS for action in kind.actions]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "action"), CASES, ids=[f"{kind}: {action}" for kind, action in CASES])
def test_an_action_that_is_killed_or_fails_at_any_request_keeps_what_is_promised(kind, action):
    tried = list(kill(kind, action, kind.sampled.requests))
    broken = [f"{where} -> {wrong}" for where, wrong in tried if wrong]
    assert tried
    assert not broken, f"{len(broken)}:\n" + "\n".join(broken[:10])

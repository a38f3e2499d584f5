"""Whatever request an action dies at or that fails, and however it recovers: what its kind promises is so. Here the
first story of each kind dies at every request, where the ways to recover take turns, and each action meets every so
many-th of all faults and ways. `make proof` takes all of them.
"""

import pytest

from tests.simulation.kills import kill, kill_each
from tests.simulation.kinds import KINDS

STORIES = [(kind, kind.actions[0]) for kind in KINDS if kind.actions]
CASES = [(kind, action) for kind in KINDS for action in kind.actions]


def named(cases):
    return [f"{kind}: {action}" for kind, action in cases]


def broken(tried):
    assert tried
    return "\n".join([f"{where} -> {wrong}" for where, wrong in tried if wrong][:10])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "action"), STORIES, ids=named(STORIES))
def test_the_first_story_of_a_kind_keeps_what_is_promised_whatever_request_it_is_killed_at(kind, action):
    assert not broken(list(kill_each(kind, action)))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "action"), CASES, ids=named(CASES))
def test_an_action_that_is_killed_or_fails_at_any_request_keeps_what_is_promised(kind, action):
    assert not broken(list(kill(kind, action, kind.sampled.kills)))

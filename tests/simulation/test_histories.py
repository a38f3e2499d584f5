"""Random histories keep what is promised; without faults nothing is done twice. Hypothesis draws them, and shortens one
that fails. `make proof` plays thousands that follow from numbers.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.simulation.choices import Choices
from tests.simulation.histories import play
from tests.simulation.kinds import KINDS

HISTORIES = [(kind, history) for kind in KINDS for history in kind.histories]
NAMES = [f"{kind}: {history.__name__}" for kind, history in HISTORIES]
CALM = [(kind, history) for kind, history in HISTORIES if history.has_calm]


def played(kind, history, count, *, calm=False):
    """Play so many histories, the same on every machine; a failure is shortened, and tells what was chosen."""

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(random=st.randoms(note_method_calls=True, use_true_random=False))
    def one(random):
        assert play(kind, history, Choices(random), calm=calm) == []

    one()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "history"), HISTORIES, ids=NAMES)
def test_random_histories_keep_what_is_promised(kind, history):
    played(kind, history, kind.sampled.histories)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "history"), CALM, ids=[f"{kind}" for kind, _ in CALM])
def test_without_faults_nothing_is_asked_twice(kind, history):
    played(kind, history, 2, calm=True)


EXTRAS = [(kind, *extra[:2]) for kind in KINDS for extra in kind.extras]


# A function says where it lies in memory, which differs from worker to worker.
@pytest.mark.parametrize(("kind", "name", "play_one"), EXTRAS, ids=[f"{kind}: {name}" for kind, name, _ in EXTRAS])
def test_what_else_a_kind_plays_keeps_what_is_promised(kind, name, play_one):
    with kind.limits():
        assert play_one(0) == []

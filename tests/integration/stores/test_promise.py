"""The promise of the commit (docs/reliability.md) on stores over HTTP: a reduced run of what the simulation does in
memory. Each action dies before and after each of its requests; random histories interleave at every request."""

from collections.abc import Callable

import pytest

from livemem.store.objects import Store
from tests.simulation.choices import seeded
from tests.simulation.histories import play
from tests.simulation.kills import on_store, requests
from tests.simulation.kinds.consolidation import CONSOLIDATION, BankHistory
from tests.simulation.scene import Action
from tests.support.faults import KILLS, Fault
from tests.support.remote import RemoteBucket

STORES = ("files", "moto", "minio", "versitygw")
NAMES = ("consolidation, 2 files", "undo", "manual edit of a file", "deletion of a space")
ACTIONS = {found.name: found for found in CONSOLIDATION.actions if found.name in NAMES}
BEFORE, AFTER = KILLS
STRIDES = {"files": 1, "moto": 3, "minio": 1}
"""Of moto's requests every third one is enough: it is slow, and all are done on MinIO and in memory."""
HISTORIES = 12


@pytest.fixture(name="remote")
def _remote(request: pytest.FixtureRequest, open_bucket: Callable[..., Store]) -> RemoteBucket:
    store = open_bucket(request.param)
    return RemoteBucket(store.v4, store.bucket)


def test_the_actions_are_there():
    assert len(ACTIONS) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("remote", "stride"), STRIDES.items(), ids=STRIDES, indirect=["remote"])
@pytest.mark.parametrize(("fault", "how"), [(BEFORE, "sweep"), (AFTER, "repeat")], ids=["sweep", "repeat"])
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_an_action_killed_at_any_request_keeps_the_promise(
    remote: RemoteBucket, stride: int, action: Action, fault: Fault, how: str
):
    scene = CONSOLIDATION.scene(remote.world())
    scene.prepare(action)
    points = len(requests(scene, action))
    assert points >= 5
    for point in range(0, points, stride):
        assert on_store(CONSOLIDATION, action, fault, how, point, remote.world) == [], f"request {point}"


@pytest.mark.slow
@pytest.mark.parametrize("remote", STORES, indirect=True)
def test_random_histories_lose_no_note_and_fold_none_twice(remote: RemoteBucket):
    for number in range(HISTORIES):
        assert play(CONSOLIDATION, BankHistory, seeded(number), world=remote.world()) == [], f"history {number}"

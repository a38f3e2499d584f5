"""What the sweep makes of an erasure that nobody goes on with."""

import pytest

from livemem.erasure import maintenance
from livemem.jobs.package import MORE_WORK, look_at_space
from livemem.spaces import head as heads
from tests.simulation.kills import requests
from tests.simulation.kinds.erasures import ERASURES, LIVE
from tests.simulation.scene import prepared
from tests.support.counting import WRITES, Killed
from tests.support.faults import KILLS, LATER


def test_a_dead_erasure_is_queued_once_and_the_space_stays_marked_until_nothing_is_watched():
    scene = prepared(ERASURES, LIVE).fork()
    world = scene.world
    verbs = requests(prepared(ERASURES, LIVE).fork(), LIVE)
    world.new_process()
    KILLS[1].arm(world, [point for point, verb in enumerate(verbs) if verb in WRITES.values()][-4])
    with pytest.raises(Killed):
        scene.do(LIVE)
    world.new_process()
    world.clock.move(LATER)
    world.queued.clear()

    report = world.sweep()

    assert report.did("erasures") == report.did(MORE_WORK) == ["demo"]
    assert [payload["kind"] for payload in world.queued] == ["erasure"]
    world.settle()
    assert heads.load(world.process, "demo").meta.erasing_now() is None
    watched = look_at_space(world.process, "demo")
    assert watched
    assert maintenance.maintain(world.process, watched) == {MORE_WORK: 1}

"""What the sweep makes of an erasure that nobody goes on with."""

import pytest

from livemem.erasure import maintenance
from livemem.jobs import maintainable
from livemem.jobs.maintainable import MORE_WORK
from livemem.spaces import head as heads
from tests.support import crash_erasure
from tests.support.counting import Killed
from tests.support.crash import KILLS, LATER


def test_a_dead_erasure_is_queued_once_and_the_space_stays_marked_until_nothing_is_watched():
    live = next(which for which in crash_erasure.ERASURES if which.name == "live")
    world, note_id = crash_erasure.begun(live)
    KILLS[1].arm(world, crash_erasure.writes_of(live)[-4])
    with pytest.raises(Killed):
        crash_erasure.erase(world, note_id)
    world.new_process()
    world.clock.move(LATER)
    world.queued.clear()

    report = world.sweep()

    assert report.did("erasures") == report.did(MORE_WORK) == ["demo"]
    assert [payload["do"] for payload in world.queued] == ["erase"]
    world.settle()
    assert heads.load(world.process, "demo").meta.erasing_now() is None
    watched = maintainable.find(world.process, "demo")
    assert watched
    assert maintenance.maintain(world.process, watched) == {MORE_WORK: 1}

"""Versions of summaries: the latest wish counts, each number is given once, and what is being built is left alone."""

import pytest

from livemem.conversations import maintenance, orders, summaries, summary_versions
from livemem.conversations.boundaries import BlockBoundary
from livemem.conversations.parameters import Parameters
from livemem.jobs.package import look_at_space
from livemem.store.bucket import BOUNDARY
from tests.support.talk import Talk, look_at_due
from tests.support.world import INVOCATION


def standing(talk):
    return summary_versions.read(talk.process, "demo", talk.conversation)


def begin(talk, seen, **changes):
    wanted = Parameters(**{**talk.conversation.parameters.model_dump(), **changes})
    return summary_versions.begin(talk.process, seen, "turns", wanted, talk.world.ids())


def talked():
    talk = Talk("turns")
    for number in range(4):
        talk.say("u" * 100, "a" * 100, message_id=f"m{number}")
    talk.update()
    return talk


def test_two_who_begin_at_once_get_numbers_of_their_own_and_the_later_one_is_built():
    talk = Talk()
    seen = standing(talk)
    first = begin(talk, seen, window_chars=7_000)
    second = begin(talk, seen, window_chars=8_000)
    known = standing(talk).known
    assert (first.version, second.version, known.highest) == (2, 3, 3)
    assert known.building == second
    assert begin(talk, standing(talk), window_chars=8_000) == second, "the same wish again changes nothing"


def test_one_that_is_wanted_no_more_never_counts():
    talk = Talk()
    first = begin(talk, standing(talk), window_chars=7_000)
    second = begin(talk, standing(talk), window_chars=8_000)
    assert not summary_versions.switch(talk.process, standing(talk), first, 0)
    assert summary_versions.switch(talk.process, standing(talk), second, 0)
    assert standing(talk).known.version == second.version
    assert [one.version for one in standing(talk).known.retired] == [1]


def test_a_rebuild_whose_invocation_is_lost_is_begun_by_the_sweep():
    talk = talked()
    orders.rebuild(talk.process, "demo", talk.id, None, {"concurrency": 5})
    talk.world.queued.clear()
    talk.world.pass_time(1_800)
    look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
    talk.world.settle()
    assert standing(talk).known.version == 2


def test_the_daily_look_removes_what_is_wanted_no_more_and_leaves_what_is_being_built():
    talk = talked()
    for window in (7_000, 8_000):
        orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": window})
        building = standing(talk).known.building.version
        talk.world.store.put(BOUNDARY.key("demo", talk.id, building, 1, 1), b"{}")
    space = look_at_space(talk.world.new_process(), "demo", daily=True)
    assert space
    assert maintenance.maintain(talk.process, space)["summary_versions_removed"] == 1
    assert (talk.names("v2/"), talk.names("v3/")) == ([], ["v3/boundaries/l1/000001.json"])
    assert talk.names("v1/")


@pytest.mark.parametrize("end", [2, 3])
def test_who_loses_the_race_for_a_seal_adopts_what_is_there(end):
    talk = Talk()
    at = summary_versions.At("demo", talk.conversation, standing(talk).current())
    moment = "2026-02-20T14:00:00.000Z"
    ours = BlockBoundary(
        start=1,
        start_offset=0,
        end=2,
        end_offset=5,
        next=(3, 0),
        reason="chars",
        chars=9,
        range_start=moment,
        range_end=moment,
    )
    theirs = ours.model_copy(update={"end": end, "next": (end + 1, 0)})
    assert summary_versions.write_boundary(talk.process, at, 1, 1, theirs) == theirs
    assert summary_versions.write_boundary(talk.process, at, 1, 1, ours) == theirs


def test_who_meets_another_end_of_a_block_goes_on_behind_it():
    talk = Talk("windows", window_chars=500, min_flush_chars=100)
    for number in range(8):
        talk.say("u" * 100, "a" * 100, message_id=f"m{number}")
    at = summary_versions.At("demo", talk.conversation, standing(talk).current())
    other = talk.world.with_parts()
    moment = "2026-02-20T14:00:00.000Z"
    shorter = BlockBoundary(
        start=1,
        start_offset=0,
        end=1,
        end_offset=200,
        next=(2, 0),
        reason="time",
        chars=200,
        range_start=moment,
        range_end=moment,
    )

    def be_faster(index, verb):
        if verb == "PUT" and "/boundaries/l1/000001" in talk.world.client.requests[index][1]:
            talk.world.client.before = lambda index, verb: None
            summary_versions.write_boundary(other, at, 1, 1, shorter)

    talk.world.client.before = be_faster
    assert talk.update().outcome == "done"
    found = summaries.block_boundaries(talk.process, summaries.read(talk.process, at), [1, 2, 3])
    assert [(boundary.start, boundary.end) for boundary in found] == [(1, 1), (2, 4), (5, 7)]

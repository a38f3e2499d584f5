"""Whatever request a restore or a fork dies at, and whatever it meets: the space is whole or not there."""

import pytest

from tests.support import crash_arrivals
from tests.support.crash import ERRORS, KILLS, Fault
from tests.support.crash_arrivals import ALL, MEETINGS, Bringing, Meeting


@pytest.mark.parametrize("bringing", ALL, ids=lambda bringing: bringing.name)
@pytest.mark.parametrize("fault", [*KILLS, *ERRORS], ids=lambda fault: fault.name)
@pytest.mark.parametrize("repeats", [True, False], ids=["same call again", "sweep"])
def test_a_space_that_is_brought_is_whole_or_not_there_whatever_request_fails(
    bringing: Bringing, fault: Fault, repeats: bool
):
    points = range(bringing.requests())
    found = {point: crash_arrivals.crash(bringing, fault, point, repeats=repeats) for point in points}
    assert {point: wrong for point, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("meeting", MEETINGS, ids=lambda meeting: meeting.name)
def test_a_space_that_is_brought_is_whole_or_not_there_whatever_it_meets(meeting: Meeting):
    broken = [(where, wrong) for way in (meeting.play, meeting.turns) for where, wrong in way() if wrong]
    assert not broken, f"{len(broken)}:\n" + "\n".join(map(str, broken[:10]))

"""Whatever request a restore or a fork dies at, and whatever it meets: the space is whole or not there."""

import pytest

from tests.support import crash_arrivals
from tests.support.crash import ERRORS, KILLS, Fault
from tests.support.crash_arrivals import ALL, FORK_AT, MEETINGS, RESTORE, Bringing, Meeting


def name(item: Fault | Bringing | Meeting) -> str:
    return item.name


def crashes(bringing: Bringing, fault: Fault, *, repeats: bool) -> dict[int, list[str]]:
    """What is wrong after the fault at each request."""
    found = {point: crash_arrivals.crash(bringing, fault, point, repeats=repeats) for point in bringing.points()}
    return {point: wrong for point, wrong in found.items() if wrong}


@pytest.mark.parametrize("bringing", ALL, ids=name)
@pytest.mark.parametrize("fault", KILLS, ids=name)
@pytest.mark.parametrize("repeats", [True, False], ids=["same call again", "sweep"])
def test_a_space_that_is_brought_is_whole_or_not_there_wherever_it_is_killed(
    bringing: Bringing, fault: Fault, repeats: bool
):
    assert crashes(bringing, fault, repeats=repeats) == {}


@pytest.mark.parametrize("bringing", [RESTORE, FORK_AT], ids=name)
@pytest.mark.parametrize("fault", ERRORS, ids=name)
def test_a_space_that_is_brought_is_whole_or_not_there_whatever_request_fails(bringing: Bringing, fault: Fault):
    assert crashes(bringing, fault, repeats=True) == {}


@pytest.mark.parametrize("meeting", MEETINGS, ids=name)
def test_a_space_that_is_brought_is_whole_or_not_there_whatever_it_meets(meeting: Meeting):
    broken = [(where, wrong) for way in (meeting.play, meeting.turns) for where, wrong in way() if wrong]
    assert not broken, f"{len(broken)}:\n" + "\n".join(map(str, broken[:10]))

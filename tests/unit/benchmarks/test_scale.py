"""How steps grow with what there is (docs/scale.md): by the real code, with counted requests."""

from dataclasses import replace

import pytest

from benchmarks.scale import growth, queues, registry
from benchmarks.scale.growth import CASES, Case
from tests.support.cases import each

FLAT = 0.02


@pytest.mark.slow
@each("case", CASES)
def test_no_step_takes_more_requests_than_what_it_is_about(case: Case):
    found = growth.measure(case, (1, 6))

    if case.others or case.of in ("live notes", "former consolidations"):
        assert found.exponent <= FLAT, found
    else:
        assert found.exponent <= 1, found


def test_the_days_use_is_read_in_at_most_17_requests_however_many_runs_there_were():
    (case,) = (case for case in CASES if case.of == "runs of the day")

    assert max(growth.measure(case).requests) == 17


@pytest.mark.slow
def test_a_space_at_rest_costs_6_requests_a_night_and_7_in_the_daily_sweep_however_many_there_are():
    looks = {case.name: growth.measure(case, (1, 10)).requests for case in CASES if case.of == "spaces"}

    # A GET or two and a LIST of all spaces come once.
    for name, each_space in (("the nightly look, nothing changed", 6), ("the daily sweep", 7)):
        assert [asked // number for asked, number in zip(looks[name], (10, 100), strict=True)] == [each_space] * 2


@pytest.mark.parametrize(("changes", "seconds"), [(100, 60.0), (30, 1.0)])
def test_no_change_of_the_registry_is_lost_or_refused_with_100_in_a_minute_or_30_in_a_second(
    changes: int, seconds: float
):
    found = registry.play(100, changes, seconds, cpu=0)

    assert (found.failed, found.lost, len(found.seconds)) == (0, 0, changes)


@pytest.mark.proof
def test_a_tenant_that_writes_without_a_pause_has_one_slot_and_others_wait_no_longer():
    load = queues.Load(spaces=8, notes=60, slots=2)
    alone, beside = queues.play(load), queues.play(replace(load, loop=200))

    assert (alone.failed, alone.left, beside.failed, beside.left) == (0, 0, 0, 0)
    assert len(alone.others) == len(beside.others) == 16
    assert beside.percentile(0.99) <= alone.percentile(0.99) + load.llm_seconds
    assert beside.percentile(0.99) < 120

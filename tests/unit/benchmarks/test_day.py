"""A day of thousands of spaces (docs/scale.md), in small: by the real code, with counted requests."""

import re
from dataclasses import replace

import pytest

from benchmarks.scale import aws, land, memory, polling, queues, report
from benchmarks.scale.account import template_kinds
from benchmarks.scale.day import BEGIN, HOUR, Load, Play
from benchmarks.scale.land import BUSY, Mix
from benchmarks.scale.polling import Polling
from benchmarks.scale.report import Report
from livemem.store.bucket import HEAD

READ_ALL = (("counter", "count"), ("indexer", "index"), ("indexer", "embed"), ("consolidate", "consolidate"))
SMALL = Load(
    mix=Mix(8, 2, 1),
    share=1,
    times_more=2,
    notes=60,
    sessions=1,
    turns=3,
    searches=1,
    reads=1,
    messages=4,
    memories=1,
    slots={"consolidate": 5},
)


@pytest.fixture(scope="module")
def quiet() -> Report:
    return Report(Play(SMALL).play())


@pytest.mark.slow
def test_a_day_ends_with_nothing_failed_throttled_or_left_and_each_threshold_was_served_within_two_minutes(
    quiet: Report,
):
    played = quiet.played

    assert (dict(played.account.failed), dict(played.account.given_up)) == ({}, {})
    assert (quiet.throttled, played.left) == (0, 0)
    # 240 notes: each space has reached its threshold twice.
    assert (played.posted["notes"], dict(played.runs)) == (240, {"done": 8})
    assert len(played.waited) == 8
    assert played.percentile(0.99) < 120


@pytest.mark.slow
def test_a_space_at_rest_costs_less_than_a_hundredth_of_a_cent_a_day(quiet: Report):
    # 10,000 of them: less than a dollar.
    assert 0 < quiet.at_rest / 8 < 1e-4
    asked = {name: quiet.played.account.tally.owned[name, land.REST].total() / 8 for name in report.SCHEDULED}
    assert asked == {
        "the night": pytest.approx(6, abs=0.1),
        "the daily sweep": pytest.approx(8, abs=1.1),
        "the sweep of what is due": 0,
        "the look at digests": 0,
    }


@pytest.mark.proof
def test_an_llm_that_is_down_for_hours_leaves_nothing_at_the_end_of_the_day():
    played = Play(replace(SMALL, mix=Mix(0, 2, 1), llm_down=(3 * HOUR, 9 * HOUR))).play()

    assert played.model.refused > 0
    assert played.left == 0
    assert max(played.waited) > HOUR
    # The pause after a failure doubles up to an hour, so that a model that is down is not asked all the time.
    assert played.model.refused < 300


@pytest.mark.slow
def test_a_busy_space_counts_as_often_as_it_stands_for(quiet: Report):
    twice = Report(quiet.played)
    twice.share = 2
    own = {one.name: one for one in quiet.operations}
    doubled = {one.name: one for one in twice.operations}

    assert doubled["a note"].s3 == pytest.approx(2 * own["a note"].s3)
    assert own["the night"].s3 < doubled["the night"].s3 < 1.5 * own["the night"].s3


@pytest.mark.proof
def test_a_tenant_in_a_loop_counts_once_and_nobody_waits_for_it(quiet: Report):
    beside = Report(Play(replace(SMALL, mix=Mix(0, 2, 1), loop=120)).play())
    played = beside.played

    assert (dict(played.account.failed), beside.throttled, played.left) == ({}, 0, 0)
    assert played.runs["done"] > quiet.played.runs["done"] + 2
    assert played.percentile(0.99) <= quiet.played.percentile(0.99) + SMALL.llm_seconds
    beside.share = 2
    own = {one.name: sum(one.requests.values()) for one in beside.operations}
    ones = played.account.tally.owned["a note", land.LOOP].total()
    assert own["a note"] == 2 * (played.account.tally.requests["a note"].total() - ones) + ones
    assert played.of_loop.total() > 0


@pytest.mark.slow
def test_digests_of_a_day_begin_at_four_times_or_all_at_the_same():
    rooms = Load(mix=Mix(0, 16, 0), share=1, notes=0, sessions=0, memories=0, messages=1)
    begun = []
    for load in (rooms, replace(rooms, zones=rooms.zones[:1])):
        played = Play(load).play()
        heads_of = [played.world.text(HEAD.key(name)) for name in land.names(BUSY, 16)]
        begun.append(len({match.group() for text in heads_of if (match := re.search(r'"timezone": "[^"]+"', text))}))

    assert begun == [4, 1]


def test_a_copied_space_is_whole_and_its_backup_holds_what_it_does():
    world = land.made(Mix(2, 1, 0), BEGIN)

    swept = world.sweep_all()

    assert (swept.spaces, swept.failed, swept.unreadable) == (3, [], {})
    assert world.bank(land.names(BUSY, 1)[0])
    assert {land.owner(key) for key in world.keys("_backups/r00001/")} == {"r"}
    assert land.owner("_due/20260220T1400/f6-b00197/notes/20260220T140030") == "b"
    assert [land.owner(key) for key in ("", "_system/tokens.json", "readme/x", "_due/x")] == [""] * 4


def test_functions_and_slots_are_those_of_the_template():
    kinds = template_kinds()

    assert (kinds["counter"].megabytes, kinds["sweep"].seconds, kinds["sweep"].retries) == (512, 300, 0)
    assert (kinds["consolidate"].slots, kinds["ingest"].slots) == (5, None)


def test_each_figure_of_aws_has_its_source_or_is_called_an_assumption():
    assert len(list(aws.table())) == len(aws.FACTS) + 2
    assert all(re.match(r"https://docs\.aws\.amazon\.com/", fact.source) for fact in aws.FACTS if fact.source)
    assert sum("an assumption" in line for line in aws.table()) == sum(not fact.source for fact in aws.FACTS)


@pytest.mark.proof
@pytest.mark.process
def test_no_step_that_reads_all_live_notes_takes_more_than_70_percent_of_its_functions_memory():
    found = list(memory.measure(300, READ_ALL))

    assert [one.function for one in found if not one.megabytes] == []
    assert max(one.share for one in found) < memory.SHARE
    assert {one.step: one.said for one in found}["count"] == "started"


@pytest.mark.proof
def test_tokens_that_poll_without_a_pause_take_nothing_from_others_and_are_answered_at_the_rate_of_their_space():
    held = polling.play(Polling(tokens=40, most=1, seconds=40))
    free = polling.play(Polling(tokens=40, most=0, seconds=40))

    assert (held.lost, held.reads[False], held.notes[False]) == (0, 0, 0)
    later = sum(held.answered[second] for second in range(polling.WARM, 40)) / 10
    assert later <= 2 * 1
    assert sum(free.answered[second] for second in range(polling.WARM, 39)) == 9 * 40
    assert held.at_once_later < free.at_once_later
    assert held.dollars_an_hour < free.dollars_an_hour / 2


def test_a_rate_of_the_api_below_what_comes_in_takes_reads_from_others_but_not_their_notes():
    held = polling.play(Polling(tokens=50, api_rate=20, most=0, seconds=35))

    assert held.reads[False] > 5
    # Notes have a rate of their own.
    assert held.notes == {True: 35}


def test_what_queues_costs_more_than_the_cost_page_says_are_entries_of_the_due_index():
    game = queues.play(queues.Load(spaces=4, notes=60, slots=5))

    assert game.left == 0
    assert game.s3 - game.due_index < 1.1 * queues.by_the_cost_page(4 * 60, game.runs)
    assert game.due_index > 0

"""Blocks and groups: no gap, no overlap, sizes within their bounds, the same ends whoever looks at whatever time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations.boundaries import (
    HARDCAP,
    LEAST_CHILDREN,
    LONGEST_GROUP,
    MOST_GROUP,
    Block,
    Child,
    Place,
    Size,
    next_block,
    next_group,
)
from livemem.conversations.parameters import LEAST_SLICED, Parameters
from tests.support.cases import each

START = datetime(2026, 2, 20, 14, tzinfo=UTC)
profiles = st.sampled_from(["turns", "windows", "windows"])


@st.composite
def parameters(draw: Any) -> Parameters:
    window = draw(st.sampled_from([500, 700, 1_000]))
    return Parameters(
        window_chars=window,
        wiggle=draw(st.sampled_from([0, 0.2, 0.5])),
        min_flush_chars=draw(st.sampled_from([1, 100, 300, 500])),
        seal_policy=draw(st.sampled_from(["hybrid", "chars", "time"])),
        ensure_assistant=draw(st.booleans()),
        flush_after_ms=draw(st.sampled_from([60_000, 1_200_000])),
        group_chars=1_000,
        group_raw_chars=draw(st.sampled_from([500, 2_000])),
    )


@st.composite
def logs(draw: Any) -> list[Size]:
    """Turns with none to very many characters, on clocks that also run backwards."""
    some = draw(
        st.lists(
            st.tuples(
                st.one_of(st.sampled_from([0, 0, 1, 99, 500, 600, 601, 1_200, 6_001, 13_000]), st.integers(0, 700)),
                st.booleans(),
                st.sampled_from([False] * 9 + [True]),
                st.sampled_from([-300, 0, 1, 30, 61, 60, 1_200, 1_201, 5_000]),
            ),
            max_size=25,
        )
    )
    moment, turns = START, []
    for index, (chars, ends, close, after) in enumerate(some, 1):
        moment += timedelta(seconds=after)
        turns.append(Size(index, 0 if close else chars, ends and bool(chars) and not close, close, moment))
    return turns


def plan(profile: Any, wanted: Parameters, turns: Sequence[Size], now: datetime | None = None) -> list[Block]:
    """All blocks at once."""
    blocks, start = [], Place(1, 0)
    while block := next_block(profile, wanted, turns[start.index - 1 :], start, now):
        blocks.append(block)
        start = block.next
    return blocks


@given(profiles, parameters(), logs(), st.booleans())
def test_blocks_follow_each_other_without_a_gap_or_an_overlap_and_count_what_they_cover(profile, wanted, turns, late):
    start = Place(1, 0)
    for block in plan(profile, wanted, turns, turns[-1].moment + timedelta(days=1) if late and turns else None):
        assert block.start == start
        assert (start.index, start.offset) < (block.next.index, block.next.offset)
        if block.next.offset:
            assert (block.next.index, block.next.offset) == (block.end, block.end_offset)
            assert block.end_offset < turns[block.end - 1].chars
        else:
            assert (block.next.index, block.end_offset) == (block.end + 1, turns[block.end - 1].chars)
        covered = sum(turn.chars for turn in turns[start.index - 1 : block.end - 1]) + block.end_offset - start.offset
        assert block.chars == covered > 0
        # Their own times may run backwards.
        first, last = turns[start.index - 1].moment, turns[block.end - 1].moment
        assert (block.range_start, block.range_end) == (min(first, last), max(first, last))
        start = block.next


@given(profiles, parameters(), logs(), st.lists(st.integers(0, 25), max_size=8))
def test_scans_of_any_beginnings_of_the_log_find_the_ends_of_a_plan_of_the_whole(profile, wanted, turns, seen):
    sealed: list[Block] = []
    for count in [*sorted(seen), len(turns)]:
        start = sealed[-1].next if sealed else Place(1, 0)
        while block := next_block(profile, wanted, turns[start.index - 1 : count], start):
            sealed.append(block)
            start = block.next
    assert sealed == plan(profile, wanted, turns)


@given(profiles, parameters(), logs(), st.lists(st.tuples(st.integers(0, 25), st.integers(0, 3_000)), max_size=8))
def test_what_the_time_ends_at_the_end_of_the_log_is_where_the_whole_log_ends_it_if_no_later_turn_has_an_earlier_time(
    profile, wanted, turns, seen
):
    """The one condition: `now` is not later than any turn that is still to come."""
    sealed: list[Block] = []
    for count, waited in sorted(seen):
        start = sealed[-1].next if sealed else Place(1, 0)
        there, to_come = turns[:count], turns[count:]
        if not there:
            continue
        now = there[-1].moment + timedelta(seconds=waited)
        if any(turn.moment < now for turn in to_come):
            continue
        while block := next_block(profile, wanted, there[start.index - 1 :], start, now):
            sealed.append(block)
            start = block.next
    end = max((turn.moment for turn in turns), default=START) + timedelta(days=2)
    whole = plan(profile, wanted, turns, end)
    assert sealed == whole[: len(sealed)]


@given(profiles, parameters(), logs())
def test_sizes_of_blocks_keep_to_the_bounds_of_their_reasons(profile, wanted, turns):
    window = wanted.window_chars * (LEAST_SLICED if profile == "turns" else 1)
    upper, hard = window * (1 + wanted.wiggle), HARDCAP * window
    for block in plan(profile, wanted, turns, turns[-1].moment + timedelta(days=1) if turns else None):
        last = turns[block.end - 1]
        assert block.chars < hard + upper
        if block.reason == "slice":
            cut = bool(block.next.offset)
            assert block.chars == window if cut else wanted.min_flush_chars <= block.chars < hard
        elif block.reason == "duo":
            assert wanted.min_flush_chars <= block.chars <= upper
        elif block.reason == "chars":
            assert block.chars >= window
            assert wanted.seal_policy != "time"
        elif block.reason == "time":
            assert block.chars >= wanted.min_flush_chars
            assert profile == "windows"
            assert wanted.seal_policy != "chars"
        elif block.reason == "hardcap":
            assert block.chars >= window
        if block.reason in {"duo", "chars", "time", "turn"}:
            assert last.ends or not wanted.ensure_assistant
        if block.reason == "turn":
            assert profile == "turns"
        if block.reason == "close":
            assert last.close


@given(parameters(), logs())
def test_the_open_end_is_shorter_than_one_and_a_half_windows_and_what_has_no_size(wanted, turns):
    blocks = plan("windows", wanted, turns)
    start = blocks[-1].next if blocks else Place(1, 0)
    assert sum(turn.chars for turn in turns[start.index - 1 :]) - start.offset < HARDCAP * wanted.window_chars


@given(logs())
def test_in_the_profile_turns_each_complete_turn_of_a_usual_size_ends_a_block(turns):
    wanted = Parameters()
    ends = {block.end for block in plan("turns", wanted, turns) if not block.next.offset}
    assert {turn.index for turn in turns if turn.ends} <= ends


def turn(index: int, chars: int, *, ends: bool = True, after: float = 0, close: bool = False) -> Size:
    return Size(index, chars, ends, close, START + timedelta(seconds=after))


WINDOWS = Parameters(window_chars=1_000, min_flush_chars=400)


@each(
    ("turns", "expected"),
    [
        ([turn(1, 600), turn(2, 700)], [("duo", 1, 600)]),
        ([turn(1, 300), turn(2, 950)], [("chars", 2, 1_250)]),
        ([turn(1, 600), turn(2, 600)], [("chars", 2, 1_200)]),
        ([turn(1, 600), turn(2, 601)], [("duo", 1, 600)]),
        ([turn(1, 800, ends=False), turn(2, 300, ends=False), turn(3, 400, ends=False)], [("hardcap", 3, 1_500)]),
        ([turn(1, 500), turn(2, 1_201)], [("slice", 1, 500), ("slice", 2, 1_000)]),
        ([turn(1, 300), turn(2, 1_201)], [("slice", 2, 1_000)]),
        ([turn(1, 2_500)], [("slice", 1, 1_000), ("slice", 1, 1_000)]),
        ([turn(1, 500), turn(2, 50, after=1_201)], [("time", 1, 500)]),
        ([turn(1, 500), turn(2, 50, after=1_200)], []),
        ([turn(1, 399), turn(2, 50, after=1_201)], []),
        ([turn(1, 500, ends=False), turn(2, 50, after=1_201)], [("time", 2, 550)]),
        ([turn(1, 50), turn(2, 0, ends=False, close=True)], [("close", 2, 50)]),
        ([turn(1, 0, ends=False, close=True)], []),
        ([turn(1, 500, after=5_000), turn(2, 50, after=0)], []),
    ],
)
def test_the_rules_of_windows_by_example(turns, expected):
    found = [(block.reason, block.end, block.chars) for block in plan("windows", WINDOWS, turns)]
    assert found == expected


def test_an_open_end_that_is_old_enough_ends_and_a_younger_one_does_not():
    turns = [turn(1, 500)]
    assert not plan("windows", WINDOWS, turns, START + timedelta(seconds=1_200))
    (block,) = plan("windows", WINDOWS, turns, START + timedelta(seconds=1_201))
    assert (block.reason, block.chars) == ("time", 500)


@each(("policy", "expected"), [("chars", []), ("time", ["time"]), ("hybrid", ["time"])])
def test_the_policy_says_whether_a_pause_ends_a_block(policy, expected):
    wanted = WINDOWS.model_copy(update={"seal_policy": policy})
    assert [block.reason for block in plan("windows", wanted, [turn(1, 500), turn(2, 9, after=9_999)])] == expected


def test_by_time_alone_no_number_of_characters_ends_a_block_before_the_cap():
    wanted = WINDOWS.model_copy(update={"seal_policy": "time"})
    assert [block.chars for block in plan("windows", wanted, [turn(n, 499) for n in range(1, 5)])] == [1_996]


children = st.lists(st.tuples(st.integers(1, 1_700), st.integers(1, 900)), max_size=30).map(
    lambda some: [Child(number, chars, raw) for number, (chars, raw) in enumerate(some, 1)]
)


def groups(profile: Any, wanted: Parameters, level: int, waiting: Sequence[Child]) -> list[Sequence[Child]]:
    found = []
    while group := next_group(profile, wanted, level, waiting):
        found.append(group)
        waiting = waiting[len(group) :]
    return found


@given(profiles, parameters(), st.sampled_from([2, 3]), children, st.lists(st.integers(0, 30), max_size=6))
def test_groups_follow_each_other_and_are_the_same_however_much_was_seen_at_a_time(profile, wanted, level, below, seen):
    whole = groups(profile, wanted, level, below)
    found: list[Sequence[Child]] = []
    for count in [*sorted(seen), len(below)]:
        behind = sum(len(group) for group in found)
        found += groups(profile, wanted, level, below[behind:count])
    assert found == whole
    assert [child for group in whole for child in group] == below[: sum(len(group) for group in whole)]


@given(parameters(), st.sampled_from([2, 3]), children)
def test_a_group_has_about_its_size_unless_one_child_alone_is_larger(wanted, level, below):
    size = wanted.group_chars
    for group in groups("windows", wanted, level, below):
        chars = sum(child.chars for child in group)
        assert len(group) == 1 or chars <= size * LONGEST_GROUP
        if chars < size:
            # It ended before one that would have passed the upper bound.
            following = next(child for child in below if child.number == group[-1].number + 1)
            assert chars + following.chars > size * MOST_GROUP


@each(
    ("sizes", "expected"),
    [
        ([500, 500], [2]),
        ([600, 600], [2]),
        ([850, 400], [1]),
        ([790, 710], [2]),
        ([790, 711], [1]),
        ([2_000, 100], [1]),
        ([100, 2_000], [1, 1]),
        ([400, 400], []),
    ],
)
def test_the_rule_of_groups_by_example(sizes, expected):
    wanted = Parameters(group_chars=1_000)
    below = [Child(number, chars, 1) for number, chars in enumerate(sizes, 1)]
    assert [len(group) for group in groups("windows", wanted, 2, below)] == expected


@given(children)
def test_in_the_profile_turns_the_second_level_goes_by_the_characters_of_the_turns(below):
    wanted = Parameters(group_raw_chars=500)
    for group in groups("turns", wanted, 2, below):
        raw = [child.raw_chars for child in group]
        assert sum(raw) > 500
        assert len(group) >= LEAST_CHILDREN
        assert len(group) == LEAST_CHILDREN or sum(raw[:-1]) <= 500


@given(st.integers(1, 100_000), st.sampled_from([0.01, 0.1, 0.5]))
def test_a_summary_should_have_its_share_of_the_source_and_600_characters_of_a_source_that_may_have_findings(
    chars, ratio
):
    target = Parameters(ratio=ratio).target(chars)
    assert target >= 1
    if chars >= 1_200:
        assert target == max(600, round(ratio * chars))
    else:
        assert abs(target - ratio * chars) <= 1
    # A summary is never asked to be longer than half of its source.
    assert target <= max(round(chars / 2), 1)


@each(("chars", "target"), [(1_199, 120), (1_200, 600), (3_000, 600), (6_000, 600), (6_010, 601)])
def test_from_1200_characters_on_a_summary_should_have_600(chars, target):
    assert Parameters().target(chars) == target

"""What is shown of a conversation: nothing twice, within so many characters, and no text that looks like a heading."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations.summaries import Covers, Summary
from livemem.conversations.turn import ToolCall, Turn
from livemem.recall import render_context
from livemem.recall.render_context import FoundExchange, Sections, ShownSummary, ShownTurn

NOW = "2026-02-20T14:00:00Z"
HEADINGS = [render_context.RAW, render_context.TURNS, render_context.SUMMARIES, render_context.WAITING]


def turn(index, user="", assistant="", /, **more):
    return Turn(
        turn_index=index,
        message_id=f"m{index}",
        user_message=user,
        assistant_message=assistant,
        timestamp=NOW,
        char_count=len(user) + len(assistant),
        author="ann",
        open=not assistant,
        **more,
    )


def summary(number, covers=None, level=1, text="A summary.", **more):
    moments: dict[str, Any] = dict.fromkeys(("range_start", "range_end", "created_at", "generated_at"), NOW)
    return Summary(
        level=level,
        number=number,
        covers=Covers(turns=covers or (number, number)),
        summary=text,
        chars=len(text),
        source_chars=10,
        model="m",
        prompt_version="1",
        **moments,
        **more,
    )


def shown(*turns):
    return [ShownTurn(one, one.user_message, one.assistant_message) for one in turns]


def test_the_markdown_has_these_headings_and_lines():
    call = ToolCall(name="grep")
    sections = Sections(
        raw=shown(
            turn(7, "Hello", "Hi", user="dev", tool_calls=[call, call, ToolCall(name="ls")]),
            turn(8, "Be brief.", role="system"),
            turn(
                9,
                "",
                "I am at the harbour.",
                role="assistant",
                written_by="bot",
                client_timestamp="2026-02-19T09:30:00Z",
            ),
        ),
        turns=[render_context.cut(turn(2, "Which store?", "S3."), 100, 83)],
        summaries=[
            ShownSummary(summary(1, (1, 4), 2, "They talk.", key_findings=["S3", "x\ny"], files_mentioned=["a.py"]), 71)
        ],
        waiting=[ShownSummary(summary(5, key_findings=["k"], files_mentioned=["b.py", "c.py"], tools_used=["grep"]))],
    )

    assert (
        render_context.markdown(sections)
        == """\
## Recent Conversation (Raw)

[Turn 7] 2026-02-20 14:00 UTC, said by ann for dev
User: Hello
Assistant: Hi
Tools: grep, ls

[Turn 8] 2026-02-20 14:00 UTC
System: Be brief.

[Turn 9] 2026-02-19 09:30 UTC, said by bot for ann
I am at the harbour.

## Relevant Past Context (Semantic Search - Turns)

[Turn 2 - Relevance: 83%] 2026-02-20 14:00 UTC
User: Which store?
Assistant: S3.

## Relevant Past Context (Semantic Search - Summaries)

[Level 2 Summary - Relevance: 71%] 2026-02-20 14:00 UTC
They talk.
Key findings:
- S3
- x y
Files mentioned: a.py

## Recent Level 1 Summaries (Not Yet Summarized to Level 2)

[Level 1 Summary] 2026-02-20 14:00 UTC
A summary.
Key findings:
- k
Files mentioned: b.py, c.py
Tools used: grep
"""
    )
    assert render_context.markdown(Sections()) == ""
    assert render_context.markdown(Sections(waiting=sections.waiting)).startswith(render_context.WAITING)


BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"]
OURS = ["User: x", "Assistant: y", "[Turn 1 - Relevance: 9%]", "[Level 1 Summary]", "Tools:", "Key findings:"]
HEADINGS_OF_OTHERS = [
    "# a",
    "## Recent Conversation (Raw)",
    "   ## b",
    "\t#",
    "====",
    "---",
    " - - -",
    "#hash",
    "\u00a0# d",
]
LINES = st.sampled_from([*OURS, *HEADINGS_OF_OTHERS, "text", "", "a # b", "\\# c"])
TEXTS = st.lists(st.tuples(LINES, st.sampled_from(BREAKS)), max_size=6).map(
    lambda some: "".join(a + b for a, b in some)
)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_can_look_like_a_heading_an_entry_or_what_somebody_said(user, assistant, told, finding):
    one = turn(1, user, assistant, user="[Turn 1] x\u200b" * 9, tool_calls=[ToolCall(name=finding or "x")])
    about = summary(1, text=told, key_findings=[finding], files_mentioned=[finding], tools_used=[finding])
    text = render_context.markdown(
        Sections(shown(one), [render_context.cut(one, 2_000, 5)], [ShownSummary(about, 1)], [ShownSummary(about)])
    )
    lines = text.splitlines()

    assert [line for line in lines if line.lstrip().startswith("#")] == HEADINGS
    assert not [line for line in lines if re.fullmatch(r"\s*(=+|-+)\s*", line) and line.strip() != "-"]
    assert len([line for line in lines if line.lstrip().startswith("[Turn ")]) == 2
    assert len([line for line in lines if line.lstrip().startswith("[Level ")]) == 2
    assert len([line for line in lines if line.lstrip().startswith("User:")]) == 2 * bool(user.strip())
    assert len([line for line in lines if line.lstrip().startswith("Assistant:")]) == 2 * bool(assistant.strip())


def test_the_newest_turns_come_whole_and_the_very_newest_always():
    turns = [turn(4, "d" * 10), turn(3, "c" * 10), turn(2, "b" * 10), turn(1, "a")]

    def which(most, characters):
        return [(one.turn.turn_index, one.left_out) for one in render_context.newest(turns, most, characters)]

    assert which(3, 1_000) == [(2, 0), (3, 0), (4, 0)]
    assert which(9, 25) == [(3, 0), (4, 0)]
    assert which(9, 31) == [(1, 0), (2, 0), (3, 0), (4, 0)]
    assert which(9, 4) == [(4, 6)]
    assert render_context.newest([], 3, 100) == []


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 130))
def test_a_turn_is_cut_in_its_middle_with_a_mark_that_names_what_is_left_out(user, assistant, characters):
    one = turn(1, user, assistant)
    found = render_context.cut(one, characters)
    mark = re.compile(r"\[\.\.\. (\d+) characters left out \.\.\.\]")
    left_out = len(user + assistant) - characters

    assert found.left_out == max(0, left_out)
    if left_out <= 0:
        assert (found.user, found.assistant) == (user, assistant)
    else:
        marks = [int(number) for text in (found.user, found.assistant) for number in mark.findall(text)]
        assert sum(marks) == left_out
        said = mark.sub("", found.user) + mark.sub("", found.assistant)
        assert (
            said
            == (user + assistant)[: (characters + 1) // 2]
            + (user + assistant)[len(user + assistant) - characters // 2 :]
        )


def exchanges(*numbers):
    return [FoundExchange([turn(number, "u")], 50) for number in numbers]


@given(st.lists(st.integers(1, 6), unique=True), st.sets(st.integers(1, 6)), st.integers(1, 5))
def test_a_turn_that_was_found_is_not_shown_if_it_is_raw(found, raw, most):
    kept, none = render_context.chosen(exchanges(*found), [], raw, raw, most)

    assert [one.turns[0].turn_index for one in kept] == [index for index in found if index not in raw][:most]
    assert none == []


def group(level, number):
    """Groups of three: summary n of a level is made of 3n-2 to 3n of the one below; of turns, of turn n alone."""
    first, last = number, number
    children = None
    for below in range(level, 1, -1):
        first, last = 3 * first - 2, 3 * last
        children = children or (first, last)
        del below
    return ShownSummary(summary(number, (first, last), level, children=children), 50)


def name_of(one):
    return one.summary.level, one.summary.number


SUMMARIES = st.lists(
    st.one_of(
        st.builds(group, st.just(1), st.integers(1, 9)),
        st.builds(group, st.just(2), st.integers(1, 3)),
        st.builds(group, st.just(3), st.just(1)),
    ),
    unique_by=name_of,
    max_size=13,
)


@given(SUMMARIES, st.sets(st.integers(1, 9)), st.integers(1, 13))
def test_a_summary_is_shown_unless_all_that_it_covers_is(found, raw, most):
    kept = render_context.found_summaries(found, raw, most)

    def covered(one):
        first, last = one.summary.covers.turns
        return set(range(first, last + 1))

    names = [name_of(one) for one in kept]
    assert len(kept) <= most
    assert [one for one in found if name_of(one) in names] == kept
    assert not [one for one in kept if covered(one) <= raw]
    for one in kept:
        if one.summary.children:
            first, last = one.summary.children
            assert not {(one.summary.level - 1, number) for number in range(first, last + 1)} <= {*names}
    if most >= len(found):
        # Nothing is left out that is told by nothing else.
        told = raw.union(*map(covered, kept))
        assert all(covered(one) <= told for one in found)


@given(
    st.lists(st.integers(1, 9), max_size=9, unique=True),
    st.lists(st.integers(1, 9), max_size=9, unique=True),
    st.sets(st.integers(1, 9), max_size=3),
    st.integers(1, 6),
)
def test_no_more_is_shown_than_is_asked_for_and_no_turn_beside_its_summary(turns, summaries, raw, most):
    shown, kept = render_context.chosen(exchanges(*turns), [group(1, n) for n in summaries], raw, raw, most)

    indexes, covered = [one.turns[0].turn_index for one in shown], [one.summary.covers.turns[0] for one in kept]
    assert len(shown) + len(kept) <= most
    assert len({*indexes, *covered, *raw}) == len(indexes) + len(covered) + len(raw)
    # Nothing is left out for want of room alone.
    left = {*turns, *summaries} - raw - {*indexes, *covered}
    assert len(shown) + len(kept) == most or not left


@given(st.sets(st.integers(1, 9)), SUMMARIES)
def test_what_waits_for_its_group_is_shown_unless_it_was_found_or_its_turns_are_raw(raw, found):
    kept = render_context.waiting([summary(number) for number in range(9, 0, -1)], raw, found)

    hit = {one.summary.number for one in found if one.summary.level == 1}
    assert [one.summary.number for one in kept] == [n for n in range(9, 0, -1) if n not in raw and n not in hit]


@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 400)), max_size=4),
    st.lists(st.integers(0, 300), max_size=3),
    st.lists(st.integers(0, 300), max_size=3),
    st.lists(st.integers(0, 300), max_size=3),
    st.integers(500, 2_000),
)
def test_sections_give_way_from_the_last_to_the_first_whole_entries_at_a_time(raw, turns, summaries, waiting, most):
    calls = [ToolCall(name="n" * 200 + str(number)) for number in range(5)]
    sections = Sections(
        shown(
            *(
                turn(n, text + "u" * size, tool_calls=calls[:n])
                for n, (text, size) in enumerate(raw, 1)
                if text.strip() or size
            )
        ),
        [render_context.cut(turn(n, "t" * (size + 1)), 2_000, 9) for n, size in enumerate(turns, 10)],
        [ShownSummary(summary(n, text="s" * (size + 1)), 9) for n, size in enumerate(summaries, 20)],
        [ShownSummary(summary(n, text="w" * (size + 1))) for n, size in enumerate(waiting, 30)],
    )
    kept, text = render_context.fitting(sections, most)

    assert len(text) <= most
    assert text == render_context.markdown(kept)
    assert bool(kept.raw) == bool(sections.raw)
    parts: list[tuple[list[Any], list[Any]]] = [
        (kept.raw, sections.raw),
        (kept.turns, sections.turns),
        (kept.summaries, sections.summaries),
        (kept.waiting, sections.waiting),
    ]
    assert kept.turns == sections.turns[: len(kept.turns)]
    assert kept.waiting == sections.waiting[: len(kept.waiting)]
    shortened = [place for place, (left, all_of_it) in enumerate(parts) if len(left) < len(all_of_it)]
    if shortened:
        assert not [left for left, _ in parts[shortened[0] + 1 :] if left]
        if len(kept.raw) == len(sections.raw):
            assert kept.raw == sections.raw or len(kept.raw) == 1

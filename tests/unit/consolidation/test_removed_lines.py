"""What went when a bank was shortened: each line whose words no line of the new bank holds together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.changes.records import RemovedLine
from livemem.consolidation.tidying import MOST_REMOVED, REMOVED_CHARACTERS, listed_lines, removed_lines

WORDS = st.sampled_from(["ferry", "crane", "K4", "17", "Kiel", "not", "the"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=8)


@given(before=LINES, kept=LINES)
def test_a_line_has_gone_if_and_only_if_no_line_has_all_its_words(before: list[str], kept: list[str]):
    gone = [one.line for one in removed_lines({"a.md": "\n".join(before)}, ["\n".join(kept)])]

    for line in before:
        telling = set(line.split()) - {"the"} or set(line.split())
        assert (line not in gone) == any(telling <= set(other.split()) for other in kept)


@given(lines=LINES, moved=st.randoms())
def test_what_moves_or_is_joined_has_not_gone(lines: list[str], moved):
    shuffled = [f"  * {line}" for line in lines]
    moved.shuffle(shuffled)

    assert removed_lines({"a.md": "\n".join(lines)}, ["# A", "\n".join(shuffled)]) == []
    assert removed_lines({"a.md": "\n".join(lines)}, [" and ".join(lines)]) == []


@pytest.mark.parametrize("line", ["---", "", "```", "| --- | --- |"])
def test_a_line_without_words_never_goes(line: str):
    assert removed_lines({"a.md": f"{line}\n"}, [""]) == []


def test_lines_are_listed_whole_as_many_as_there_is_room_for():
    lines = [RemovedLine(file="a.md", line=f"{number} " + "x" * 10) for number in range(MOST_REMOVED + 5)]
    long = RemovedLine(file="a.md", line="x" * (REMOVED_CHARACTERS + 1))

    assert listed_lines([long, *lines]) == lines[:MOST_REMOVED]

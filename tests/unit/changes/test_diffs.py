"""Diffs are what people know: unified, and they tell the file after from the file before without a gap."""

import io
import random
import re
from collections import Counter
from difflib import SequenceMatcher
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.changes import diffs
from livemem.changes.records import Before, FileChange

LINES = st.lists(
    st.sampled_from(
        ["a", "b", "", "a\r", "\x0c", "a\u2028b", "- x", "+ y", "@@", "\\ No newline at end of file", "--- a/x"]
    ),
    max_size=12,
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def change(before: str | None, after: str | None) -> FileChange:
    old = Before(etag='"1"', content=before) if before is not None else None
    return FileChange(path="log.md", action="updated", before=old, after=after)


def patched(before: str, diff: str) -> str:
    """`before` with a unified diff applied, as the tool `patch` does it."""
    source = list(io.StringIO(before))
    lines = list(io.StringIO(diff))[2:]
    result: list[str] = []
    position = index = 0
    while index < len(lines):
        hunk = HUNK.fullmatch(lines[index])
        assert hunk, lines[index]
        old, new = int(hunk[2] or 1), int(hunk[4] or 1)
        start = int(hunk[1]) - (1 if old else 0)
        result += source[position:start]
        position = start
        index += 1
        while old or new:
            kind, text = lines[index][0], lines[index][1:]
            index += 1
            if index < len(lines) and lines[index] == "\\ No newline at end of file\n":
                text, index = text.removesuffix("\n"), index + 1
            if kind in " -":
                assert source[position] == text
                position, old = position + 1, old - 1
            if kind in " +":
                result.append(text)
                new -= 1
    return "".join([*result, *source[position:]])


@given(TEXTS, TEXTS)
@example("a\n", "a")
@example("", "a\n")
@example("a", "")
@example("a\x0cb\r\n", "a\x0cc\r\n")
def test_a_diff_applied_to_the_file_before_gives_the_file_after(before: str, after: str):
    diff = diffs.unified(change(before, after))

    assert (diff == "") == (before == after)
    if diff:
        assert patched(before, diff) == after


def test_a_new_and_a_deleted_file_stand_against_nothing():
    assert diffs.unified(change(None, "a\n")) == "--- /dev/null\n+++ b/log.md\n@@ -0,0 +1 @@\n+a\n"
    assert diffs.unified(change("a\n", None)) == "--- a/log.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


@given(TEXTS, TEXTS, st.integers(0, 20))
def test_a_diff_that_ran_out_of_work_is_longer_but_as_right(before: str, after: str, work: int):
    diff = diffs.unified(change(before, after), work)

    assert (diff == "") == (before == after)
    if diff:
        assert patched(before, diff) == after


def any_of(kinds: int, count: int) -> str:
    chosen = random.Random(kinds)
    return "".join(f"{chosen.randrange(kinds)}\n" for _ in range(count))


HARD = {
    "few kinds of lines": (any_of(150, 12_000), any_of(151, 12_000)),
    "two by turns": ("a\nb\n" * 5_000, "b\na\n" * 5_000 + "c\n"),
    "one kind": ("a\n" * 10_000, "b\n" + "a\n" * 10_000 + "c\n"),
    "turned round": ("".join(f"{i}\n" for i in range(5_000)), "".join(f"{i}\n" for i in range(5_000, 0, -1))),
}


@pytest.mark.parametrize(("before", "after"), HARD.values(), ids=HARD)
def test_the_work_of_a_diff_is_bounded_whatever_the_lines(before: str, after: str, monkeypatch: pytest.MonkeyPatch):
    looked_at = [0]
    whole = SequenceMatcher.find_longest_match

    def counted(self, alo=0, ahi=None, blo=0, bhi=None):
        times = Counter(self.b[blo:bhi])
        popular = self.bpopular
        looked_at[0] += sum(1 + (times[line] if line not in popular else 0) for line in self.a[alo:ahi])
        return whole(self, alo, ahi, blo, bhi)

    monkeypatch.setattr(SequenceMatcher, "find_longest_match", counted)
    work = 1_000_000

    diff = diffs.unified(change(before, after), work)

    assert looked_at[0] <= work
    assert patched(before, diff) == after


def test_a_change_in_a_large_file_costs_no_more_than_what_was_changed():
    lines = [f"line {number}\n" for number in range(100_000)]
    changed = [*lines[:500], "new\n", *lines[500:600], *lines[601:]]

    diff = diffs.unified(change("".join(lines), "".join(changed)), 10_000)

    assert [line for line in diff.splitlines() if line[0] in "+-"] == [
        "--- a/log.md",
        "+++ b/log.md",
        "+new",
        "-line 600",
    ]


def test_all_the_files_of_a_record_share_its_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(diffs, "WORK", 500_000)
    file = change(any_of(10, 190), any_of(11, 190))

    def length(count: int) -> int:
        record: Any = SimpleNamespace(changed=lambda: [file] * count)
        return len(diffs.changes(record)[0]["diff"])

    assert length(1) == len(diffs.unified(file)) < length(200)


def test_a_diff_that_was_not_made_to_the_end_says_so(monkeypatch: pytest.MonkeyPatch):
    record: Any = SimpleNamespace(changed=lambda: [change(any_of(10, 190), any_of(11, 190))])
    assert diffs.changes(record)[0]["coarse"] is False

    monkeypatch.setattr(diffs, "WORK", 100)

    assert diffs.changes(record)[0]["coarse"] is True

"""Diffs are what people know: unified, and they tell the file after from the file before without a gap."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from livemem.changes import diffs
from livemem.changes.records import Before, FileChange

LINES = st.lists(
    st.sampled_from(["a", "b", "", "- x", "+ y", "@@", "\\ No newline at end of file", "--- a/x"]), max_size=12
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def change(before: str | None, after: str | None) -> FileChange:
    old = Before(etag='"1"', content=before) if before is not None else None
    return FileChange(path="log.md", action="updated", before=old, after=after)


def patched(before: str, diff: str) -> str:
    """`before` with a unified diff applied, as the tool `patch` does it."""
    source = before.splitlines(keepends=True)
    lines = diff.splitlines(keepends=True)[2:]
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
def test_a_diff_applied_to_the_file_before_gives_the_file_after(before: str, after: str):
    diff = diffs.unified(change(before, after))

    assert (diff == "") == (before == after)
    if diff:
        assert patched(before, diff) == after


def test_a_new_and_a_deleted_file_stand_against_nothing():
    assert diffs.unified(change(None, "a\n")) == "--- /dev/null\n+++ b/log.md\n@@ -0,0 +1 @@\n+a\n"
    assert diffs.unified(change("a\n", None)) == "--- a/log.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"

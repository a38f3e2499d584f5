"""Unified diffs of a record's changes, for people."""

import io
from collections.abc import Iterable, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate, takewhile
from typing import Any

from livemem.changes.records import FileChange, Record

CONTEXT_LINES = 3
WORK = 5_000_000
"""Pairs of equal lines that the diffs of one record may compare, about a second of CPU (measured, one core). Past that
the rest of a file is shown as replaced. That is as correct, only longer, and git does so with large files too."""


class _Matcher(SequenceMatcher[str]):
    """difflib's matcher with a bound: without one its time grows with the square of the lines, and more."""

    def __init__(self, before: Sequence[str], after: Sequence[str], work: int) -> None:
        self._head = _common(before, after)
        self._tail = _common(reversed(before[self._head :]), reversed(after[self._head :]))
        before, after = (lines[self._head : len(lines) - self._tail] for lines in (before, after))
        super().__init__(None, before, after)
        self._sizes = len(before), len(after)
        places = self.b2j  # type: ignore[attr-defined]  # an attribute that difflib documents
        self._pairs = list(accumulate((1 + len(places.get(line, ())) for line in before), initial=0))
        self._left = work

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """The longest match. An empty one as soon as the work is used up."""
        self._left -= self._pairs[self._sizes[0] if ahi is None else ahi] - self._pairs[alo]
        return super().find_longest_match(alo, ahi, blo, bhi) if self._left >= 0 else Match(alo, blo, 0)

    @property
    def gave_up(self) -> bool:
        """Whether the work was used up before everything was compared."""
        return self._left < 0

    def get_opcodes(self) -> list[Any]:
        """The opcodes of the lines between the common head and tail, and of head and tail as equal."""
        head, tail = self._head, self._tail
        a, b = (head + size for size in self._sizes)
        between = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in super().get_opcodes()]
        codes = [("equal", 0, head, 0, head), *between, ("equal", a, a + tail, b, b + tail)]
        return [code for code in codes if code[1] < code[2] or code[3] < code[4]]


def _common(left_lines: Iterable[str], other: Iterable[str]) -> int:
    """How many lines are the same at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left_lines, other, strict=False)))


def changes(record: Record) -> list[dict[str, Any]]:
    """Per changed file: path, action, unified diff, the edits if it was edited, and the reason if one was given.

    `coarse` says that the file is too large to be compared to the end: the rest is shown as replaced.
    """
    changed = record.changed()
    work = WORK // max(1, len(changed))
    changes = []
    for change in changed:
        diff, coarse = _compare(change, work)
        item = {"path": change.path, "action": change.action, "diff": diff, "edits": change.edits}
        changes.append({**item, "reason": change.reason, "said": change.said, "coarse": coarse})
    return changes


def unified(change: FileChange, work: int = WORK) -> str:
    """The unified diff of one file, `a/` before and `b/` after. `/dev/null` where there is no file."""
    return _compare(change, work)[0]


def _compare(change: FileChange, work: int) -> tuple[str, bool]:
    # Lines as diff and patch know them: str.splitlines also splits at form feeds, U+2028 and more.
    before = list(io.StringIO(change.before.content if change.before else ""))
    after = list(io.StringIO(change.after or ""))
    diff: list[str] = []
    matcher = _Matcher(before, after, work)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        diff.append(f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n")
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                diff += _marked(" ", before[a1:a2])
            else:
                diff += [*_marked("-", before[a1:a2]), *_marked("+", after[b1:b2])]
    if not diff:
        return "", matcher.gave_up
    old = f"a/{change.path}" if change.before else "/dev/null"
    new = f"b/{change.path}" if change.after is not None else "/dev/null"
    return "".join([f"--- {old}\n", f"+++ {new}\n", *diff]), matcher.gave_up


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


def _marked(mark: str, lines: Iterable[str]) -> list[str]:
    return [
        f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n" for line in lines
    ]

"""Marks for what was written on another branch than the reader's: ` (on feature/x as of 0123456789ab)`.

Nothing is left out, since agents side by side must know of each other. The reader's program, which has the repository,
takes away the marks of commits that its branch has, and shortens the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from livemem.search.documents import ARCHIVE, BANK, LIVE, TURN
from livemem.text.code_version import CodeVersion, line_key

if TYPE_CHECKING:
    from livemem.search.engine import Hit
    from livemem.search.index import Index

_LINE = "line "
Marks = Sequence[tuple[int, str]]
"""Places in a text with the marks that are shown behind them, in their order."""


def mark(code: CodeVersion, reader: CodeVersion) -> str:
    """The mark of what is of another branch of the reader's repository, else nothing."""
    if not code.branch or not reader.repository or code.repository != reader.repository or code.branch == reader.branch:
        return ""
    return f" (on {code.branch}{f' as of {code.commit}' if code.commit else ''})"


def marked(text: str, lines: Mapping[str, CodeVersion], reader: CodeVersion) -> str:
    """The text of a bank file or section with marks behind its lines. `lines`: their versions, by their keys."""
    return _inserted(text, _of_lines(text, lines, reader))


def of_line(key: str) -> str:
    """The name under which an index knows the version of a line by its key. No title begins like this."""
    return f"{_LINE}{key}"


def with_marks(index: "Index", hit: "Hit", reader: CodeVersion) -> "Hit":
    """The hit with its marks, none for a reader who names no repository. No request."""
    document = hit.document
    if not reader.repository:
        return hit
    if document.kind in (LIVE, ARCHIVE, TURN):
        text = mark(CodeVersion.read(document.more), reader)
        # Behind the part that is shown, else behind all.
        return replace(hit, marks=((hit.snippet[1] or len(document.text), text),)) if text else hit
    if document.kind != BANK:
        return hit
    told = index.told_of(document.group, {of_line(key) for key in map(line_key, document.text.splitlines())})
    lines = {name.removeprefix(_LINE): CodeVersion.of_header(header) for name, header in told.items()}
    start, end = hit.snippet
    found = _of_lines(document.text, lines, reader)
    # A snippet may end within a line.
    cut = end and document.text.find("\n", end) % (len(document.text) + 1)
    return replace(hit, marks=[(end if start < end < at <= cut else at, text) for at, text in found])


def shown(hit: "Hit") -> "Hit":
    """The hit with the marks in the text of its document. Its ranges are moved along."""
    if not hit.marks:
        return hit

    def moved(place: int, *, is_end: bool) -> int:
        return place + sum(len(text) for at, text in hit.marks if at < place or (is_end and at == place))

    def range_of(part: tuple[int, int]) -> tuple[int, int]:
        return (moved(part[0], is_end=False), moved(part[1], is_end=True)) if part[1] else part

    start = hit.snippet[0]
    snippet = range_of(hit.snippet)
    highlights = [
        (moved(first + start, is_end=False) - snippet[0], moved(last + start, is_end=False) - snippet[0])
        for first, last in hit.highlights
    ]
    document = replace(hit.document, text=_inserted(hit.document.text, hit.marks))
    return replace(hit, document=document, snippet=snippet, highlights=highlights, line=range_of(hit.line))


def _of_lines(text: str, lines: Mapping[str, CodeVersion], reader: CodeVersion) -> Marks:
    found, place = [], 0
    for line in text.splitlines(keepends=True) if lines and reader.repository else ():
        code = lines.get(line_key(line))
        if code and (words := mark(code, reader)):
            end = len(line.rstrip())
            # A row of a table ends with its cell.
            cell = len(line[: end - 1].rstrip()) if line.lstrip().startswith("|") and line[end - 1] == "|" else end
            found.append((place + cell, words))
        place += len(line)
    return found


def _inserted(text: str, marks: Marks) -> str:
    for place, words in reversed(marks):
        text = text[:place] + words + text[place:]
    return text

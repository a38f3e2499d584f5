"""The output of the demos: tables, and lines that fit the terminal."""

import re
import shutil
import textwrap
from collections.abc import Sequence

_MAX_WIDTH = 120


def width() -> int:
    """Columns to use."""
    return min(shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows of texts and numbers below a head; numbers are on the right."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(head), *shown]) for column in range(len(head))]
    right = [all(isinstance(row[column], (int, float)) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(w) if numeric else cell.ljust(w) for cell, w, numeric in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(head), *shown]
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def wrap(text: str, columns: int) -> list[str]:
    """A line of Markdown in lines of so many columns, those of a list below its text. No word is cut."""
    marker = re.match(r"[+-]?\s*(?:[-~] )?", text)
    hang = " " * len(marker.group()) if marker else ""
    found = textwrap.wrap(text, columns, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
    return found or [""]

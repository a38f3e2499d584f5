"""Counts the fields of a source that are not taken, so that a report names all of them."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from live_memory.cli.imports.unfit import shown

OTHER_FILES = "other files"
KINDS = 200
"""Number of kinds in a report. Further names count as others: the author of a source may make up any number."""


def count_fields(counter: Counter[str], of: str, fields: Mapping[str, Any], taken: Collection[str]) -> None:
    """Count the fields that hold something, and whose names are not in `taken`. A report shows those of one kind of
    object (`of`) in one line.
    """
    for name, value in fields.items():
        if value and name not in taken:
            add(counter, {f"fields of {of}: {shown(name)[1:-1]}": 1})


def add(counter: Counter[str], more: Mapping[str, int]) -> None:
    """Add what else was counted."""
    for kind, count in more.items():
        of, separator, _ = kind.partition(": ")
        counter[kind if not separator or kind in counter or len(counter) < KINDS else f"{of}: others"] += count

"""Counts the fields of a source that are not taken, so that a report names all of them."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from live_memory.cli.imports.unfit import shown

KINDS = 200
"""Number of kinds in a report. Further names count as others: the author of a source may make up any number."""


def count_fields(counter: Counter[str], of: str, fields: Mapping[str, Any], taken: Collection[str]) -> None:
    """Count the fields that hold something, and whose names are not in `taken`. A report shows those of one kind of
    object (`of`) in one line.
    """
    for name, value in fields.items():
        if value and name not in taken:
            kind = f"fields of {of}: {shown(name)[1:-1]}"
            counter[kind if kind in counter or len(counter) < KINDS else f"fields of {of}: others"] += 1

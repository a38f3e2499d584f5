# Copied by scripts/client.py from text/redaction/repeats.py of the service: do not edit.
"""Secrets that stand once more where nothing around them tells what they are.

A value that was a password by its name, or by its place, is one wherever else it stands. Plain words are not looked
for, since they stand in sentences. Time is linear: a value has a bounded length, and is looked up by its beginning.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from urllib.parse import unquote

LEAST, MOST = 8, 200
"""Characters of a value that is looked for elsewhere."""


def places(text: str, values: Collection[str]) -> Iterator[tuple[int, int]]:
    """The places of these values in the text, from the first to the last."""
    # A sentence that says it may end with a mark of its own, and a URL spells some characters otherwise.
    forms = {form for value in values for form in (value, value.rstrip("!?"), unquote(value))}
    telling = {value for value in forms if _is_telling(value)}
    lengths: dict[str, set[int]] = defaultdict(set)
    for value in telling:
        lengths[value[:LEAST]].add(len(value))
    at = 0
    for start in range(len(text) - LEAST + 1 if telling else 0):
        if start < at or (begun := text[start : start + LEAST]) not in lengths:
            continue
        for length in sorted(lengths[begun], reverse=True):
            if text[start : start + length] in telling and not _within_number(text, start, start + length):
                at = start + length
                yield start, at
                break


def _is_telling(value: str) -> bool:
    return LEAST <= len(value) <= MOST and not value.replace("-", "").replace("_", "").isalpha()


def _within_number(text: str, start: int, end: int) -> bool:
    """Whether it is a number in a longer one."""
    return text[start:end].isdigit() and (text[start - 1 : start].isdigit() or text[end : end + 1].isdigit())

"""Lists objects again: many requests side by side, because a former listing shows about where the keys are."""

from collections.abc import Sequence

from livemem.store.objects import Entry, Store

PER_REQUEST = 1_000
"""Objects that S3 lists in one answer."""

Range = tuple[str, str]
"""The keys behind the first key, up to and including the second. An empty text means the beginning, or the end."""


def ranges(sample: Sequence[str]) -> list[Range]:
    """The ranges to list. Each takes one request as long as only these keys, given in order, exist."""
    return between(bounds(sample))


def bounds(sample: Sequence[str]) -> list[str]:
    """The keys, of these in order, at which one request ends and the next begins."""
    return list(sample[PER_REQUEST - 1 : -1 : PER_REQUEST]) if len(sample) > PER_REQUEST else []


def between(bounds: Sequence[str]) -> list[Range]:
    """The ranges between these keys."""
    return list(zip(["", *bounds], [*bounds, ""], strict=True))


def entries(store: Store, prefix: str, part: Range) -> list[Entry]:
    """The objects below `prefix` in a range: 1 LIST, and 1 more for each thousand objects written since."""
    after, last = part
    entries: list[Entry] = []
    while True:
        page = store.first(prefix, start_after=after, stop=last + "\0" if last else "")
        entries += page.entries
        if not page.more or (last and page.entries[-1].key >= last):
            return entries
        after = page.entries[-1].key

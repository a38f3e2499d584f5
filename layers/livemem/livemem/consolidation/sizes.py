"""The length of a bank and of its files in Unicode characters, and which files are too long."""

from collections.abc import Iterable, Mapping


def lengths(files: Mapping[str, str]) -> dict[str, int]:
    """Number of characters of each file of a bank, by path."""
    return {path: len(text) for path, text in files.items()}


def too_long(files: Mapping[str, int], bank_chars: int) -> dict[str, int]:
    """The files, given by their lengths, that make a bank longer than `bank_chars`, each with the length that it
    should have. Nothing where `bank_chars` is 0.

    Short files keep their length, and the long ones are cut by the same part: a large file has more that holds.
    """
    share = _share(files.values(), bank_chars) if bank_chars else None
    if share is None:
        return {}
    long = {path: size for path, size in files.items() if size > share}
    room = bank_chars - sum(size for size in files.values() if size <= share)
    return {path: size * room // sum(long.values()) for path, size in long.items()}


def _share(sizes: Iterable[int], bank_chars: int) -> int | None:
    """The largest length to which files can be cut so that they have `bank_chars` together. None: they have no more."""
    left = bank_chars
    ordered = sorted(sizes)
    for number, size in enumerate(ordered):
        share = left // (len(ordered) - number)
        if size > share:
            return share
        left -= size
    return None

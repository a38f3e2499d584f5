"""The length of a bank and of its files in Unicode characters, and which files are too long."""

from collections.abc import Iterable, Mapping

AIM = 0.95
"""Share of the length of a bank that a tidy run aims at, and above which a fold also removes lines that are over."""


def lengths(files: Mapping[str, str]) -> dict[str, int]:
    """Number of characters of each file of a bank, by path."""
    return {path: len(text) for path, text in files.items()}


def too_long(files: Mapping[str, int], bank_chars: int) -> dict[str, int]:
    """The files, given by their lengths, that make a bank too long, each with the length that it should have, for a
    bank somewhat shorter than `bank_chars`. Nothing where that is 0.

    Short files keep their length, and the long ones are cut by the same part: a large file has more that holds.
    """
    aim = int(AIM * bank_chars)
    share = _share(files.values(), aim) if bank_chars else None
    if share is None:
        return {}
    long = {path: size for path, size in files.items() if size > share}
    room = aim - sum(size for size in files.values() if size <= share)
    return {path: size * room // sum(long.values()) for path, size in long.items()}


def is_full(length: int, bank_chars: int) -> bool:
    """Whether a bank of `length` characters has nearly the length that it should have. Not where `bank_chars` is 0."""
    return bank_chars > 0 and length > AIM * bank_chars


def _share(sizes: Iterable[int], bank_chars: int) -> int | None:
    """The largest length to which files can be cut so that they have `bank_chars` together. None: they have no more."""
    rest = bank_chars
    ordered = sorted(sizes)
    for number, size in enumerate(ordered):
        share = rest // (len(ordered) - number)
        if size > share:
            return share
        rest -= size
    return None

"""The keys of a bucket in order, and pages of them."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Page:
    """One page of a listing. `last` is its last key or common prefix, in the order of the listing."""

    keys: list[str]
    prefixes: list[str]
    truncated: bool
    last: str


class KeyIndex:
    """The sorted keys of one bucket (by code point, which is S3's order of UTF-8 bytes)."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys = sorted(keys)

    def add(self, key: str) -> None:
        """Add a key that is not there."""
        insort(self._keys, key)

    def remove(self, key: str) -> None:
        """Remove a key that is there."""
        del self._keys[bisect_left(self._keys, key)]

    def page(self, prefix: str, delimiter: str, after: str, limit: int) -> Page:
        """Return the next keys and common prefixes behind `after`, together at most `limit`."""
        page = Page([], [], truncated=False, last="")
        at = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after) if after else 0)
        if after and delimiter and after.startswith(prefix) and after.endswith(delimiter) and len(after) > len(prefix):
            # `after` may be a common prefix, which stands for all that it covers.
            at = max(at, bisect_left(self._keys, _successor(after)))
        while at < len(self._keys) and self._keys[at].startswith(prefix):
            if len(page.keys) + len(page.prefixes) >= limit:
                page.truncated = limit > 0
                return page
            key = self._keys[at]
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                page.last = key[: cut + len(delimiter)]
                page.prefixes.append(page.last)
                at = bisect_left(self._keys, _successor(page.last), at)
            else:
                page.last = key
                page.keys.append(key)
                at += 1
        return page


def _successor(text: str) -> str:
    """The first text behind all that begin with `text`."""
    last = ord(text[-1])
    return text[:-1] + chr(last + 1) if last < 0x10FFFF else text + "\U0010ffff" * 1024

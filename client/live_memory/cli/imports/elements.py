"""A long JSON list read element by element, so that an export of any size needs the memory of its largest conversation.

This module only cuts the text: brackets and quotes show the end of an element. The JSON parser of the standard library
reads each element. So its depth is bounded.
"""

import re
from collections.abc import Iterable, Iterator

from live_memory.cli.imports.unfit import BadSource

ELEMENT_BYTES = 64 << 20
DEPTH = 100
"""Depth of nested brackets. Exports have about ten."""
NO_LIST = "is not a list of conversations"
CUT = "ends too early: it is incomplete"

_BRACKET = re.compile(rb'["\[\]{}]')
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BETWEEN = re.compile(rb"[ \t\r\n,]*")
_SPACE = re.compile(rb"[ \t\r\n]*")
_BOM = b"\xef\xbb\xbf"


def elements(chunks: Iterable[bytes], limit: int = ELEMENT_BYTES) -> Iterator[bytes | None]:
    """The objects of a list as the text has them. None for an object of more than `limit` bytes.

    Raises BadSource. Its message continues after the name of the file.
    """
    source = _Source(chunks)
    source.skip(_SPACE, bom=True)
    if source.take() != b"[":
        raise BadSource(NO_LIST)
    while True:
        source.skip(_BETWEEN)
        first = source.take()
        if first == b"]":
            break
        if first != b"{":
            raise BadSource(NO_LIST if first else CUT)
        yield _element(source, limit)
    source.skip(_SPACE)
    if source.take():
        raise BadSource("has data after its end")


class _Source:
    """The text so far, from `start` on. `at` is the reading position."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.text = bytearray()
        self.at = 0

    def more(self) -> bool:
        """Append the next chunk; False at the end."""
        chunk = next(self._chunks, b"")
        self.text += chunk
        return bool(chunk)

    def skip(self, what: re.Pattern[bytes], *, bom: bool = False) -> None:
        """Skip the bytes that match, and forget them."""
        while bom and len(self.text) < len(_BOM) and self.more():
            pass
        if bom and self.text.startswith(_BOM):
            del self.text[: len(_BOM)]
        while True:
            found = what.match(self.text, self.at)
            assert found
            del self.text[: found.end()]
            self.at = 0
            if self.text or not self.more():
                return

    def take(self) -> bytes:
        """The next byte. Empty at the end."""
        if self.at == len(self.text) and not self.more():
            return b""
        self.at += 1
        return bytes(self.text[self.at - 1 : self.at])


def _element(source: _Source, limit: int) -> bytes | None:
    """The object whose first bracket was just taken."""
    depth = 1
    quoted = dropped = False
    while True:
        found = (_STRING if quoted else _BRACKET).search(source.text, source.at)
        if quoted:
            assert found
            source.at = found.end()
            ended = source.text[source.at : source.at + 1] == b'"'
            quoted = not ended
            source.at += ended
        elif found:
            source.at = found.end()
            mark = found[0]
            quoted = mark == b'"'
            depth += (mark in b"[{") - (mark in b"]}") if not quoted else 0
        else:
            source.at = len(source.text)
        if depth > DEPTH:
            raise BadSource(f"is nested more than {DEPTH} levels deep")
        if not depth:
            break
        if dropped or source.at > limit:
            del source.text[: source.at]
            source.at, dropped = 0, True
        if (not found or quoted) and not _goes_on(source, quoted):
            raise BadSource(CUT)
    taken = None if dropped or source.at > limit else bytes(source.text[: source.at])
    del source.text[: source.at]
    source.at = 0
    return taken


def _goes_on(source: _Source, quoted: bool) -> bool:
    """Whether there is more to read: a byte that waits (such as a backslash) needs the next chunk."""
    left = len(source.text) - source.at
    waits = not left or (quoted and left == 1 and source.text.endswith(b"\\"))
    return not waits or source.more()

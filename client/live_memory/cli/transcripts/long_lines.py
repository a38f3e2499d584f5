"""Lines of a stream, also those that hold pictures: of a long line, long strings are cut before it is judged.

At most one line of `MOST_LINE` and one piece are in memory, however long a line is.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_LINE = 2 * 1_048_576
"""Bytes of a line. A longer one is cut first, and left out only if it is still longer then."""
MOST_STRING = 1_048_576
"""Bytes of a string of JSON in a long line. The rest of it is cut. 60,000 characters need at most 720,000."""
MOST_ENCODED = 4_096
"""Bytes of a string without a blank in a long line: a picture or another file in base64."""
CUT = "\0"
"""The end of a string that was cut. Texts of clients never hold it."""

_ENCODED = re.compile(rb"[A-Za-z0-9+/=_:;,.-]*")
_PLAIN = re.compile(rb'[^"\\]+')
_ESCAPE = re.compile(rb"\\u[0-9a-fA-F]{4}|\\[^u]", re.DOTALL)
_DROPPED = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The rest of a string that was cut, as far as it is there."""
_HALF = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")


@dataclass(frozen=True)
class Line:
    """A line without its end, None if it is too long. `at` and `end` are its places in the stream."""

    text: bytes | None
    at: int
    end: int
    ended: bool = True
    """Whether it has an end. The last line of a file may still be being written."""


def lines(pieces: Iterable[bytes], at: int = 0) -> Iterator[Line]:
    """The lines of a stream that begins at a place of its file."""
    held = bytearray()
    cut: _Cut | None = None
    start = at
    for piece in pieces:
        left = piece
        while left:
            line, newline, left = left.partition(b"\n")
            at += len(line) + len(newline)
            if cut is None:
                held += line
                if len(held) > MOST_LINE:
                    cut = _Cut()
                    cut.feed(bytes(held))
                    held.clear()
            else:
                cut.feed(line)
            if newline:
                yield Line(cut.result() if cut else bytes(held), start, at)
                held.clear()
                cut, start = None, at
    if at > start:
        yield Line(cut.result() if cut else bytes(held), start, at, ended=False)


class _Cut:
    """A long line of JSON, with its long strings cut."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._rest = b""
        """The begin of an escape whose end is in the next piece."""
        self._quoted = False
        self._length = 0
        """Bytes of the present string so far."""
        self._encoded = True
        self._is_cut = False

    def feed(self, piece: bytes) -> None:
        if len(self._line) > MOST_LINE:
            return
        text = self._rest + piece
        at, self._rest = 0, b""
        while at < len(text):
            if self._is_cut and (found := _DROPPED.match(text, at)) and found.end() > at:
                at = found.end()
            elif found := _PLAIN.match(text, at):
                self._add(found[0])
                at = found.end()
            elif text[at : at + 1] == b'"':
                self._quote()
                at += 1
            elif found := _ESCAPE.match(text, at):
                self._add(found[0], whole=True)
                at = found.end()
            elif _HALF.fullmatch(text, at):
                self._rest = text[at:]
                return
            else:
                # No JSON: a parser says so.
                self._add(text[at : at + 1])
                at += 1

    def result(self) -> bytes | None:
        """The line, None if it is still too long. A string may be cut in the middle of a character."""
        return self._line.decode(errors="replace").encode() if len(self._line) <= MOST_LINE else None

    def _quote(self) -> None:
        if self._quoted and self._is_cut:
            self._append(b"\\u0000")
        self._append(b'"')
        self._quoted = not self._quoted
        self._length, self._encoded, self._is_cut = 0, True, False

    def _add(self, text: bytes, *, whole: bool = False) -> None:
        """A part of the line that holds no quote. `whole`: an escape, which must not be split."""
        if not self._quoted:
            self._append(text)
            return
        if self._encoded and self._length < MOST_ENCODED:
            found = _ENCODED.match(text)
            self._encoded = bool(found and found.end() >= min(len(text), MOST_ENCODED - self._length))
        left = (MOST_ENCODED if self._encoded else MOST_STRING) - self._length
        self._length += len(text)
        if left >= len(text) and not self._is_cut:
            self._append(text)
        elif not self._is_cut:
            self._is_cut = True
            self._append(b"" if whole else text[: max(left, 0)])

    def _append(self, text: bytes) -> None:
        # One byte more than it may have tells that it is too long.
        self._line += text[: MOST_LINE + 1 - len(self._line)]

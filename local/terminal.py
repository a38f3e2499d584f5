"""What reaches the terminal: text in which the control characters that would command it are shown.

Requests, notes, answers of an LLM and logs come from anybody, and an ESC in them could rewrite the screen or answer in
the person's name. Every program of this package calls `protect` first; then `print`, logging and tracebacks are clean.
"""

import io
import sys
from typing import TextIO

from livemem.text.invisible import visible


def clean(text: str) -> str:
    """The text with control characters, and all else that nobody sees, shown; tabs and newlines stay."""
    return visible(text)


def protect() -> None:
    """Let standard output and standard error of this process pass clean text only. A second call changes nothing."""
    sys.stdout = _Clean.around(sys.stdout)
    sys.stderr = _Clean.around(sys.stderr)


class _Clean(io.TextIOBase):
    """A text stream in front of another one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @classmethod
    def around(cls, stream: TextIO) -> "TextIO":
        return stream if isinstance(stream, cls) else cls(stream)  # type: ignore[return-value]  # it has what is used

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    def write(self, text: str) -> int:
        # What the stream's encoding lacks (half a surrogate pair always) becomes a question mark.
        self.stream.write(clean(text).encode(self.encoding, "replace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        self.stream.flush()

    def isatty(self) -> bool:
        return self.stream.isatty()

    def fileno(self) -> int:
        return self.stream.fileno()

    def writable(self) -> bool:
        return True

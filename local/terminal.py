"""What reaches the terminal: text in which the control characters that would command it are shown.

Requests, notes, answers of an LLM and logs come from anybody, and an ESC in them could rewrite the screen or answer in
the person's name. Every program of this package calls `protect` first; then `print`, logging and tracebacks are clean.
"""

import sys
from typing import Any, TextIO

from livemem.text.invisible import visible


def protect() -> None:
    """Let standard output and standard error of this process pass clean text only. A second call changes nothing."""
    for name in ("stdout", "stderr"):
        if not isinstance(stream := getattr(sys, name), _Clean):
            setattr(sys, name, _Clean(stream))


class _Clean:
    """A text stream in front of another one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        # What the stream's encoding lacks (half a surrogate pair always) becomes a question mark.
        self.stream.write(visible(text).encode(self.encoding, "replace").decode(self.encoding))
        return len(text)

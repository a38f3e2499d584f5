"""Which messages were sent of which session: a client copies the messages of a session into the file of another one.

It does so where a session is forked or resumed, with the same ids of messages. What one session has sent, no other one
sends. The file is only an aid: without it, a copy is sent again, with the session that holds it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.transcripts.messages import Said

_MESSAGE, _SESSION = 12, 4
_ROW = _MESSAGE + _SESSION
MOST_BYTES = 2 * 1_048_576
"""Bytes of the file: 131,072 messages. Of a larger one the older half is forgotten."""


@dataclass(frozen=True)
class Copies:
    """The messages that sessions of a client have sent to a space."""

    path: Path
    session: str

    def without(self, messages: list[tuple[Said, int]]) -> list[tuple[Said, int]]:
        """The messages that no other session has sent. Raises OSError."""
        if not any(_has_name(said) for said, _ in messages):
            return messages
        others = self._of_others()
        return [(said, end) for said, end in messages if not (_has_name(said) and _digest(said.key) in others)]

    def add(self, messages: Iterable[Said]) -> None:
        """Note that messages were sent. Raises OSError."""
        rows = b"".join(_digest(said.key) + self._own for said in messages if _has_name(said))
        if rows:
            own_files.append_newest(self.path, rows, MOST_BYTES, _ROW)

    @property
    def _own(self) -> bytes:
        return hashlib.sha256(self.session.encode(errors="replace")).digest()[:_SESSION]

    def _rows(self) -> bytes:
        try:
            with open(self.path, "rb", opener=own_files.unblocked) as file:
                return file.read(2 * MOST_BYTES)
        except FileNotFoundError:
            return b""

    def _of_others(self) -> set[bytes]:
        rows = self._rows()
        places = range(0, len(rows) - _ROW + 1, _ROW)
        own = {rows[at : at + _MESSAGE] for at in places if rows[at + _MESSAGE : at + _ROW] == self._own}
        return {rows[at : at + _MESSAGE] for at in places} - own


def _has_name(said: Said) -> bool:
    """Whether a message can be known again: words without an id may be said in two sessions at the same time."""
    return bool(said.name)


def _digest(key: str) -> bytes:
    return bytes.fromhex(key[: 2 * _MESSAGE])

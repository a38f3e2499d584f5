"""The part of a session's file that was not sent yet, as messages. How they are read: cli/transcripts/messages.py."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from live_memory.cli import own_files
from live_memory.cli.transcripts import messages
from live_memory.cli.transcripts.entries import UNKNOWN
from live_memory.cli.transcripts.long_lines import Line, lines
from live_memory.cli.transcripts.messages import Messages, Said

MOST_BYTES = 4 * 1_048_576
"""Bytes of a file in one look, and of what is looked at before it. The next event reads the rest."""
LONGEST = 64 * 1_048_576
"""Bytes of a line that is read in one look. Of a longer one, the rest is passed over in later looks."""
PIECE = 262_144


@dataclass(frozen=True)
class Part:
    """Messages of a file, each with the position after it. `end` is the position where this look ended. `redacted` is
    the number of texts that look like secrets and were removed, `unknown` counts texts that were not understood.
    """

    messages: list[tuple[Said, int]]
    end: int
    redacted: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    sessions: frozenset[str] = frozenset()
    """The sessions that its messages name, also those messages that another session has sent."""


def read(path: Path, start: int, client: str, until: int = 0, *, final: bool = False) -> Part:
    """The messages from a position on, up to another position if that is later.

    A line without its end is still being written and is read next time. A file that is shorter than the position was
    begun again, and is read from its start. `final`: nothing follows, so words that wait for their delivery are taken
    too. Raises OSError.
    """
    with open(path, "rb", opener=own_files.unblocked) as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise OSError(f"{path} is not a regular file")
        size = state.st_size
        if not 0 <= start <= size:
            start = until = 0
        most = until - start if until > start else MOST_BYTES
        reader = Messages(client, events=client == "codex" and _has_events(file, start, most))
        if start and (final or client == "codex"):
            _look_back(file, start, reader)
        file.seek(start)
        end, held = start, 0
        for line in lines(_pieces(file, LONGEST if until <= start else most), start):
            if not line.ended:
                # One line that is longer than all bounds is passed over, piece by piece.
                end = line.end if line.end - line.at >= LONGEST else end
                break
            reader.take(line)
            end = line.end
            # Pictures do not count: an answer stays with the prompt that has one.
            held += len(line.text or b"")
            if held >= MOST_BYTES:
                break
    said = reader.all(final=final and end == size)
    unknown = {kind: count for kind, count in reader.left_out.items() if kind.startswith(UNKNOWN)}
    shown = [(each.shortened(), max(each.end, start)) for each in said]
    return Part(shown, end, reader.redacted, unknown, frozenset(each.session for each in said))


def _pieces(file: BinaryIO, most: int) -> Iterator[bytes]:
    while most > 0 and (piece := file.read(min(PIECE, most))):
        most -= len(piece)
        yield piece


def _has_events(file: BinaryIO, start: int, most: int) -> bool:
    file.seek(max(0, start - MOST_BYTES))
    return messages.has_events(file.read(min(start, MOST_BYTES) + min(most, MOST_BYTES)))


def _look_back(file: BinaryIO, start: int, reader: Messages) -> None:
    """Read which words still wait for their delivery at a position, and which questions for their answer."""
    begin = max(0, start - MOST_BYTES)
    file.seek(begin)
    for number, line in enumerate(lines(_pieces(file, start - begin), begin)):
        if (begin and not number) or not line.text:
            continue
        if any(word in line.text for word in (b"queue", b'"user"', b"request_user_input")):
            reader.take(Line(line.text, line.at, line.end))
    reader.forget_messages()

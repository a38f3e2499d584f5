"""What a prompt is given by itself: which prompts are asked about, where to, and what of the answer is told.

A prompt goes to the service alone that `init` recorded on this machine for the repository, and is kept nowhere. Nothing
comes twice in a session: a small file holds hashes of the lines that were given, and of the start. Without the file,
lines come again.
"""

import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live_memory.cli import branch_marks, own_files, repository
from live_memory.cli.init.hooks.events import is_asked
from live_memory.cli.init.hooks.state import Files
from live_memory.cli.repository import Repository

SENT_CHARS = 400
LINES, CHARS = 5, 1_000
"""Of an answer at most, without its heading."""
ASKED_CHARS = 4_000
"""Characters that are asked for: lines that were given already come first."""
FIRST = "Which decisions of the project are the newest?"
"""The search before the first prompt: a service that has not searched yet would be late for it."""
REQUEST_SECONDS = 0.2
PAUSE_SECONDS = 60.0
"""For so long a service that gave no answer in time is not asked for prompts."""
KEPT_SECONDS = 30 * 86_400
MOST_BYTES = 1_048_576
_WORD = re.compile(r"\w+")
_OWN_DAY = re.compile(r"\((20\d\d-\d\d-\d\d)\b[^()]*\)\s*\Z")
"""The day at the end of a line of the bank. The item's time is that of the whole file, which is younger."""
_TOGETHER = 4
"""Words that are told again if they stand together again."""
_TOLD = 0.7
"""The share of a line that makes it known."""


def question(prompt: str) -> str:
    """What the service is asked for a prompt, without secrets and private words; empty for nothing."""
    if not is_asked(prompt):
        return ""
    from live_memory.cli.transcripts.messages import of_text  # noqa: PLC0415 - most prompts of a day are short

    said, _ = of_text(prompt, "user")
    if len(said) > SENT_CHARS:
        said = said[:SENT_CHARS].rpartition(" ")[0] or said[:SENT_CHARS]
    return said.encode(errors="replace").decode() if is_asked(said) else ""


def new(items: Iterable[Mapping[str, Any]], told: frozenset[str] = frozenset()) -> list[Mapping[str, Any]]:
    """The items of a context that are told: the first ones without what was told, and of the same words one."""
    kept: list[Mapping[str, Any]] = []
    for one in items:
        if not is_told(one["text"], told):
            kept.append(one)
            told |= marks(one["text"])
    return kept[:LINES]


def of_others(items: Iterable[Mapping[str, Any]], conversation: str | None) -> list[Mapping[str, Any]]:
    """The items without what the session itself said, which its model knows: its conversation, None if it has none."""
    own = f"conversations/{conversation}/"
    return [
        one
        for one in items
        if not conversation or (one.get("captured_from") != conversation and not str(one.get("id")).startswith(own))
    ]


def lines(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines to tell of some items."""
    chars = CHARS // max(1, len(items)) - 1
    return [_line(one, chars) for one in items]


def _line(item: Mapping[str, Any], chars: int) -> str:
    whose = "personal " if item.get("personal") else ""
    own = _OWN_DAY.search(item["text"]) if item.get("kind") == "bank" else None
    day = own[1] if own else str(item["time"])[:10]
    head, end = f"- {day} {whose}", f" ({item.get('id') or item.get('message_id')})"
    text = " ".join(str(item["text"]).removeprefix("- ").split())
    # A line that is cut keeps its mark.
    for mark in list(branch_marks.MARK.finditer(text))[-1:]:
        if len(mark[0]) <= chars // 2:
            text, end = text[: mark.start()] + text[mark.end() :], f"{mark[0]}{end}"
    room = max(0, chars - len(head) - len(end))
    return f"{head}{text if len(text) <= room else f'{text[: room - 1]}…'}{end}"[:chars]


def marks(text: str) -> frozenset[str]:
    """Hashes by which words that stand together are known again."""
    words = _WORD.findall(text.lower())
    starts = range(max(1, len(words) - _TOGETHER + 1)) if words else ()
    return frozenset(f"{zlib.crc32(' '.join(words[at : at + _TOGETHER]).encode()):08x}" for at in starts)


def is_told(text: str, told: frozenset[str]) -> bool:
    """Whether nearly all of a text stands in what has these marks."""
    own = marks(text)
    return not own or len(own & told) >= _TOLD * len(own)


@dataclass(frozen=True)
class Told:
    """What a session was told. Its file may be lost, cut or written by several processes."""

    path: Path

    @classmethod
    def of(cls, session: Files) -> "Told":
        """That of a session."""
        return cls(session.state.with_suffix(".told"))

    def marks(self) -> frozenset[str]:
        """The marks of all that was told."""
        with suppress(OSError), open(self.path, "rb", opener=own_files.unblocked) as file:
            return frozenset(file.read(MOST_BYTES).decode("ascii", "replace").split())
        return frozenset()

    def begin(self, start: str) -> None:
        """The session begins, or was compacted: it knows nothing but its start."""
        with suppress(OSError):
            oldest = time.time() - KEPT_SECONDS
            for path in self.path.parent.glob("*.told"):
                if path.lstat().st_mtime < oldest:
                    path.unlink()
            own_files.write(self.path, _bytes(marks(start)))

    def add(self, some: Sequence[str]) -> None:
        """Lines were told."""
        with suppress(OSError):
            own_files.append(self.path, b"\n" + _bytes(frozenset().union(*map(marks, some))))


def _bytes(some: frozenset[str]) -> bytes:
    return "\n".join(sorted(some)).encode() + b"\n"


@dataclass(frozen=True)
class Asked:
    """Which service the prompts of a repository go to, as `init` recorded it. `folder` is that of the hooks' state."""

    folder: Path
    client: str

    def allow(self, project: Path | None, address: str | None) -> None:
        """Record a service for a project, None: for all projects. `address` as config.address_of gives it, None: none.

        A project's empty file says no, also where all projects have a service. Raises OSError.
        """
        path = self._path(*_places(repository.of(project))[0]) if project else self._path()
        own_files.write(path, (address or "").encode())

    def allows(self, project: Path, address: str | None) -> bool:
        """Whether prompts in a folder may go to a service: the nearest file says it. One that can't be read says no."""
        if not address or not self.folder.joinpath("asked").is_dir():
            return False
        here = repository.of(project)
        if self.folder.resolve().is_relative_to(here.top):
            # Files of the project would confirm themselves, also where one of them gives another home.
            return False
        paths = (*(self._path(*one) for one in _places(here)), self._path())
        nearest = next(filter(os.path.lexists, paths), None)
        return nearest is not None and _held(nearest) == address

    def _path(self, *place: str) -> Path:
        name = hashlib.sha256("\0".join((self.client, *place)).encode(errors="surrogateescape")).hexdigest()[:32]
        return self.folder / "asked" / name


def _places(here: Repository) -> list[tuple[str, str]]:
    """The names of a folder and those above it, the same in all clones of its repository."""
    return [(here.identity, place) for place in here.places]


def _held(path: Path) -> str | None:
    with suppress(OSError, ValueError):
        return path.read_text("utf-8")
    return None

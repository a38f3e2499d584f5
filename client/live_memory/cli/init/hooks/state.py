"""The state of a session between two events: its conversation, and how far its transcript was sent.

All of it may be lost: a hook finds the conversation again by its name. A message that is sent twice is stored once,
since it has a name of its own.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

STALE_SECONDS = 60
"""A lock is older than this only if the process that held it died."""
PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Session:
    """How far a session was sent, in bytes of its transcript, and how far the last request was to go.

    Messages that were planned, and perhaps sent, are sent again with the same bounds: messages are put together into
    turns, and a turn with one more message would be another one. `closed` is how far it was sent when its conversation
    was closed last.
    """

    conversation_id: str | None = None
    sent: int = 0
    planned: int = 0
    closed: int = 0


@dataclass(frozen=True)
class Files:
    """The files with the state of one session."""

    folder: Path
    name: str

    @classmethod
    def of(cls, folder: Path, *parts: str) -> "Files":
        """The files of a session. Its id comes from outside and never becomes part of a path."""
        name = hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]
        return cls(folder, name)

    @property
    def kept(self) -> Path:
        """The messages that were kept to be sent."""
        return self.folder / f"{self.name}.jsonl"

    @property
    def state(self) -> Path:
        """The Session as JSON."""
        return self.folder / f"{self.name}.json"

    def load(self) -> Session:
        """The state. A new one if no state can be read."""
        try:
            found = json.loads(self.state.read_text("utf-8"))
            conversation, *places = (found[name] for name in ("conversation_id", "sent", "planned", "closed"))
        except (OSError, ValueError, TypeError, KeyError):
            return Session()
        known = isinstance(conversation, str | None) and all(isinstance(place, int) for place in places)
        return Session(conversation, *places) if known else Session()

    def save(self, session: Session) -> None:
        """Save the state. If two processes write, one wins as a whole."""
        self._make_folder()
        temporary = self.state.with_suffix(f".{os.getpid()}.tmp")
        _write(temporary, json.dumps(asdict(session)).encode(), os.O_TRUNC)
        temporary.replace(self.state)

    def keep(self, role: str, content: str, timestamp: str, name: str = "") -> None:
        """Keep a message to be sent. `name`: the id that its client gave it."""
        self._make_folder()
        named = {"id": name} if name else {}
        line = json.dumps({"role": role, "content": content, "timestamp": timestamp, **named})
        _write(self.kept, line.encode() + b"\n", os.O_APPEND)

    def kept_names(self) -> set[str]:
        """The ids of the messages that are kept."""
        names = set()
        with suppress(OSError):
            for line in self.kept.read_bytes().splitlines():
                with suppress(ValueError, AttributeError):
                    names.add(json.loads(line).get("id"))
        return names

    @contextmanager
    def lock(self, until: float) -> Iterator[bool]:
        """Whether this process alone works on the session; waits for another process until then, by the monotonic
        clock.
        """
        self._make_folder()
        path = self.folder / f"{self.name}.lock"
        held = _take(path, until)
        try:
            yield held
        finally:
            if held:
                with suppress(OSError):
                    path.unlink()

    def first_load(self) -> bool:
        """Whether this is the first time that the memory is loaded in the session."""
        self._make_folder()
        try:
            os.close(os.open(self.folder / f"{self.name}.loaded", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _take(path: Path, until: float) -> bool:
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return True
        except FileExistsError:
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
                    continue
        if time.monotonic() >= until:
            return False
        time.sleep(PAUSE_SECONDS)


def _write(path: Path, data: bytes, flag: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)

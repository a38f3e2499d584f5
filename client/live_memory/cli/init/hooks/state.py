"""The state of a session between two events: its conversation, and how far its transcript was sent.

All of it may be lost: a hook finds the conversation again by its name. A message that is sent twice is stored once,
since it has a name of its own.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from live_memory.cli import own_files


@dataclass(frozen=True)
class Session:
    """How far a session was sent, in bytes of its transcript, and how far the last request was to go.

    Messages that were planned, and perhaps sent, are sent again with the same bounds: messages are put together into
    turns, and a turn with one more message would be another one. `closed` is how far it was sent when its conversation
    was closed last. `turns`: how many were kept.
    """

    conversation_id: str | None = None
    sent: int = 0
    planned: int = 0
    closed: int = 0
    turns: int = 0


@dataclass(frozen=True)
class Files:
    """The files with the state of one session."""

    folder: Path
    name: str
    unsaved: list[Session] = field(default_factory=list, compare=False)
    """The state, where it can't be written: it holds as long as this process, which sends all the same."""

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
        if self.unsaved:
            return self.unsaved[-1]
        try:
            found = json.loads(self.state.read_text("utf-8"))
            conversation, *places = (found[name] for name in ("conversation_id", "sent", "planned", "closed"))
            places.append(found.get("turns", 0))
        except (OSError, ValueError, TypeError, KeyError):
            return Session()
        known = isinstance(conversation, str | None) and all(isinstance(place, int) for place in places)
        return Session(conversation, *places) if known else Session()

    def save(self, session: Session) -> None:
        """Save the state. If two processes write, one wins as a whole."""
        self.unsaved.clear()
        try:
            own_files.write(self.state, json.dumps(asdict(session)).encode())
        except OSError:
            self.unsaved.append(session)

    def keep(self, role: str, content: str, timestamp: str, name: str = "") -> None:
        """Keep a message to be sent. `name`: the id that its client gave it."""
        named = {"id": name} if name else {}
        line = json.dumps({"role": role, "content": content, "timestamp": timestamp, **named})
        own_files.append(self.kept, line.encode() + b"\n")

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
        clock. On a full disk there is no lock: what two processes send is stored once.
        """
        with ExitStack() as held:
            try:
                alone = held.enter_context(own_files.lock(self.folder / f"{self.name}.lock", until))
            except OSError:
                alone = True
            yield alone

    def keep_last(self, session: "Files", turns: int) -> None:
        """Keep how many turns of a session were kept. These are the files of a client in a space."""
        with suppress(OSError):
            own_files.write(self.state.with_suffix(".last"), json.dumps([session.name, turns]).encode())

    def take_last(self, but: "Files") -> int:
        """How many turns of the last session were kept. 0: it is `but`, or the number was taken before."""
        path = self.state.with_suffix(".last")
        with suppress(OSError, ValueError, TypeError):
            session, turns = json.loads(path.read_bytes())
            if session != but.name:
                path.unlink()
                return int(turns)
        return 0

    @property
    def loaded(self) -> Path:
        """Is there once the memory was loaded in the session."""
        return self.folder / f"{self.name}.loaded"

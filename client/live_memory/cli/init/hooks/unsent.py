"""The sessions whose last messages the service does not have yet: the next hook of any session sends them.

Each session has a small file, so hooks at the same time need no lock. It is written before a hook sends and removed
when all is sent: a hook that is killed, or a service that is down, leaves it. The words are not in it: they are in the
session's transcript, and the place that was reached in its state (state.py).
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.init.hooks.events import EVENTS, Event
from live_memory.cli.init.hooks.state import Files

FOLDER = "unsent"
MOST = 50
"""Sessions in the list. One more drops the oldest one."""
SECONDS = 30 * 86_400.0
"""Age at which a session is dropped. Clients keep transcripts about as long."""
AT_ONCE = 3
"""Sessions that one hook tries to send, besides its own."""
REFUSED_SECONDS = 3_600.0
"""Time for which a session is left alone that the service refused: its space is not there, the token may not write."""
MOST_BYTES = 32_768


@dataclass(frozen=True)
class Entry:
    """A session: its latest event, without words, where it is sent to, and since when it waits (Unix times)."""

    service: str
    space_id: str
    client: str
    event: str
    session: str
    folder: str | None
    transcript: str | None
    since: float
    latest: float
    size: int | None
    """Bytes of the transcript at the event. More may have been said since, without a hook: that is not recorded."""

    def of_event(self) -> Event:
        """The event, to be dealt with again."""
        transcript = Path(self.transcript) if self.transcript else None
        kind = EVENTS[self.client][self.event]
        return Event(self.client, self.event, kind, self.session, self.folder, transcript, "user", "")


@dataclass(frozen=True)
class Unsent:
    """The list of a user's machine, in the folder of the hooks' state. `log` gets what is dropped."""

    state: Path
    log: Callable[[str], None]
    clock: Callable[[], float] = time.time

    def add(self, service: str, space_id: str, event: Event) -> Entry:
        """Note that a session is about to be sent. A session that is in the list already keeps its age."""
        transcript = str(event.transcript) if event.transcript else None
        now, path = self.clock(), self._path(event.client, space_id, event.session)
        named = (service, space_id, event.client, event.name, event.session, event.folder, transcript)
        entry = Entry(*named, since=now, latest=now, size=_size(event.transcript))
        former = self._read(path)
        if former and (former.service, former.transcript) == (service, transcript):
            entry = replace(entry, since=min(former.since, now))
        try:
            own_files.write(path, json.dumps(asdict(entry)).encode())
        except OSError as problem:
            self.log(f"livemem hook: the session is not noted as unsent: {problem.strerror}")
        for other in [each for each in self._paths() if each != path][: -MOST + 1]:
            self._drop(other, f"more than {MOST} sessions wait")
        return entry

    def done(self, entry: Entry) -> None:
        """Remove a session after all is sent, unless a later event of it has come in the meantime."""
        path = self._path_of(entry)
        if self._read(path) == entry:
            _remove(path)

    def drop(self, entry: Entry, reason: str) -> None:
        """Remove a session that can't be sent any more, and say so in the log."""
        self._drop(self._path_of(entry), reason)

    def refused(self, entry: Entry) -> None:
        """Leave a session alone for a while."""
        due = self.clock() + REFUSED_SECONDS
        with suppress(OSError):
            os.utime(self._path_of(entry), (due, due))

    def waiting(self, service: str, but: str = "") -> list[Entry]:
        """The sessions that a hook of the session `but` should send to a service now. Unreadable and old ones are
        dropped.
        """
        # A clock that was set back must not keep one for longer.
        left_alone = {path for path, due in self._due().items() if 0 < due - self.clock() <= REFUSED_SECONDS}
        entries = (
            entry
            for entry in self._entries()
            if entry.service == service and entry.session != but and self._path_of(entry) not in left_alone
        )
        return [entry for _, entry in zip(range(AT_ONCE), entries, strict=False)]

    def forget(self, client: str, folder: Path | None) -> None:
        """Drop what waits of a client: all, or the sessions in a folder, and those whose folder nobody knows."""
        for entry in self._entries():
            known = Path(entry.folder).resolve() if entry.folder else None
            if entry.client == client and (not folder or not known or known.is_relative_to(folder.resolve())):
                _remove(self._path_of(entry))

    @property
    def _folder(self) -> Path:
        return self.state / FOLDER

    def _path(self, client: str, space_id: str, session: str) -> Path:
        return Files.of(self._folder, client, space_id, session).state

    def _path_of(self, entry: Entry) -> Path:
        return self._path(entry.client, entry.space_id, entry.session)

    def _due(self) -> dict[Path, float]:
        """The files with their times: of the last event, or when a refused session is tried again."""
        times = {}
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                with suppress(OSError):
                    times[path] = path.lstat().st_mtime
        return times

    def _paths(self) -> list[Path]:
        """The files, the oldest first."""
        times = self._due()
        return sorted(times, key=lambda path: (times[path], path))

    def _entries(self) -> Iterator[Entry]:
        for path in self._paths():
            entry = self._read(path)
            if entry is None:
                self._drop(path, "its file can't be read")
            elif self.clock() - entry.since > SECONDS:
                self._drop(path, f"it was not sent for {SECONDS / 86_400:.0f} days")
            else:
                yield entry

    def _read(self, path: Path) -> Entry | None:
        try:
            # Never wait for the other end of a pipe.
            with open(path, "rb", opener=own_files.unblocked) as file:
                entry = Entry(**json.loads(file.read(MOST_BYTES)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        texts = (entry.service, entry.space_id, entry.client, entry.event, entry.session)
        optional = (entry.folder, entry.transcript)
        known = all(isinstance(text, str) for text in texts) and all(isinstance(text, str | None) for text in optional)
        known = known and all(isinstance(at, int | float) for at in (entry.since, entry.latest))
        known = known and isinstance(entry.size, int | None)
        known = known and entry.event in EVENTS.get(entry.client, {})
        return entry if known and self._path_of(entry) == path else None

    def _drop(self, path: Path, reason: str) -> None:
        self.log(f"livemem hook: a session that waited to be sent is left out ({path.stem}): {reason}")
        _remove(path)


def _size(transcript: Path | None) -> int | None:
    try:
        return transcript.stat().st_size if transcript else None
    except (OSError, ValueError):
        return None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
        path.parent.rmdir()

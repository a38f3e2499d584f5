"""Times in which a user wanted nothing recorded: words of then are never sent, also if recording is on again.

A hook reads a transcript from the place that it had reached. So without this, an `init` that records again would send
what was said while nothing was to be recorded.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.transcripts.messages import Said

MOST = 200
"""Pauses that are kept, the newest."""
DAYS = 90
"""A pause that ended longer ago is forgotten: clients remove transcripts after 30 days."""


@dataclass(frozen=True)
class Pause:
    """A time without recording for a client. `folder` is the project's, None: all. `until` is None while it lasts.

    `undone`: it began because `init` was taken back, so hooks that `init` did not write end it.
    """

    client: str
    folder: str | None
    since: str
    until: str | None = None
    undone: bool = False

    def holds(self, client: str, folder: str | None, moment: datetime) -> bool:
        """Whether something that was said in a folder at a moment is of this pause."""
        inside = self.folder is None or folder is None or Path(folder).resolve().is_relative_to(self.folder)
        begun = datetime.fromisoformat(self.since) <= moment
        return self.client == client and inside and begun and not self._ended(moment)

    def covers(self, project: Path | None) -> bool:
        """Whether nothing of a project can be recorded while it lasts. None: of any project."""
        return self.folder is None or project is None or project.resolve().is_relative_to(self.folder)

    def _ended(self, moment: datetime) -> bool:
        return self.until is not None and datetime.fromisoformat(self.until) < moment


@dataclass(frozen=True)
class Pauses:
    """The pauses of this machine, beside the state of its hooks. `folder` is theirs."""

    folder: Path

    def begin(self, client: str, project: Path | None, *, undone: bool = False) -> None:
        """Note that nothing is recorded from now on. Raises OSError."""
        place, before = _text(project), self._all()
        same = [one for one in before if (one.client, one.folder, one.until) == (client, place, None)]
        pause = replace(same[0] if same else Pause(client, place, _now().isoformat()), undone=undone)
        if same != [pause]:
            self._save([*(one for one in before if one not in same), pause])

    def end(self, client: str, project: Path | None, *, undone: bool = False) -> None:
        """Note that recording is on again: in a project, also where a folder above it or all were paused; None: in all.
        `undone`: only where `init` was taken back. Raises OSError.
        """
        before = self._all()

        def over(one: Pause) -> bool:
            return one.client == client and one.until is None and one.covers(project) and (one.undone or not undone)

        ended = [replace(one, until=_now().isoformat()) if over(one) else one for one in before]
        if ended != before:
            self._save(ended)

    def without(self, client: str, folder: str | None, messages: list[tuple[Said, int]]) -> list[tuple[Said, int]]:
        """The messages that were said in no pause. One without a time can't be told, and stays."""
        pauses = [one for one in self._all() if one.client == client]
        if not pauses:
            return messages

        def paused(said: Said) -> bool:
            moment = datetime.fromisoformat(said.timestamp) if said.timestamp else None
            return moment is not None and any(one.holds(client, folder, moment) for one in pauses)

        return [(said, end) for said, end in messages if not paused(said)]

    @property
    def _path(self) -> Path:
        return self.folder / "pauses.json"

    def _all(self) -> list[Pause]:
        return list(self._read())

    def _read(self) -> Iterator[Pause]:
        found: object = None
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._path.read_text("utf-8"))["pauses"]
        for one in found if isinstance(found, list) else []:
            with suppress(TypeError, ValueError):
                pause = Pause(**one)
                moments = [datetime.fromisoformat(moment) for moment in (pause.since, pause.until) if moment]
                if all(moment.tzinfo for moment in moments):
                    yield pause

    def _save(self, pauses: list[Pause]) -> None:
        oldest = _now() - timedelta(days=DAYS)
        lasting = [one for one in pauses if one.until is None or datetime.fromisoformat(one.until) >= oldest]
        own_files.write(self._path, json.dumps({"pauses": [asdict(one) for one in lasting[-MOST:]]}).encode())


def _now() -> datetime:
    return datetime.now(UTC)


def _text(project: Path | None) -> str | None:
    return None if project is None else str(project.resolve())

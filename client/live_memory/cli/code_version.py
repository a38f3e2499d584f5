"""The version of the code in a folder. It goes along with the notes, turns and questions of an agent, and no code."""

import json
import re
import time
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.repository import Repository, ask_until, look

SECONDS = 0.05
"""For all that git is asked before a request that an agent waits for."""
_LONGER = 20
"""So many times as long git may take for what is kept."""
HEADER = "Livemem-Code"
_COMMIT_DIGITS = 12
_BRANCH_CHARACTERS = 200
_OTHER = re.compile(r"[^\w./@#+=,%-]")
"""What a branch has in no text of the service (livemem/text/code_version.py)."""


class WorkTree:
    """A folder in which an agent works. Its repository is looked for once, its branch and commit each time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repository: Repository | None = None

    def version(self) -> dict[str, str]:
        """Its `repository`, `branch` and `commit`, for what is kept. Empty outside of a repository, or if git takes
        longer than a second.

        A repository without a remote has the name of its folder. There is no branch where none is checked out, and no
        commit before the first one. A branch has `-` for characters that the service does not take. Never raises.
        """
        return self._version(_LONGER * SECONDS)

    def headers(self) -> dict[str, str]:
        """The header that names the version, for a request; none where it is not known within SECONDS."""
        version = self._version(SECONDS)
        return {HEADER: json.dumps(version)} if version else {}

    def _version(self, seconds: float) -> dict[str, str]:
        found: list[dict[str, str]] = []

        def work(until: float) -> None:
            here = self._repository or _of(self._folder, until)
            if not here.is_versioned or time.monotonic() >= until:
                return
            self._repository = here
            told = ask_until(until, here.top, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD") or ""
            commit, _, name = told.partition("\n")
            fields = {
                "repository": here.identity.partition("#")[0],
                "branch": _OTHER.sub("-", name.partition("refs/heads/")[2])[:_BRANCH_CHARACTERS],
                "commit": commit[:_COMMIT_DIGITS],
            }
            # What git had no time for looks like what is not there.
            if time.monotonic() < until:
                found.append({name: value for name, value in fields.items() if value})

        look(work, seconds)
        return found[0] if found else {}


def place_of(project: Path, folder: Path, *, waits: bool) -> Path:
    """The folder whose code a session works on: its own where that is in the project's repository, also in another work
    tree or clone, else the project's. `waits`: an agent waits, so git has SECONDS, else a second.
    """
    places: list[Path] = []

    def work(until: float) -> None:
        own, other = _of(folder, until), _of(project, until)
        if own.is_versioned and own.identity == other.identity and time.monotonic() < until:
            places.append(folder)

    if folder != project:
        look(work, SECONDS if waits else _LONGER * SECONDS)
    return places[0] if places else project


def _of(folder: Path, until: float) -> Repository:
    return repository.of(folder, lambda top, *arguments: ask_until(until, top, *arguments) or "")

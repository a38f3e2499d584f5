"""The version of the code in a folder. It goes along with the notes, turns and questions of an agent, and no code."""

import json
import re
import time
from contextlib import suppress
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.repository import Repository, git

SECONDS = 0.05
"""For all that git is asked at once: an agent waits for it."""
HEADER = "Livemem-Code"
_COMMIT_DIGITS = 12
_BRANCH = re.compile(r"refs/heads/([\w./@#+=,%-]{1,200})")
"""A branch that the service takes (livemem/text/code_version.py). The name of another one is not sent."""


class WorkTree:
    """A folder in which an agent works. Its repository is looked for once, its branch and commit each time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repository: Repository | None = None

    def version(self) -> dict[str, str]:
        """Its `repository`, `branch` and `commit`. Empty outside of a repository, or if git takes longer than SECONDS.

        A repository without a remote has the name of its folder. There is no branch where none is checked out, and no
        commit before the first one. Never raises.
        """
        until = time.monotonic() + SECONDS

        def ask(folder: Path, *arguments: str) -> str:
            return git(folder, *arguments, seconds=max(0.001, until - time.monotonic()))

        with suppress(OSError, ValueError, RuntimeError):
            here = self._repository or repository.of(self._folder, ask)
            if here.is_versioned and time.monotonic() < until:
                self._repository = here
                commit, _, name = ask(here.top, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD").partition("\n")
                branch = _BRANCH.fullmatch(name)
                found = {
                    "repository": here.identity.partition("#")[0],
                    "branch": branch[1] if branch else "",
                    "commit": commit[:_COMMIT_DIGITS],
                }
                return {name: value for name, value in found.items() if value}
        return {}

    def headers(self) -> dict[str, str]:
        """The header that names the version, for a request; none where it is not known."""
        version = self.version()
        return {HEADER: json.dumps(version)} if version else {}

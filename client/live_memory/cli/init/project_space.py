"""The space that `livemem init` gave to a project: it stands in the hooks, which are files of the project itself.

A copy that a teammate cloned has it too, without a record of this machine.
"""

import re
from collections.abc import Iterator
from pathlib import Path

HOOK_FILES = (
    ".claude/settings.json",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".github/hooks/livemem.json",
    ".clinerules/hooks/TaskStart",
)
"""The files with a hook of each client, for the scope of a project (clients.py)."""
MOST_BYTES = 1_048_576
_HOOK = re.compile(rb"livemem hook [a-z-]+ [A-Za-z]+ --space ([a-zA-Z0-9][a-zA-Z0-9_-]{0,63})(?![a-zA-Z0-9_-])")


def find(folder: Path) -> str | None:
    """The space of the project that a folder is in: of the folder itself, else of those above it in its repository.

    None: `init` gave it none, or its clients have several.
    """
    for place in _places(folder):
        found = {space for name in HOOK_FILES for space in _HOOK.findall(_read(place / name))}
        if found:
            return found.pop().decode() if len(found) == 1 else None
    return None


def _places(folder: Path) -> Iterator[Path]:
    """Above a repository is no project of the user's: anybody may put a file into `/tmp`."""
    above = [folder, *folder.parents]
    top = next((index for index, place in enumerate(above) if (place / ".git").exists()), 0)
    home = Path.home()
    # In the home folder are the hooks of the user, of all projects.
    return (place for place in above[: top + 1] if place != home)


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""

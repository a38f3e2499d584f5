"""The space that follows from the folder that an agent works in: one for each repository."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from live_memory.cli.exits import NO_ACCESS, Refused
from live_memory.errors import LiveMemoryError

if TYPE_CHECKING:
    from live_memory import Client

LONGEST = 64
NAMELESS = "default"
_GIT_SECONDS = 5.0


def name_of(folder: Path) -> str:
    """The id of the space for a folder: the name of its repository's remote `origin`, else of the repository or folder.

    All work trees of a repository have the same one. Two repositories of the same name have the same one too.
    """
    remote = _git(folder, "config", "--get", "remote.origin.url")
    if not remote:
        common = _git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
        remote = common.removesuffix("/.git") or str(folder)
    return as_space_id(re.split(r"[/:\\]", remote.rstrip("/\\"))[-1].removesuffix(".git"))


def as_space_id(name: str) -> str:
    """The nearest id that a space may have: small letters, digits, `_` and `-`."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:LONGEST] or NAMELESS


def _git(folder: Path, *arguments: str) -> str:
    """What git says, empty if it fails or is not there."""
    import subprocess  # noqa: PLC0415 - `livemem init` alone loads this module where it is not needed

    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def ensure(client: "Client", space_id: str) -> None:
    """Make the space unless it is there. One or two requests. Raises Refused if the token may not, LiveMemoryError."""
    try:
        if not _is_there(client, space_id):
            client.call("create_space", {"space_id": space_id, "description": f"The memory of {space_id}."})
    except LiveMemoryError as problem:
        if problem.status == 403:
            raise Refused(
                f"Your token may not use the space {space_id}, or it is not there and your token may not make it: ask "
                "an admin, or name another one (livemem mcp --space NAME).",
                NO_ACCESS,
            ) from None
        if problem.status != 409:  # another agent was faster
            raise


def _is_there(client: "Client", space_id: str) -> bool:
    try:
        client.call("get_space", {"space_id": space_id})
    except LiveMemoryError as problem:
        if problem.status != 404:
            raise
        return False
    return True

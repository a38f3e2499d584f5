"""What `init` did, kept below the user's own state folder: with it `--undo` gives back the very bytes.

Not in the project: the files that were there before may hold secrets, and what one member of a team did is no news for
the others. Whoever has no record (another machine, a folder that was moved) still undoes by what marks our parts.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from live_memory.cli.init import files

OWNER_ONLY = 0o600


@dataclass(frozen=True)
class FileRecord:
    """One file: its text before (None: it was not there), what we left, and the folders that we made for it."""

    before: str | None
    after_hash: str
    folders: list[str] = field(default_factory=list)
    mode: int | None = None
    """The mode that it had, if it was there and has another one now."""


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where the command line keeps what is neither configuration nor cache: LIVEMEM_STATE, or the system's place."""
    if named := environ.get("LIVEMEM_STATE"):
        return Path(named).expanduser()
    import platformdirs  # noqa: PLC0415 - some milliseconds that only who needs it should pay

    return platformdirs.user_state_path("livemem", appauthor=False)


def path_of(environ: Mapping[str, str], client: str, scope: str, root: Path) -> Path:
    """The record of what was done for a client in a folder."""
    name = hashlib.sha256("\0".join((client, scope, str(root.resolve()))).encode(errors="surrogateescape")).hexdigest()
    return state_folder(environ) / "init" / f"{name[:32]}.json"


def load(path: Path) -> dict[str, FileRecord]:
    """The records by the paths of their files; none if there is no record, or no readable one."""
    try:
        found = json.loads(files.read(path) or "{}")
        return {name: FileRecord(**fields) for name, fields in found["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        # Undoing by marks is better than not undoing.
        return {}


def save(path: Path, records: Mapping[str, FileRecord]) -> None:
    """Keep the records; none removes the file."""
    if not records:
        files.remove(path)
        return
    folders = files.missing_folders(Path(path.anchor), path)
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)
    text = json.dumps({"files": {name: asdict(one) for name, one in records.items()}}, indent=1)
    files.write(path, text + "\n", OWNER_ONLY if os.name == "posix" else None)


def digest(text: str) -> str:
    """What a text is recognised by."""
    return hashlib.sha256(text.encode()).hexdigest()

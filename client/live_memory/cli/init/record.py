"""The record of `init`, kept below the user's own state folder: with it `--undo` restores the exact bytes.

It is not in the project: the former files may hold secrets, and one user's changes do not concern the team. Without a
record (another machine, a folder that was moved) `--undo` still finds our parts by their marks.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.init import files


@dataclass(frozen=True)
class FileRecord:
    """One file: its text before (None: it did not exist), its text after `init`, and the folders that `init` made for
    it.
    """

    before: str | None
    after_hash: str
    folders: list[str] = field(default_factory=list)
    mode: int | None = None
    """Its former mode, if it existed and has another mode now."""


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder for data that is neither configuration nor cache: LIVEMEM_STATE, or the system's folder."""
    if named := environ.get("LIVEMEM_STATE"):
        return Path(named).expanduser()
    import platformdirs  # noqa: PLC0415 - some milliseconds that only who needs it should pay

    return platformdirs.user_state_path("livemem", appauthor=False)


def path_of(environ: Mapping[str, str], client: str, scope: str, root: Path) -> Path:
    """The path of the record of a client in a folder."""
    name = hashlib.sha256("\0".join((client, scope, str(root.resolve()))).encode(errors="surrogateescape")).hexdigest()
    return state_folder(environ) / "init" / f"{name[:32]}.json"


def load(path: Path) -> dict[str, FileRecord]:
    """The records by the paths of their files. Empty if there is no readable record."""
    try:
        found = json.loads(files.read(path) or "{}")
        return {name: FileRecord(**fields) for name, fields in found["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        # Undoing by marks is better than not undoing.
        return {}


def save(path: Path, records: Mapping[str, FileRecord]) -> None:
    """Save the records. An empty set removes the file."""
    if not records:
        files.remove(path)
        return
    folders = files.missing_folders(Path(path.anchor), path)
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)
    text = json.dumps({"files": {name: asdict(one) for name, one in records.items()}}, indent=1)
    files.write(path, text + "\n", own_files.OWNER_ONLY)


def digest(text: str) -> str:
    """The hash by which a text is recognised."""
    return hashlib.sha256(text.encode()).hexdigest()

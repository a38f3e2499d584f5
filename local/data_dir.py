"""The folder that holds everything between two runs, and the files in it that say how to reach the runtime."""

import atexit
import hmac
import json
import os
import secrets
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from local.files import patiently, read_secret, write_file

LOCK = "runtime.lock"
_LOOK_SECONDS = 0.2
"""For so long another program may look whether the folder is locked."""
OWN_NAMES = frozenset(
    {
        *(LOCK, "s3.key", "admin.key", "agents", "endpoints.json", "own-model.json", "serve.json", "serve.log"),
        *("serve.log.1", "stop", "workers", "queue", "dead-letters", "logs", "scratch"),
        *("s3", "s3-metadata", "s3-scratch", "s3-events", "demo", "story", "sam"),
    }
)
"""What a runtime, the demo and `make sam-local` leave in the default folder."""


class DataDirError(RuntimeError):
    """The folder cannot be used; the text is one sentence for the terminal."""


class DataDirInUseError(DataDirError):
    """Another runtime uses the folder."""

    status = 4
    """The exit status then. The command line waits for that other service."""


def make_private(root: Path) -> None:
    """Make a folder, and the folders in it, readable by their owner alone: notes may be confidential.

    A folder that others can read is changed only if a runtime made it: it may be somebody's home, or everybody's. On
    Windows, where no modes tell who may read, a new folder is for its owner alone, and one that exists stays as it is.

    Raises DataDirError if it belongs to somebody else, or is readable and holds other things, and OSError.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not hasattr(os, "geteuid"):
        return
    entries = list(root.iterdir())
    if is_open(root) and not {entry.name for entry in entries} <= OWN_NAMES and not (root / LOCK).exists():
        raise DataDirError(
            f"The data folder {root} is readable by others and holds things that are not from a runtime; "
            "set LIVEMEM_DATA_DIR to another folder, or take their permission away (chmod 700)."
        )
    for folder in (root, *(entry for entry in entries if entry.is_dir())):
        if folder.stat().st_uid != os.geteuid():
            raise DataDirError(
                f"The folder {folder} belongs to another user, who could read the notes; "
                "set LIVEMEM_DATA_DIR to a folder of your own."
            )
        if is_open(folder):
            folder.chmod(0o700)


def is_open(folder: Path) -> bool:
    """Whether others than the owner have any permission."""
    return bool(folder.stat().st_mode & 0o077)


class DataDir:
    """The data folder, locked for one runtime."""

    def __init__(self, root: Path) -> None:
        """Create the folder, make it private and lock it. Raises DataDirError if that fails, or another has it."""
        self.root = root
        self.queue = root / "queue"
        self.dead_letters = root / "dead-letters"
        self.logs = root / "logs"
        self.scratch = root / "scratch"
        self.own_model = root / "own-model.json"
        self.admin_key_file = root / "admin.key"
        self.instance = secrets.token_hex(16)
        """The id of this start: a secret of those who may read the folder."""
        self._endpoints = root / "endpoints.json"
        self._stop = root / "stop"
        try:
            make_private(root)
            self._lock = FileLock(root / LOCK, timeout=_LOOK_SECONDS, mode=0o600, thread_local=False)
            self._lock.acquire()
        except Timeout as error:
            raise DataDirInUseError(
                f"Another runtime uses {root}; stop it, or set LIVEMEM_DATA_DIR to another folder."
            ) from error
        except OSError as error:
            raise DataDirError(f"The data folder {root} cannot be used: {error.strerror}.") from error
        # Clients of former versions know the service by it. Windows lets nobody write to a file that is locked.
        with suppress(OSError):
            (root / LOCK).write_text(f"{os.getpid()}\n", "ascii")
        self._clear()

    def admin_key(self) -> str:
        """Return the bootstrap key of this folder, made at the first call, readable by its owner alone."""
        return read_secret(self.admin_key_file)

    def write_endpoints(self, endpoints: dict[str, Any]) -> None:
        """Say where everything is, and which start this is: the sign, for programs, that the runtime is ready."""
        told = {**endpoints, "pid": os.getpid(), "instance": self.instance}
        write_file(self._endpoints, json.dumps(told, indent=2).encode() + b"\n")

    def proof(self, challenge: str) -> str:
        """What only this start can answer to a text: HMAC-SHA256 under its id, in hex.

        An id that is shown could be repeated, after a crash, by a program that takes the port: it would get the key.
        """
        return hmac.digest(self.instance.encode(), challenge.encode(), "sha256").hex()

    def is_to_stop(self) -> bool:
        """Whether a program asks this start to end: the file `stop` has its id, or none, where it was not told yet.

        One of a former start is ignored.
        """
        try:
            return self._stop.read_text("ascii", "replace").strip() in {"", self.instance}
        except OSError:
            return False

    def lock_until_exit(self) -> None:
        """Keep the folder locked after `close` too, until this process ends: a caller of stop waits for that."""
        self._lock.acquire()
        atexit.register(self._lock.release)

    def close(self) -> None:
        """Remove what only holds while the runtime runs, and unlock."""
        self._clear()
        self._lock.release()

    def _clear(self) -> None:
        for file in (self._endpoints, self._stop):
            patiently(partial(file.unlink, missing_ok=True))

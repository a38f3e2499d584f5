"""The folder that holds everything between two runs, and the files in it that say how to reach the runtime."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from local.files import read_secret, write_file
from local.s3 import KEY_FILE


class DataDirError(RuntimeError):
    """The folder cannot be used; the text is one sentence for the terminal."""


class DataDir:
    """The data folder, locked for one runtime."""

    def __init__(self, root: Path) -> None:
        """Create the folder and lock it. Raises DataDirError when that fails or another runtime uses it."""
        self.root = root
        self.queue = root / "queue"
        self.dead_letters = root / "dead-letters"
        self.logs = root / "logs"
        self.admin_key_file = root / "admin.key"
        self.s3_key_file = root / KEY_FILE
        self._endpoints = root / "endpoints.json"
        try:
            # Notes may be confidential. A folder that exists keeps the permissions that its owner gave it.
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(root / "runtime.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataDirError(f"The data folder {root} cannot be used: {error.strerror}.") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._lock, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._lock)
            raise DataDirError(
                f"Another runtime (process {owner}) uses {root}; stop it, or set LIVEMEM_DATA_DIR to another folder."
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        self._endpoints.unlink(missing_ok=True)

    def admin_key(self) -> str:
        """Return the bootstrap key of this folder, made at the first call, readable by its owner alone."""
        return read_secret(self.admin_key_file)

    def s3_key(self) -> str:
        """Return the secret key of the embedded S3 server, made at the first call, readable by its owner alone."""
        return read_secret(self.s3_key_file)

    def write_endpoints(self, endpoints: dict[str, Any]) -> None:
        """Say where everything is: the sign, for programs, that the runtime is ready."""
        write_file(self._endpoints, json.dumps(endpoints, indent=2).encode() + b"\n")

    def close(self) -> None:
        """Remove what only holds while the runtime runs, and unlock."""
        self._endpoints.unlink(missing_ok=True)
        os.close(self._lock)

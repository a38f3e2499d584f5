"""What the demo needs of the world: the local runtime as a process, and a client of its API."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from live_memory import Client

ROOT = Path(__file__).resolve().parents[2]
_READY_SECONDS = 60.0
_STOP_SECONDS = 15.0
_HTTP_SECONDS = 30.0
# The demo has a data folder, a store and a key of its own, whatever the caller uses otherwise. The models' variables go
# through.
_OWN_VARIABLES = ("S3_", "ADMIN_BOOTSTRAP_KEY", "HOST", "PORT", "LIVEMEM_")


class DemoError(Exception):
    """The demo cannot go on; the text is for the person who started it."""


@dataclass(frozen=True)
class Service:
    """The running service: an API for the admin with its key, and whether its models are the offline ones."""

    admin: Client
    admin_key: str
    offline_llm: bool
    llm_url: str
    offline_embeddings: bool
    embeddings_url: str | None


@contextlib.contextmanager
def running_service(data: Path) -> Iterator[Service]:
    """Run `python -m local` on an emptied data folder for as long as the block lasts.

    Raises DemoError if the folder is in use or the runtime does not become ready.
    """
    _empty(data)
    log = data / "runtime.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            # The wrapper ends the runtime when this process is gone, even by SIGKILL.
            [sys.executable, "-m", "local.children.module", "local"],
            cwd=ROOT,
            env=_environment(data),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C comes to the demo alone, which then stops the runtime
        )
    try:
        endpoints = _wait_ready(process, data / "endpoints.json", log)
        yield _connect(endpoints)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def runtime_variables() -> dict[str, str]:
    """What the demo's runtime gets of the caller's environment."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}


def _environment(data: Path) -> dict[str, str]:
    return runtime_variables() | {"PORT": "0", "LIVEMEM_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}


def _empty(data: Path) -> None:
    """Remove what an earlier demo left, unless its runtime still runs."""
    lock = data / "runtime.lock"
    if lock.exists():
        try:
            FileLock(lock).acquire(timeout=0).lock.release()
        except Timeout as error:
            raise DemoError(f"Another runtime uses {data}; is a demo running already?") from error
    elif data.exists() and any(data.iterdir()):
        raise DemoError(f"{data} holds something that is not from a demo; it was left as it is.")
    shutil.rmtree(data, ignore_errors=True)
    # The folder above may be that of `make run`.
    data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.mkdir(mode=0o700)
    lock.touch()  # marks the folder as one that the next demo may empty


def _wait_ready(process: subprocess.Popen[bytes], file: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ValueError):
            endpoints: dict[str, Any] = json.loads(file.read_text("utf-8"))
            return endpoints
        if process.poll() is not None:
            raise DemoError(f"The runtime ended with status {process.returncode}:\n{_tail(log)}")
        time.sleep(0.05)
    raise DemoError(f"The runtime was not ready within {_READY_SECONDS:.0f} s:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-2_000:].strip()


def _connect(endpoints: Mapping[str, Any]) -> Service:
    key = Path(endpoints["admin_key_file"]).read_text("utf-8").strip()
    return Service(
        Client(endpoints["api"], key, timeout=_HTTP_SECONDS),
        key,
        bool(endpoints["llm_is_offline_stand_in"]),
        endpoints["llm"],
        bool(endpoints["embeddings_are_offline"]),
        endpoints["embeddings"],
    )

"""The service on this machine: where its data lies, whether it runs, its start in the background, its end.

The service keeps a lock file open for as long as it lives, with its process id in it. Only a process that has that file
open is taken for the service: an id that a crash left behind never belongs to one, also if another process has it now.
Nothing here takes the lock, not even for a moment: a service that starts just then would find it taken.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from live_memory.cli.exits import FAILED, LATER, Refused

LOCK, ENDPOINTS, KEY, LOG, CHOICES = "runtime.lock", "endpoints.json", "admin.key", "serve.log", "serve.json"
DEFAULT_PORT = 3000
START_SECONDS, STOP_SECONDS, PAUSE = 120.0, 30.0, 0.05
_TOLD_CHARACTERS = 2_000


@dataclass(frozen=True)
class LocalService:
    """A service that runs and is ready. `token` is its first key; None if its user gave it another one."""

    pid: int
    url: str
    token: str | None = field(repr=False)
    endpoints: Mapping[str, Any] = field(repr=False)


_VARIABLES = {
    "port": "PORT",
    "s3": "S3_ENDPOINT_URL",
    "bucket": "S3_BUCKET_NAME",
    "region": "S3_REGION_NAME",
    "llm": "LLMAAS_API_URL",
    "model": "LLMAAS_MODEL",
    "workers": "LIVEMEM_WORKERS",
}


_STORE_KEYS = ("S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")


@dataclass(frozen=True)
class Choices:
    """How the service is to be started. Those of a start that succeeds are kept: a later one must not find another
    store, and empty.
    """

    port: str | None = None
    s3: str | None = None
    bucket: str | None = None
    region: str | None = None
    llm: str | None = None
    model: str | None = None
    workers: str | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str], **said: str | None) -> "Choices":
        """The choices of a person: options, else the variables that say the same."""
        return cls(**{name: environ.get(_VARIABLES[name]) if value is None else value for name, value in said.items()})

    def variables(self) -> dict[str, str]:
        """The variables of the service that say the same. Keys are never among them."""
        return {_VARIABLES[name]: value for name, value in self.known().items()}

    def known(self) -> dict[str, str]:
        """Those that were made."""
        return {name: value for name, value in vars(self).items() if value is not None}


def data_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the service's data: LIVEMEM_DATA_DIR, or `livemem/server` where this system keeps users' data."""
    if named := environ.get("LIVEMEM_DATA_DIR"):
        return Path(named).expanduser().absolute()
    import platformdirs  # noqa: PLC0415 - some milliseconds that only who needs it should pay

    return platformdirs.user_data_path("livemem", appauthor=False) / "server"


def running(folder: Path) -> int | None:
    """The process id of the service that uses a data folder, also of one that is not ready yet; None: there is none."""
    try:
        pid = int((folder / LOCK).read_text("ascii"))
        lock = (folder / LOCK).stat()
        for opened in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed in the meantime
                found = opened.stat()
                if (found.st_dev, found.st_ino) == (lock.st_dev, lock.st_ino):
                    return pid
    except (OSError, ValueError):
        # No such file or process, or one of another user.
        pass
    return None


def ready(folder: Path) -> LocalService | None:
    """The service of a data folder, if it runs and answers requests."""
    pid = running(folder)
    if pid is None:
        return None
    try:
        told = json.loads((folder / ENDPOINTS).read_bytes())
        # A file that a crash left behind names another process.
        if told["pid"] != pid:
            return None
        return LocalService(pid, told["api"], _token(told), told)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _token(endpoints: Mapping[str, Any]) -> str | None:
    file = endpoints.get("admin_key_file")
    return Path(file).read_text("ascii").strip() if file else None


def command(
    environ: Mapping[str, str],
    folder: Path,
    choices: Choices,
    host: str | None = None,
    module: str = "local",
    *,
    kept: bool = False,
) -> tuple[list[str], Path, dict[str, str]]:
    """The command that runs the service, its working folder and its variables. Raises Refused.

    With a `host` the service is for others too: it listens there, alone or behind a proxy. `module` names another
    program of the service's. With `kept` the service keeps the choices for later starts, once it is ready: those of a
    start that failed are not kept.
    """
    root = _program()
    if host:
        _check_shared(environ, choices)
    # Only what was chosen for the service counts: the project that an agent works in may have a store of its own.
    others = {*_VARIABLES.values(), *(() if choices.s3 or choices.region else _STORE_KEYS)}
    variables = {
        **{name: value for name, value in environ.items() if name not in others},
        **choices.variables(),
        # Another address only if a person says so in the command: who reaches the service can try keys.
        "HOST": host or "127.0.0.1",
        "LIVEMEM_SHARED": "true" if host else "false",
        "LIVEMEM_DATA_DIR": str(folder),
        # Also tells the service to name options in what it says, rather than variables.
        "LIVEMEM_CHOICES": json.dumps(choices.known()) if kept else "",
        "PYTHONPATH": str(root),
    }
    variables.pop("PYTHONSAFEPATH", None)
    return [sys.executable, "-m", module], root, variables


def _check_shared(environ: Mapping[str, str], choices: Choices) -> None:
    if not (environ.get("ADMIN_BOOTSTRAP_KEY") or environ.get("ADMIN_BOOTSTRAP_KEY_SHA256")):
        raise Refused(
            "With --host others reach the service, so its first key must be yours: set ADMIN_BOOTSTRAP_KEY to at least "
            "32 random characters (openssl rand -hex 32), or ADMIN_BOOTSTRAP_KEY_SHA256 to their SHA-256."
        )
    if not (choices.s3 or choices.region):
        raise Refused(
            "With --host others keep their memory here, so it needs a store of its own: add --s3 URL (or --region for "
            "AWS S3). The embedded store is for the programs of one machine."
        )


def _program() -> Path:
    """The folder that the service runs from: in the package, or the checkout that this file is in. Raises Refused."""
    if not sys.platform.startswith("linux"):
        raise Refused("The service runs on Linux (also in WSL); here, use one on another machine: `livemem login`.")
    from importlib.util import find_spec  # noqa: PLC0415

    package = Path(__file__).resolve().parents[1]
    found = [root for root in (package / "_server", package.parents[1]) if (root / "local" / "runtime.py").is_file()]
    if not found or not find_spec("croniter"):
        raise Refused(
            "The service (the extra live-memory[server]) is not installed: `pipx install --force '.[server]'` in a "
            "clone of the repository, or with its wheel (docs/install.md)."
        )
    return found[0]


def is_installed() -> bool:
    """Whether the service can be started here."""
    try:
        _program()
    except Refused:
        return False
    return True


def is_free(port: int) -> bool:
    """Whether nobody listens at a port of this machine."""
    import socket  # noqa: PLC0415 - every command loads this module, and few start or end a service

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def chosen(folder: Path, said: Choices) -> Choices:
    """The choices of this start: those that were said, else those of the last start. Raises Refused."""
    try:
        former = Choices(**json.loads((folder / CHOICES).read_bytes()))
    except FileNotFoundError:
        return said
    except (OSError, ValueError, TypeError):
        raise Refused(f"{folder / CHOICES} can't be read: remove it, and say all options again.") from None
    # An empty text takes a former choice back.
    return Choices(**{name: value for name, value in {**former.known(), **said.known()}.items() if value})


def start(
    environ: Mapping[str, str],
    folder: Path,
    choices: Choices,
    sleep: Callable[[float], None] = time.sleep,
    host: str | None = None,
    *,
    kept: bool = False,
) -> LocalService:
    """The service of a data folder, started in the background unless it runs. Several callers get the same one.

    `kept`: as for `command`.

    What it prints goes to `serve.log` in the folder, of which it keeps 20 MB. Waits until it is ready, 120 s at most.
    Raises Refused, with what the service said, if it does not start.
    """
    import subprocess  # noqa: PLC0415

    if found := ready(folder):
        return found
    arguments, root, variables = command(environ, folder, choices, host, kept=kept)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = folder / LOG
    variables["LIVEMEM_LOG_FILE"] = str(log)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        began = output.tell()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
            arguments,
            cwd=root,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # It outlives the terminal, and Ctrl-C there is not for it.
            start_new_session=True,
        )
    for _ in range(int(START_SECONDS / PAUSE)):
        if found := ready(folder):
            return found
        # Where two were started at once, one of them ends: the other one is the service.
        if process.poll() is not None and not running(folder):
            raise Refused(f"The service did not start. It says: {_said(log, began)}", LATER)
        sleep(PAUSE)
    raise Refused(f"The service is not ready after {START_SECONDS:.0f} s. What it says is in {log}.", LATER)


def choices_of_agent(folder: Path) -> Choices:
    """The choices of a start that nobody chose anything for: those of the last one, and a port that is free."""
    choices = chosen(folder, Choices())
    return choices if choices.port or is_free(DEFAULT_PORT) else replace(choices, port="0")


def _said(log: Path, began: int) -> str:
    with log.open("rb") as file:
        file.seek(began)
        return file.read()[-_TOLD_CHARACTERS:].decode("utf-8", "replace").strip() or "nothing"


def stop(folder: Path) -> bool:
    """End the service of a data folder and wait until it has ended, 30 s at most. False: none runs. Raises Refused."""
    import select  # noqa: PLC0415
    import signal  # noqa: PLC0415

    pid = running(folder)
    if pid is None:
        return False
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # Looked at once more with the process in hand: from here on its id can't pass to another one.
        if running(folder) != pid:
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGTERM)
        ended = select.poll()
        ended.register(process, select.POLLIN)
        if not ended.poll(STOP_SECONDS * 1_000):
            raise Refused(f"The service (process {pid}) has not ended within {STOP_SECONDS:.0f} s.", FAILED)
    finally:
        os.close(process)
    return True

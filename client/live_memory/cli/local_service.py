"""The service on this machine: where its data lies, whether it runs, its start in the background, its end.

Each start of the service has a secret id of its own, in a file of the data folder. Only what proves at its address that
it has that id is taken for the service: a crash leaves the file behind, and the port to another program. The service
locks the folder as long as its process lives.
"""

import hmac
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from live_memory.cli import own_files
from live_memory.cli.exits import FAILED, LATER, Refused

ENDPOINTS, LOCK, STOP, LOG, CHOICES = "endpoints.json", "runtime.lock", "stop", "serve.log", "serve.json"
IN_USE = 4
"""The exit status of a service whose folder another one has locked."""
DEFAULT_PORT = 3000
START_SECONDS, STOP_SECONDS, HEALTH_SECONDS, PAUSE = 120.0, 30.0, 3.0, 0.05
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
    "program": "LIVEMEM_LLM_PROGRAM",
    "llm_for": "LIVEMEM_LLM_FOR",
}
OWN_MODEL = "cli:claude"
"""The model is a program of this machine (cli/own_model.py)."""
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
    program: str | None = None
    llm_for: str | None = None

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


def ready(folder: Path) -> LocalService | None:
    """The service of a data folder, if it runs and answers requests. Raises Refused for one of a former version."""
    try:
        return find(folder)
    except TimeoutError:
        return None


def find(folder: Path, seconds: float = HEALTH_SECONDS) -> LocalService | None:
    """As `ready`. Raises TimeoutError where its address takes a request and does not answer in time."""
    try:
        told = json.loads((folder / ENDPOINTS).read_bytes())
        url, instance = told["api"], told.get("instance")
        challenge = os.urandom(16).hex()
        health = _health(url, challenge, seconds)
        # A file that a crash left behind may name a port that is another program's by now, which must not get the key.
        proof = hmac.digest(instance.encode(), challenge.encode(), "sha256").hex() if instance else None
        if health is None or health.get("proof") != proof:
            return None
        if instance:
            return LocalService(told["pid"], url, _token(told), told)
    except TimeoutError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    raise Refused(f"The service at {url} is of a former version: end its process ({told.get('pid')}), and try again.")


def _health(url: str, challenge: str, seconds: float) -> dict[str, Any] | None:
    # Not urllib: a proxy must not be asked for what runs here.
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - most commands know their service
    from urllib.parse import urlsplit  # noqa: PLC0415

    connection = HTTPConnection(urlsplit(url).netloc, timeout=seconds)
    try:
        connection.request("GET", f"/healthz?challenge={challenge}")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    except HTTPException:
        return None
    finally:
        connection.close()


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
    # An empty text takes a former choice back, and another model one that was about the program.
    made = {name: value for name, value in {**former.known(), **said.known()}.items() if value}
    own = made.get("llm") == OWN_MODEL
    return Choices(**{name: value for name, value in made.items() if own or name not in ("program", "llm_for")})


def keep(folder: Path, choices: Choices) -> None:
    """Keep choices for later starts. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own_files.write(folder / CHOICES, json.dumps(choices.known()).encode())


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
    from live_memory.cli import background  # noqa: PLC0415 - every command loads this module, and few start a service

    if found := ready(folder):
        return found
    arguments, root, variables = command(environ, folder, choices, host, kept=kept)
    own_files.make_folder(folder)
    log = folder / LOG
    variables["LIVEMEM_LOG_FILE"] = str(log)
    with open(log, "ab", opener=own_files.private) as output:
        began = output.tell()
        process = background.start(arguments, output, environ=variables, folder=root)
        for _ in range(int(START_SECONDS / PAUSE)):
            if found := ready(folder):
                return found
            ended = process.poll()
            if ended == IN_USE:
                # Another one starts just now and will be the service, or it ends.
                process = background.start(arguments, output, environ=variables, folder=root)
            elif ended is not None:
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


def stop(folder: Path, sleep: Callable[[float], None] = time.sleep) -> bool:
    """End the service of a data folder, also one that starts just now or gives no answer, and wait until its process
    has ended, 30 s at most. False: none runs. Raises Refused.
    """
    found = ready(folder)
    if not found and not _is_locked(folder):
        return False
    # Each system has files, and not each a signal that another process may catch. One that starts has told no id yet.
    instance = (found.endpoints["instance"] if found else "").encode()
    for _ in range(int(STOP_SECONDS / PAUSE)):
        if not _is_locked(folder):
            return True
        # Again, if one that starts has just removed it with the files of the start before.
        if not (folder / STOP).exists():
            own_files.write(folder / STOP, instance)
        sleep(PAUSE)
    named = f" (process {found.pid})" if found else ""
    raise Refused(f"The service{named} has not ended within {STOP_SECONDS:.0f} s.", FAILED)


def _is_locked(folder: Path) -> bool:
    try:
        from filelock import FileLock, Timeout  # noqa: PLC0415 - only where the service is installed
    except ImportError:
        return ready(folder) is not None
    if not (folder / LOCK).exists():
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True

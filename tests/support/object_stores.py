"""S3 stores as programs on this machine: how each is started, and what is known of it.

Programs are looked for on the PATH and where scripts/stores.sh puts them. Used by the tests of tests/integration/stores
and by benchmarks/stores.py.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from livemem.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
ACCESS_KEY, SECRET_KEY = "livememtest", "livememtestsecret"
READY_SECONDS = 90


@dataclass(frozen=True)
class Kind:
    """A store. `command` makes its command line from program, data folder and port; without a `program` it comes with
    the development requirements, or is the embedded store behind the server of the tests.
    """

    name: str
    command: Callable[[str, Path, int], list[str]]
    program: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    heeds_conditions: bool = True
    checks_signatures: bool = True
    knows_v2: bool = False
    """Takes SigV2 on object requests, as S3_SIGNATURE=hybrid signs them."""


MOTO = Kind(
    "moto",
    lambda _, data, port: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
    checks_signatures=False,
    knows_v2=True,
)
EMBEDDED = Kind(
    "embedded",
    lambda _, data, port: [
        sys.executable, "-m", "tests.support.files_over_http", "--data", str(data), "--port", str(port)
    ],
    checks_signatures=False,
    knows_v2=True,
)  # fmt: skip
MINIO = Kind(
    "minio",
    lambda program, data, port: [
        program, "server", "--quiet", "--address", f"127.0.0.1:{port}", "--console-address", "127.0.0.1:0", str(data)
    ],
    program="minio",
    environment={"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY, "MINIO_BROWSER": "off"},
    knows_v2=True,
)  # fmt: skip
VERSITYGW = Kind(
    "versitygw",
    # Keeps ETags in extended attributes, which the file system of the data folder must have.
    lambda program, data, port: [program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(data)],
    program="versitygw",
    environment={"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
)
VERSITYGW_SIDECAR = replace(
    VERSITYGW,
    name="versitygw-sidecar",
    command=lambda program, data, port: [
        program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", "--sidecar", str(folder(data, "meta")),
        str(folder(data, "objects")),
    ],
)  # fmt: skip
RCLONE = Kind(
    "rclone",
    lambda program, data, port: [
        program, "serve", "s3", "--config", "", "--addr", f"127.0.0.1:{port}",
        "--auth-key", f"{ACCESS_KEY},{SECRET_KEY}", str(data),
    ],
    program="rclone",
    heeds_conditions=False,
)  # fmt: skip

KINDS = {kind.name: kind for kind in (MOTO, EMBEDDED, MINIO, VERSITYGW, VERSITYGW_SIDECAR, RCLONE)}


@dataclass(frozen=True)
class Target:
    """A store that can be reached."""

    name: str
    endpoint: str
    access_key: str
    secret_key: str
    version: str = ""
    region: str = "us-east-1"

    def settings(self, bucket: str, signature: str = "v4", **more: Any) -> Settings:
        """Settings of the service for a bucket of this store."""
        return Settings(
            s3_bucket_name=bucket,
            s3_endpoint_url=self.endpoint,
            s3_region_name=self.region,
            s3_access_key_id=self.access_key,
            s3_secret_access_key=self.secret_key,
            s3_signature="hybrid" if signature == "hybrid" else "v4",
            **more,
        )

    def client(self, *, signature: str = "s3v4", secret_key: str | None = None) -> Any:
        """A client that repeats nothing by itself, so that an answer is the store's first one."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=secret_key or self.secret_key,
            config=Config(
                signature_version=signature,
                retries={"total_max_attempts": 1},
                s3={"addressing_style": "path"},
                max_pool_connections=32,
                connect_timeout=5,
                read_timeout=60,
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )


def folder(*parts: Path | str) -> Path:
    """A folder that exists."""
    path = Path(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def cache() -> Path:
    """Where scripts/stores.sh puts programs."""
    base = os.environ.get("LIVEMEM_CACHE_DIR")
    if base:
        return Path(base) / "bin"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "live-memory" / "bin"


def find(kind: Kind) -> str | None:
    """The program of a store; an empty string if it needs none, None if it is missing."""
    if kind.program is None:
        return ""
    return shutil.which(kind.program) or shutil.which(kind.program, path=str(cache()))


def version(kind: Kind, program: str) -> str:
    """What runs, as exactly as it can be told."""
    if kind is MOTO:
        return package_version("moto")
    if not program:
        return "of this commit"
    noted = Path(f"{program}.version")
    if noted.exists():
        return noted.read_text().strip()
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return told.partition("\n")[0].strip()


@contextmanager
def running(kind: Kind, data: Path | None = None) -> Iterator[Target]:
    """Start a store on a free port, with its objects in `data`, and stop it at the end; raises LookupError if its
    program is missing.
    """
    program = find(kind)
    if program is None:
        raise LookupError(f"{kind.program} is neither on the PATH nor in the cache: scripts/stores.sh {kind.program}")
    with tempfile.TemporaryDirectory(prefix="livemem-store-") as temporary:
        port = _free_port()
        log = Path(temporary) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                kind.command(program, folder(data or temporary, "data"), port),
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(("layers/livemem", ".")), **kind.environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            target = Target(kind.name, f"http://127.0.0.1:{port}", ACCESS_KEY, SECRET_KEY, version(kind, program))
            _wait_until_ready(target, process, log)
            yield target
        finally:
            # Nothing of it is kept, and some wait for their idle connections before they end.
            process.kill()
            process.wait()


def _wait_until_ready(target: Target, process: "subprocess.Popen[bytes]", log: Path) -> None:
    client = target.client()
    deadline = time.monotonic() + READY_SECONDS
    pause = threading.Event()
    while True:
        try:
            client.list_buckets()
            return
        except (ClientError, BotoCoreError) as error:
            if process.poll() is not None or time.monotonic() > deadline:
                told = log.read_text(errors="replace")[-2_000:]
                raise RuntimeError(f"{target.name} did not start: {error}\n{told}") from error
        pause.wait(0.1)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])

"""The programs under test: store and runtime, each started again on the same data after it was killed."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from local.sam import minio
from local.sam.minio import ACCESS_KEY
from local.sam.variables import Store as MinioStore

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "live-memory"
READY_SECONDS = 90.0
_OWN = ("S3_", "LLMAAS_", "EMBEDDINGS_", "LIVEMEM_", "CONSOLIDATION_", "AWS_", "MINIO_", "ADMIN_", "HOST", "PORT")


class ProgramError(RuntimeError):
    """A program did not start; the text says which and where its output is."""


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody does."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Program:
    """One program; `ready` is asked with its process until it says yes."""

    def __init__(
        self,
        name: str,
        command: list[str],
        variables: Mapping[str, str],
        log: Path,
        ready: Callable[[int], bool],
    ) -> None:
        self.name = name
        self.kills = 0
        self._command, self._log, self._ready = command, log, ready
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_OWN)}
        self._variables = {**kept, "PYTHONPATH": str(ROOT), **variables}
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Of the process, if it runs."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    def start(self) -> None:
        """Start it and wait until it is ready; one that ends at once (its port may be taken a moment longer) is started
        again. Raises ProgramError.
        """
        deadline = time.monotonic() + READY_SECONDS
        with self._lock:
            while time.monotonic() < deadline:
                if self.pid is None:
                    self._launch()
                if self.pid and self._ready(self.pid):
                    return
                time.sleep(0.05)
        raise ProgramError(f"{self.name} was not ready within {READY_SECONDS:.0f} s; see {self._log}")

    def _launch(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._variables,
                stdin=subprocess.PIPE,  # what it runs behind ends it when this process is gone
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        time.sleep(0.1)

    def kill(self) -> None:
        """End it as a power failure of its machine would: at once, with all that it has started in its group."""
        with self._lock:
            if self._process and self._process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
                self.kills += 1

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        with self._lock:
            if self._process is None:
                return
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


class Store(Program):
    """A store with the bucket; `client` reaches it past the proxy."""

    address: str
    access_key = ACCESS_KEY
    secret_key: str

    def client(self) -> Any:
        """An S3 client of the store itself."""
        import boto3  # noqa: PLC0415 - half a second
        from botocore.config import Config  # noqa: PLC0415

        return boto3.client(
            "s3",
            endpoint_url=f"http://{self.address}",
            region_name="us-east-1",
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 8}, proxies={}),
        )


class EmbeddedStore(Store):
    """The store of `make run`, as a process of its own."""

    secret_key = ACCESS_KEY

    def __init__(self, data: Path, log: Path) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "benchmarks.chaos.owned", "tests.support.files_over_http"]
        command += ["--port", str(port), "--data", str(data), "--bucket", BUCKET]
        super().__init__("The store", command, {}, log, lambda _: listens(port))


class Minio(Store):
    """MinIO."""

    def __init__(self, program: Path, data: Path, log: Path, template: Any, invoke_url: str) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.secret_key = secrets.token_hex(16)
        self._template, self._prepared = template, False
        data.mkdir(parents=True, exist_ok=True)
        variables = {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": self.secret_key, "MINIO_BROWSER": "off"}
        for function in template.functions:
            if function.triggers:
                webhook = function.logical_id.upper()
                url = f"{invoke_url}/2015-03-31/functions/{function.logical_id}/invocations"
                queue = data.parent / "minio-events"
                queue.mkdir(exist_ok=True)
                variables[f"MINIO_NOTIFY_WEBHOOK_ENABLE_{webhook}"] = "on"
                variables[f"MINIO_NOTIFY_WEBHOOK_ENDPOINT_{webhook}"] = url
                # Events that nobody takes are kept and sent again.
                variables[f"MINIO_NOTIFY_WEBHOOK_QUEUE_DIR_{webhook}"] = str(queue)
        command = [str(program), "server", "--quiet", "--address", self.address, str(data)]
        super().__init__("MinIO", command, variables, log, lambda _: listens(port))
        self._queue = data.parent / "minio-events"

    def start(self) -> None:
        """Start it; the first time its bucket is made."""
        super().start()
        if not self._prepared:
            store = MinioStore(f"http://{self.address}", BUCKET, self.access_key, self.secret_key)
            minio.prepare_bucket(store, self._template)
            self._prepared = True

    def waiting(self) -> int:
        """Put events that wait for their delivery."""
        return sum(1 for path in self._queue.rglob("*") if path.is_file())


class Runtime(Program):
    """`python -m local`, with a store of its own behind the proxy."""

    def __init__(
        self, data: Path, log: Path, template: Path, port: int, variables: Mapping[str, str], program: str = "local"
    ) -> None:
        self.data = data
        self.port = port
        own = {"PORT": str(port), "LIVEMEM_DATA_DIR": str(data), "LIVEMEM_TEMPLATE": str(template)}
        command = [sys.executable, "-m", "benchmarks.chaos.owned", program]
        super().__init__("The runtime", command, {**own, **variables}, log, self._is_ready)

    @property
    def url(self) -> str:
        """Of its API and its Invoke API."""
        return f"http://127.0.0.1:{self.port}"

    def admin_key(self) -> str:
        """The token that may do everything."""
        return (self.data / "admin.key").read_text("ascii").strip()

    def waiting(self) -> list[dict[str, Any]]:
        """Asynchronous events that wait or are worked on."""
        found = []
        for path in sorted((self.data / "queue").glob("*.json")):
            with suppress(OSError, ValueError):
                found.append(json.loads(path.read_bytes()))
        return found

    def given_up(self) -> int:
        """Events that failed too often."""
        return sum(1 for _ in (self.data / "dead-letters").rglob("*.json"))

    def _is_ready(self, pid: int) -> bool:
        with suppress(OSError, ValueError):
            return bool(json.loads((self.data / "endpoints.json").read_bytes())["pid"] == pid)
        return False


def write_template(path: Path, *, slots: int | None = None) -> None:
    """Copy template.yaml to another folder, with another number of slots for consolidations."""
    text = (ROOT / "template.yaml").read_text("utf-8")
    text = re.sub(r"(CodeUri|ContentUri): (?=\w)", rf"\1: {ROOT}/", text)
    if slots is not None:
        text = re.sub(r"(  ConsolidationConcurrency:\n    Type: Number\n    Default: )\d+", rf"\g<1>{slots}", text)
    path.write_text(text, "utf-8")

"""What the service costs on one desk: its start, its processes, its memory, and how fast it appends notes.

`.venv/bin/python -m benchmarks.desk` starts the service of this checkout on an empty data folder and prints one line.
`--beside COMMIT` does the same with that commit, in a worktree that is removed again, so that both are measured in one
run. Memory is proportional (PSS, /proc): shared pages count once.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 120
NOTES, WRITERS = 300, 16


def main() -> int:
    """Print a line for each commit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desk", description=__doc__)
    parser.add_argument("--beside", metavar="COMMIT", help="measure this commit first")
    wanted = parser.parse_args()
    if wanted.beside:
        with tempfile.TemporaryDirectory(prefix="livemem-desk-") as folder:
            other = Path(folder) / "tree"
            subprocess.run(["git", "worktree", "add", "--detach", other, wanted.beside], cwd=ROOT, check=True)
            try:
                for generator in ("scripts.openapi", "scripts.client"):
                    subprocess.run([sys.executable, "-m", generator], cwd=other, env=_environment(other), check=True)
                print(f"{wanted.beside}: {_measured(other)}")
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)
    print(f"this checkout: {_measured(ROOT)}")
    return 0


def _environment(root: Path) -> dict[str, str]:
    folders = (root / "layers" / "livemem", root / "client", root)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}


def _measured(root: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="livemem-desk-data-") as name:
        data = Path(name) / "data"
        environment = {**_environment(root), "PORT": "0", "LIVEMEM_DATA_DIR": str(data)}
        # The limits of a token would be measured instead.
        environment |= {"REQUESTS_PER_TOKEN_PER_SECOND": "0", "REQUESTS_PER_SPACE_PER_SECOND": "0"}
        began = time.monotonic()
        service = subprocess.Popen(
            [sys.executable, "-m", "local"], cwd=root, env=environment, stdout=subprocess.DEVNULL
        )
        try:
            endpoints = data / "endpoints.json"
            while not endpoints.is_file():
                if service.poll() is not None or time.monotonic() - began > READY_SECONDS:
                    raise SystemExit("The service did not start.")
                time.sleep(0.02)
            ready = time.monotonic() - began
            processes = _family(service.pid)
            memory = sum(map(_proportional, processes))
            url, token = json.loads(endpoints.read_bytes())["api"], (data / "admin.key").read_text().strip()
            writer = Writer(urlsplit(url).netloc, token)
            writer.post("/v1/spaces", {"space_id": "desk", "consolidation_threshold": 0})
            for number in range(NOTES):  # functions are still being imported
                writer.append(number)
            times = sorted(map(writer.append, range(NOTES)))
            loaded = sum(map(_proportional, processes))
            began = time.monotonic()
            with ThreadPoolExecutor(WRITERS) as writers:
                list(writers.map(writer.append, range(NOTES)))
            rate = NOTES / (time.monotonic() - began)
        finally:
            service.terminate()
            service.wait()
    median, slow = 1_000 * statistics.median(times), 1_000 * times[int(0.95 * NOTES)]
    return (
        f"ready in {ready:.1f} s, {len(processes)} processes, {memory / 1_000:.0f} MB when ready, "
        f"{loaded / 1_000:.0f} MB once all functions are imported; an append takes "
        f"{median:.1f} ms (p95 {slow:.1f}), {WRITERS} writers append {rate:.0f} notes a second"
    )


class Writer(threading.local):
    """A thread's connection to the service, which is kept, as clients do."""

    def __init__(self, address: str, token: str) -> None:
        self._connection, self._token = HTTPConnection(address, timeout=60), token

    def post(self, path: str, body: object) -> None:
        """Send a body. Raises SystemExit if the service refuses it."""
        self._connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self._token}"})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise SystemExit(text.decode())

    def append(self, number: int) -> float:
        """Append a note; returns the seconds."""
        began = time.perf_counter()
        self.post("/v1/spaces/desk/notes", {"category": "observation", "content": f"Observation {number}."})
        return time.perf_counter() - began


def _family(pid: int) -> list[int]:
    """A process and all that it has started."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def _proportional(pid: int) -> int:
    """The kB of memory of a process, shared pages counted in part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())

"""What a cold start of each function takes: import, and the first answer, in fresh interpreters; medians.

    .venv/bin/python -m benchmarks.cold_start [--runs 7] [reads ingest ...]

The packages of the layer's lock and our own are put into a folder, as `make build` does for Lambda, and nothing else is
importable. Each function is measured as plain sources (`sam build` alone ships them so) and with the bytecode that
scripts/sam_build.sh compiles. The first answer is that to a sample event of events/, over the embedded store. `wall` is
what a clock on the wall says, `cpu` what the processor did: on a busy machine the second one tells more.
"""

import argparse
import compileall
import importlib.metadata
import json
import os
import py_compile
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chaos.programs import BUCKET, ROOT, EmbeddedStore
from livemem.access.principal import PERMISSIONS, Principal
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import lifecycle
from livemem.store.clients import open_store

EVENTS = {
    "ingest": "ingest-note",
    "reads": "reads-bank",
    "admin": "admin-put-rules",
    "consolidate": "consolidate-run",
    "counter": "counter-put",
    "backup": "backup-space",
    "sweep": "sweep-schedule",
    "search": "search-space",
    "indexer": "indexer-run",
    "conversations": "conversations-create",
    "summarize": "summarize-run",
    "memories": "memories-store",
    "rooms": "rooms-post",
    "mcp": "mcp-note",
}
KEY = "kq8Zr3wVtY6uPz1mXn5cB2aLh9dS4fGe"
PROGRAM = """
import time
wall, cpu = time.perf_counter(), time.process_time()
import app
imported = time.perf_counter() - wall, time.process_time() - cpu
import json, sys
event = json.load(open(sys.argv[1]))
if "headers" in event:
    event["headers"]["authorization"] = "Bearer " + sys.argv[2]
class Context:
    function_name = invoked_function_arn = aws_request_id = "cold"
    memory_limit_in_mb = 512
    def get_remaining_time_in_millis(self):
        return 60_000
wall, cpu = time.perf_counter(), time.process_time()
answer = app.handler(event, Context())
print(json.dumps([*imported, time.perf_counter() - wall, time.process_time() - cpu, str(answer)[:60]]), file=sys.stderr)
"""


def build(folder: Path) -> None:
    """What the layers hold: the locked packages and our own, without bytecode. Who neither searches nor speaks MCP
    loads none of the other two's.
    """
    layers = ("livemem", "search", "mcp")
    lock = "".join((ROOT / "layers" / name / "requirements.txt").read_text("utf-8") for name in layers)
    for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE):
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.suffix != ".pyc" and ".." not in file.parts:
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("livemem", "livemem_http", "livemem_mcp"):
        shutil.copytree(ROOT / "layers" / "livemem" / name, folder / name, ignore=ignored)


def run(function: str, layer: Path, variables: dict[str, str]) -> tuple[list[float], str]:
    """One cold start: wall and processor's milliseconds of the import and of the first answer, and how that begins."""
    folder = ROOT / "functions" / function
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(layer)!r}]\n{PROGRAM}"
    # -S: nothing of this program's environment is importable.
    command = [sys.executable, "-S", "-c", code, str(ROOT / "events" / f"{EVENTS[function]}.json"), KEY]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, cwd=folder)
    *times, answer = json.loads(done.stderr.splitlines()[-1])
    return [value * 1_000 for value in times], answer


def measure(functions: Sequence[str], runs: int, folder: Path, variables: dict[str, str]) -> None:
    """Print the table."""
    print("| function | bytecode | import, wall (cpu) | first answer, wall (cpu) | both, wall (cpu) | answer |")
    print("|---|---|---|---|---|---|")
    layer = folder / "layer"
    build(layer)
    for kind in ("none", "compiled"):
        if kind == "compiled":
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            compileall.compile_dir(layer, quiet=2, invalidation_mode=mode, maxlevels=20)
        for function in functions:
            found = [run(function, layer, variables) for _ in range(runs)]
            middle = [statistics.median(times[index] for times, _ in found) for index in range(4)]
            cells = [f"{middle[at]:.0f} ({middle[at + 1]:.0f})" for at in (0, 2)]
            both = [statistics.median(times[at] + times[at + 2] for times, _ in found) for at in (0, 1)]
            answer = re.sub(r"[|\n]", " ", found[-1][1])
            print("|", " | ".join([function, kind, *cells, f"{both[0]:.0f} ({both[1]:.0f})", answer]), "|", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", default=list(EVENTS), help=", ".join(EVENTS))
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="livemem-cold-") as name:
        folder = Path(name)
        store = EmbeddedStore(folder / "s3", folder / "s3.log")
        store.start()
        try:
            variables = {
                "PYTHONDONTWRITEBYTECODE": "1",
                "PATH": os.environ["PATH"],
                "AWS_DEFAULT_REGION": "us-east-1",
                "S3_ENDPOINT_URL": f"http://{store.address}",
                "S3_ACCESS_KEY_ID": store.access_key,
                "S3_SECRET_ACCESS_KEY": store.secret_key,
                "S3_BUCKET_NAME": BUCKET,
                "LLMAAS_API_URL": "http://127.0.0.1:9/v1",
                "ADMIN_BOOTSTRAP_KEY": KEY,
                "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
                "BACKUP_FUNCTION_NAME": "none",
            }
            settings = Settings(**{name.lower(): value for name, value in variables.items() if name.startswith("S3_")})
            process = Process(
                open_store(settings), settings, None, None, print, str  # type: ignore[arg-type]
            )  # fmt: skip
            everyone = Principal("bench", frozenset(PERMISSIONS), frozenset())
            lifecycle.create(process, everyone, lifecycle.SpaceRequest("demo", rules_template="standard", threshold=0))
            measure(arguments.functions, arguments.runs, folder, variables)
        finally:
            store.stop()


if __name__ == "__main__":
    main()

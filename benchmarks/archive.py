"""What an export and an import of a large space cost in memory and time.

    .venv/bin/python -m benchmarks.archive --mebibytes 1024

The store is the embedded one, a process of its own; each of both is done by a fresh process, whose memory is measured
from when all is loaded to its peak, as the system counts it (resident).
"""

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from livemem import clock
from livemem.access.principal import Principal
from livemem.copies import export, importing, provisioning
from livemem.copies.new_space import SpaceCopy
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import EXPORT, HEAD, IN_SPACE, UPLOAD
from livemem.store.clients import open_store
from livemem.store.objects import Store
from livemem.upkeep import backup_work
from tests.support.object_stores import EMBEDDED, Target, running

ROOT = Path(__file__).resolve().parents[1]
BUCKET, SPACE, COPY = "bench", "large", "copy"
MEBIBYTE = 1 << 20
OBJECT_BYTES = 256 << 10
LARGE_BYTES = 48 * MEBIBYTE
"""Of one object of a space that is large enough."""
INVOCATION = timedelta(minutes=15)
ADMIN = Principal("bench", frozenset({"read", "write", "admin"}), frozenset())
WRITERS = 8
GOAL_MEBIBYTES = 256


@dataclass(frozen=True)
class Measured:
    """What one process needed: mebibytes of memory before and at the peak, seconds, invocations, and the archive's
    bytes.
    """

    before: float
    peak: float
    seconds: float
    invocations: int
    archive: int

    @property
    def growth(self) -> float:
        return self.peak - self.before


def text(size: int, seed: int) -> bytes:
    """Text that compresses about as notes and records do."""
    chance = random.Random(seed)  # noqa: S311 - the same text in every run
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(3_000)]
    return " ".join(chance.choices(words, k=size // 5)).encode()[:size]


def fill(store: Store, mebibytes: int) -> int:
    """Put objects of so many bytes into the space; how many there are."""
    source = text(min(8, mebibytes) * MEBIBYTE, 1)
    sizes = [LARGE_BYTES] if mebibytes * MEBIBYTE > 4 * LARGE_BYTES else []
    sizes += [OBJECT_BYTES] * ((mebibytes * MEBIBYTE - sum(sizes)) // OBJECT_BYTES)

    def put(index: int) -> None:
        start = (index * 7_919 * 31) % (len(source) - OBJECT_BYTES)
        body = (source[start:] * (sizes[index] // OBJECT_BYTES + 1))[: sizes[index]]
        store.put(
            f"{IN_SPACE.prefix(SPACE)}conversations/{index:06d}.ndjson", body, content_type="application/x-ndjson"
        )

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(put, range(len(sizes))))
    return len(sizes)


def new_process(settings: Settings, queue: deque[Mapping[str, Any]]) -> Process:
    """A process as a function's environment has it; what it queues comes into `queue`."""
    return Process(
        store=open_store(settings),
        settings=settings,
        ask=llm.connect(settings),
        converse=tool_calling.connect(settings),
        enqueue=lambda _, payload: queue.append(payload),
        new_suffix=lambda: secrets.token_hex(4),
    )


def do_export(process: Process, queue: deque[Mapping[str, Any]]) -> Callable[[], tuple[int, int]]:
    """What exports the space: how many invocations it took, and the size of its archives."""

    def do() -> tuple[int, int]:
        count = 1
        job = export.export(process, ADMIN, SPACE, clock.now() + timedelta(seconds=20)).value
        while queue:
            count += 1
            backup_work.carry_out(process, queue.popleft(), clock.now() + INVOCATION)
        made = export.KIND.find(process, SPACE, job.job_id)
        assert made
        return count, sum(archive.bytes for archive in made.value.archives)

    return do


def do_import(
    process: Process, queue: deque[Mapping[str, Any]], upload_ids: list[str]
) -> Callable[[], tuple[int, int]]:
    """What imports it: how many invocations it took, and how many objects there are then."""

    def do() -> tuple[int, int]:
        count = 1
        deadline = clock.now() + timedelta(seconds=20)
        head = importing.order(process, ADMIN, SpaceCopy(COPY, upload_ids=upload_ids), deadline)
        there = provisioning.carry_on(process, head, deadline)
        while not there:
            count += 1
            backup_work.carry_out(process, queue.popleft(), clock.now() + INVOCATION)
            found = heads.find(process, COPY)
            there = found.meta if found else None
        assert there.provisioning
        return count, there.provisioning.objects or 0

    return do


def measured(do: Callable[[], tuple[int, int]]) -> Measured:
    """What it costs to do it."""
    before, began = resident(), time.monotonic()
    invocations, size = do()
    return Measured(before, resident(), round(time.monotonic() - began, 2), invocations, size)


def resident() -> float:
    """The largest memory of this process so far, in mebibytes; of its own alone, which `getrusage` does not tell."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1_024


def child(target: Target, what: str) -> Measured:
    """Do it in a process of its own."""
    arguments = [sys.executable, "-m", "benchmarks.archive", "--child", what, "--endpoint", target.endpoint]
    path = os.pathsep.join(("layers/livemem", "."))
    done = subprocess.run(
        arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True, text=True
    )
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def run_child(endpoint: str, what: str) -> None:
    """Do one of both, and print what it cost."""
    target = Target(EMBEDDED.name, endpoint, os.environ["BENCH_KEY"], os.environ["BENCH_SECRET"])
    queue: deque[Mapping[str, Any]] = deque()
    process = new_process(target.settings(BUCKET, llmaas_api_url="http://127.0.0.1:1/v1"), queue)
    # Connections are opened and code is loaded before it counts.
    process.store.get(HEAD.key(SPACE))
    name, _, upload_ids = what.partition(":")
    do = do_export(process, queue) if name == "export" else do_import(process, queue, upload_ids.split(","))
    print(json.dumps(measured(do).__dict__))


def run(mebibytes: int) -> tuple[Measured, Measured, int]:
    """Fill a space, export it and import it again: both, and how many objects there were."""
    with running(EMBEDDED) as target:
        os.environ["BENCH_KEY"], os.environ["BENCH_SECRET"] = target.access_key, target.secret_key
        client = target.client()
        client.create_bucket(Bucket=BUCKET)
        settings = target.settings(BUCKET, llmaas_api_url="http://127.0.0.1:1/v1")
        process = new_process(settings, deque())
        lifecycle.create(process, ADMIN, lifecycle.SpaceRequest(SPACE, rules="Keep a log.", threshold=0))
        count = fill(process.store, mebibytes) + 4
        exported = child(target, "export")
        archives = {
            number: entry.key for entry in process.store.scan("_exports/") if (number := EXPORT.last(entry.key))
        }
        upload_ids = [process.new_id() for _ in archives]
        for number, upload_id in enumerate(upload_ids, start=1):
            source = {"Bucket": BUCKET, "Key": archives[number]}
            client.copy_object(Bucket=BUCKET, Key=UPLOAD.key(upload_id), CopySource=source)
        imported = child(target, f"import:{','.join(upload_ids)}")
    return exported, imported, count


def main() -> None:
    """Print what both cost."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mebibytes", type=int, default=1_024)
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    arguments.add_argument("--endpoint", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        run_child(given.endpoint, given.child)
        return
    exported, imported, count = run(given.mebibytes)
    print(f"{given.mebibytes} MiB in {count} objects, archives of {exported.archive / MEBIBYTE:.1f} MiB")
    for name, one in (("export", exported), ("import", imported)):
        print(
            f"{name}: {given.mebibytes / one.seconds:.1f} MiB/s, {one.seconds:.1f} s, {one.invocations} invocations, "
            f"memory {one.before:.0f} MiB before, {one.peak:.0f} MiB at most, so {one.growth:.0f} MiB for it"
        )


if __name__ == "__main__":
    main()

"""Consolidates notes of 2 kB into a bank of 200 kB on real parts (boto3 over HTTP, the openai client) and prints what
it takes: requests, peak memory of the worker's process, and both as ratios to the smallest row.

    .venv/bin/python -m benchmarks.consolidation
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from livemem import clock
from livemem.access.principal import PERMISSIONS, Principal
from livemem.consolidation import pipeline as consolidation
from livemem.jobs import queue as queues
from livemem.llm import client as llm
from livemem.llm import tool_calling
from livemem.notes import appending
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import keys
from livemem.store.capability_check import has_conditional_writes
from livemem.store.clients import open_store
from livemem.store.objects import Store
from local.offline_llm import server as offline_llm
from tests.support.counting import CountingClient
from tests.support.object_stores import ACCESS_KEY, EMBEDDED, SECRET_KEY, running

ROOT = Path(__file__).resolve().parent.parent
NOTE_BYTES = 2_000
BANK_BYTES = 200_000
ROWS = (10, 100, 500)
LIMIT_MIB = 200
TOPICS = ("storage", "users", "scope", "build tools", "architecture", "tests", "security", "releases")


def prepare(process: Process, count: int) -> None:
    """A space with a bank of BANK_BYTES in ten files and `count` live notes."""
    everyone = Principal("bench", frozenset(PERMISSIONS), frozenset())
    lifecycle.create(process, everyone, lifecycle.SpaceRequest("bench", rules_template="standard", threshold=0))
    line = "- A line of the bank that says something which still holds today (2026-02-20, ann)\n"
    for index in range(10):
        text = f"# File {index}\n\n## Facts\n\n" + line * (BANK_BYTES // 10 // len(line))
        process.store.put(f"bench/bank/file{index}.md", text.encode())
    drafts = [
        appending.NoteDraft(
            keys.CATEGORIES[index % len(keys.CATEGORIES)],
            f"Note {index} on {TOPICS[index % len(TOPICS)]}: {'measured again and again. ' * (NOTE_BYTES // 25)}"[
                :NOTE_BYTES
            ],
        )
        for index in range(count)
    ]
    for start in range(0, count, 100):
        appending.append_batch(process, "bench", "ann", drafts[start : start + 100])


def peak_mib() -> float:
    """The most memory that this process has held. (getrusage would count what its parent held when it forked.)"""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure(s3: str, model: str, count: int) -> dict[str, Any]:
    """In a process of its own: one consolidation, its requests and this process's peak memory in MiB."""
    settings = Settings(
        s3_endpoint_url=s3,
        s3_bucket_name=f"bench-{count}",
        s3_region_name="us-east-1",
        s3_access_key_id=ACCESS_KEY,
        s3_secret_access_key=SECRET_KEY,
        llmaas_api_url=model,
        llmaas_model="offline-rules",
        llmaas_context_tokens=1_000_000,
        llmaas_max_tokens=None,
    )
    plain = open_store(settings)
    plain.v4.create_bucket(Bucket=plain.bucket)
    suffixes = iter(range(0, 1 << 30, 128))
    parts: dict[str, Any] = {
        "settings": settings,
        "ask": llm.connect(settings),
        "converse": tool_calling.connect(settings),
        "enqueue": lambda *_: None,
        "new_suffix": lambda: f"{next(suffixes):08x}",
    }
    prepare(Process(store=plain, **parts), count)
    client = CountingClient(plain.v4)
    store = Store(plain.bucket, client, client)  # type: ignore[arg-type]
    has_conditional_writes(store)
    process = Process(store=store, **parts)
    head = heads.load(process, "bench")
    run = queues.enqueue(process, head, queues.RunOrder("api"), run_id=clock.new_id())
    client.reset()
    deadline = clock.now() + timedelta(minutes=15)
    ended = consolidation.consolidate(process, "bench", run.job_id, deadline=deadline)
    assert ended is not None
    assert ended.state == "done", ended
    made = client.counts
    return {
        "notes": ended.metrics["notes_processed"],
        "reads": made["GET"] + made["LIST"],
        "puts": made["PUT"],
        "written": ended.metrics["bank_files_created"] + ended.metrics["bank_files_updated"],
        "peak_mib": peak_mib(),
        "seconds": ended.metrics["duration_seconds"],
    }


def run_all(rows: Sequence[int] = ROWS) -> list[dict[str, Any]]:
    """Start the store and the model, and measure each row in a new process."""
    model = offline_llm.bind()
    model.start()
    results: list[dict[str, Any]] = []
    with running(EMBEDDED) as store:
        for count in rows:
            addresses = store.endpoint, offline_llm.base_url(model)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.consolidation", "--row", str(count), *addresses],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'layers' / 'livemem'}{os.pathsep}{ROOT}"},
                cwd=ROOT,
            )
            results.append(json.loads(done.stdout))
    model.stop()
    return results


def main() -> int:
    """Print the table; exits with 1 if the largest row needs more memory than the limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", nargs=3, metavar=("NOTES", "S3", "LLM"))
    wanted = parser.parse_args()
    if wanted.row:
        print(json.dumps(measure(wanted.row[1], wanted.row[2], int(wanted.row[0]))))
        return 0
    results = run_all()
    first = results[0]
    print("| notes | GET+LIST | allowed | PUT | allowed | peak MiB | ratio | seconds | ratio |")
    print("|------:|---------:|--------:|----:|--------:|---------:|------:|--------:|------:|")
    for result in results:
        print(
            f"| {result['notes']:5} | {result['reads']:8} | {12 + result['notes'] + 10:7} | {result['puts']:3} "
            f"| {result['written'] + 9:7} | {result['peak_mib']:8.0f} | {result['peak_mib'] / first['peak_mib']:5.2f} "
            f"| {result['seconds']:7.2f} | {result['seconds'] / first['seconds']:5.1f} |"
        )
    print(f"\nLimit of memory for 500 notes: {LIMIT_MIB} MiB")
    return 0 if results[-1]["peak_mib"] < LIMIT_MIB else 1


if __name__ == "__main__":
    sys.exit(main())

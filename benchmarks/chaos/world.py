"""Puts everything together: store, proxy, runtime, LLM, clients, and who kills them."""

import json
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.chaos.client import Client
from benchmarks.chaos.events_door import EventsDoor, Sender
from benchmarks.chaos.killer import Killer
from benchmarks.chaos.ledger import Ledger
from benchmarks.chaos.llm_door import MODEL, LlmDoor
from benchmarks.chaos.logs import Log
from benchmarks.chaos.mischief import Mischief
from benchmarks.chaos.programs import BUCKET, EmbeddedStore, Minio, Runtime, free_port, write_template
from benchmarks.chaos.store_door import StoreDoor
from benchmarks.chaos.work import Space, Work
from local import ROOT
from local.functions.put_events import PutEvents
from local.functions.template import read_template

TWINS = 0.25
"""Of the runs, how many are delivered several times."""


@dataclass(frozen=True)
class Options:
    """What the caller chose. Times in seconds unless the name says otherwise."""

    data: Path
    seed: int = 1
    rate: float = 0.02
    kill_seconds: float = 6.0
    llm_seconds: tuple[float, float] = (0.2, 4.0)
    clock_minutes: float = 2.5
    spaces: int = 16
    writers: int = 6
    operators: int = 3
    sweep_seconds: float = 60.0
    slots: int | None = None
    minio: Path | None = None


class World:
    """Everything that runs. `start` first."""

    def __init__(self, options: Options) -> None:
        """Prepare the data folder; nothing runs yet."""
        self.options = options
        self.data = options.data
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o700, parents=True)
        began = time.monotonic()
        self.log = Log(self.data / "requests.jsonl", began)
        self.happened = Log(self.data / "happened.jsonl", began)
        self.mischief = Mischief(options.rate, random.Random(options.seed))  # noqa: S311 - no secret
        self.ledger = Ledger()
        self.stop = threading.Event()
        self.twins: Counter[str] = Counter()
        self.twin_runs: set[str] = set()
        self._chance = random.Random(options.seed + 1)  # noqa: S311
        template = self.data / "template.yaml"
        write_template(template, slots=options.slots)
        port = free_port()
        events_log = Log(self.data / "events.jsonl", began)
        self.events = EventsDoor(f"127.0.0.1:{port}", self.mischief, events_log)
        self.store = self._make_store(template)
        self.proxy = StoreDoor(self.store.address, self.mischief, self.log, self._deliver_again, self._kill)
        llm_log = Log(self.data / "llm.jsonl", began)
        self.llm = LlmDoor(llm_log, options.llm_seconds, random.Random(options.seed + 2))  # noqa: S311
        self._template, self._port = template, port
        self._logs = [self.log, self.happened, events_log, llm_log]
        self.runtime: Runtime
        self.work: Work
        self.killer: Killer

    def _make_store(self, template: Path) -> EmbeddedStore | Minio:
        if self.options.minio:
            log = self.data / "minio.log"
            return Minio(self.options.minio, self.data / "store", log, read_template(template), self.events.door.url)
        return EmbeddedStore(self.data / "store", self.data / "store.log")

    def start(self) -> None:
        """Start the programs. Raises ProgramError."""
        for door in (self.events.door, self.proxy.door, self.llm.door):
            door.open()
        if not self.options.minio:
            functions, sender = read_template(self._template).functions, Sender(f"127.0.0.1:{self.events.door.port}")
            self.proxy.announce = PutEvents(functions, sender.accept, lambda _, call: call()).add
        self.store.start()
        options = self.options
        variables = {
            "S3_ENDPOINT_URL": self.proxy.door.url,
            "S3_BUCKET_NAME": BUCKET,
            "S3_REGION_NAME": "us-east-1",
            "S3_ACCESS_KEY_ID": self.store.access_key,
            "S3_SECRET_ACCESS_KEY": self.store.secret_key,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "LLMAAS_API_URL": self.llm.url,
            "LLMAAS_API_KEY": "none",
            "LLMAAS_MODEL": MODEL,
            "LLMAAS_CONTEXT_TOKENS": "1000000",
            "EMBEDDINGS_API_URL": "off",
            "CONSOLIDATION_COOLDOWN_SECONDS": "1",
            # It sends as fast as the service answers.
            "REQUESTS_PER_SPACE_PER_SECOND": "0",
            "REQUESTS_PER_TOKEN_PER_SECOND": "0",
            "LIVEMEM_SWEEP_SECONDS": str(options.sweep_seconds),
            "CHAOS_CLOCK_MINUTES": str(options.clock_minutes),
        }
        self.runtime = Runtime(
            self.data / "runtime",
            self.data / "runtime.log",
            self._template,
            self._port,
            variables,
            "benchmarks.chaos.runtime",
        )
        self.runtime.start()
        admin = Client(self.runtime.url, self.runtime.admin_key())
        spaces = [Space(f"space-{number}") for number in range(1, options.spaces + 1)]
        self.work = Work([admin], spaces, self.ledger, options.seed, self.stop)
        self.killer = Killer(
            self.store,
            self.runtime,
            self.proxy,
            self.happened,
            random.Random(options.seed + 3),  # noqa: S311
            options.kill_seconds,
            self.stop,
        )

    def flush(self) -> None:
        """Bring the logs to the disk."""
        for log in self._logs:
            log.flush()

    def close(self) -> None:
        """Stop the programs."""
        self.stop.set()
        if hasattr(self, "runtime"):
            self.runtime.stop()
        self.store.stop()
        self.flush()

    def _kill(self) -> None:
        self.killer.kill_runtime()

    def _deliver_again(self, payload: dict[str, Any]) -> None:
        """Deliver a run's invocation up to five times, sometimes all at once."""
        if not self.mischief.chance(TWINS):
            return
        times, spread = self._chance.randrange(1, 5), self._chance.choice((0.0, 0.0, 1.0, 5.0))
        self.twins["runs"] += 1
        self.twin_runs.add(payload["job_id"])
        self.happened.write(t=self.happened.now(), twins=times, run=payload["job_id"], within=spread)
        for _ in range(times):
            timer = threading.Timer(self._chance.random() * spread, self._invoke, (payload,))
            timer.daemon = True
            timer.start()

    def _invoke(self, payload: dict[str, Any]) -> None:
        if self.work.admin.invoke("ConsolidateFunction", payload, later=True):
            self.twins["deliveries"] += 1


@contextmanager
def running(options: Options) -> Iterator[World]:
    """A world for as long as the block lasts."""
    world = World(options)
    try:
        world.start()
        yield world
    finally:
        world.close()


def default_data(name: str) -> Path:
    """Where a benchmark keeps its data unless it is told."""
    return ROOT / ".local" / name / time.strftime("%Y%m%d-%H%M%S")


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Keep what was found."""
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False), "utf-8")

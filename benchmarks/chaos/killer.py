"""Kills workers, the store and the runtime by chance, and starts what has to be started again."""

import os
import random
import signal
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks.chaos.logs import Log
from benchmarks.chaos.peers import Peers
from benchmarks.chaos.programs import Program, ProgramError, Runtime
from benchmarks.chaos.store_door import StoreDoor

WORKER, STORE, RUNTIME = 8, 1.5, 1.5
"""How often each is killed, relative to the others."""
AWAY = (0.2, 4.0)
"""Seconds until it is started again."""


@dataclass
class Killer:
    """Kills once in `seconds` on average, until `stop`."""

    peers: Peers
    store: Program
    runtime: Runtime
    door: StoreDoor
    log: Log
    random: random.Random
    seconds: float
    stop: threading.Event
    counts: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    """Why something did not come up again."""
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        thread = threading.Thread(target=self._run, name="killer", daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until what it killed last is up again."""
        for thread in self._threads:
            thread.join(200)

    def _run(self) -> None:
        try:
            while not self.stop.wait(self.random.expovariate(1 / self.seconds)):
                what = self.random.choices(("worker", "store", "runtime"), (WORKER, STORE, RUNTIME))[0]
                if what == "worker":
                    self._kill_worker()
                else:
                    self._kill_program(what, self.store if what == "store" else self.runtime)
        except ProgramError as error:
            self.failure = str(error)

    def _kill_worker(self) -> None:
        workers = self.peers.workers()
        if not workers:
            return
        # Consolidations are where there is most to be broken.
        worker = self.random.choices(workers, [3 if one.function == "Consolidate" else 1 for one in workers])[0]
        self.door.hit_worker(worker.pid)
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        self.counts[f"worker {worker.function}"] += 1
        self.log.write(t=self.log.now(), killed=f"{worker.function}:{worker.pid}", run=self.door.run_of(worker.pid))

    def _kill_program(self, what: str, program: Program) -> None:
        self.door.hit_all()
        program.kill()
        self.counts[what] += 1
        self.log.write(t=self.log.now(), killed=what)
        self.stop.wait(self.random.uniform(*AWAY))
        program.start()
        self.door.hit_all()
        self.log.write(t=self.log.now(), started=what)

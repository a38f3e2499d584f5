"""Kills the store and the runtime by chance, and starts what has to be started again."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.chaos.logs import Log
from benchmarks.chaos.programs import Program, ProgramError, Runtime
from benchmarks.chaos.store_door import StoreDoor

STORE, RUNTIME = 1.5, 4.0
"""How often each is killed, relative to the others."""
AWAY = (0.2, 4.0)
"""Seconds until it is started again."""


@dataclass
class Killer:
    """Kills once in `seconds` on average, until `stop`."""

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
                what = self.random.choices(("store", "runtime"), (STORE, RUNTIME))[0]
                self._kill_program(what, self.store if what == "store" else self.runtime)
        except ProgramError as error:
            self.failure = str(error)

    def kill_runtime(self) -> None:
        """Kill it now, from any thread, and start it again later."""
        self.door.hit_all()
        self.runtime.kill()
        thread = threading.Thread(target=self._start_again, name="restart", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _start_again(self) -> None:
        self.stop.wait(self.random.uniform(*AWAY))
        try:
            self.runtime.start()
        except ProgramError as error:
            self.failure = str(error)
        self.door.hit_all()

    def _kill_program(self, what: str, program: Program) -> None:
        self.door.hit_all()
        program.kill()
        self.counts[what] += 1
        self.log.write(t=self.log.now(), killed=what)
        self.stop.wait(self.random.uniform(*AWAY))
        program.start()
        self.door.hit_all()
        self.log.write(t=self.log.now(), started=what)

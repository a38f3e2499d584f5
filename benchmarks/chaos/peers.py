"""Who is at the other end of a connection: the worker's process, and which function it serves. Linux only."""

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOG = ".log"


@dataclass(frozen=True)
class Worker:
    """A process that serves a function, named without its `Function`."""

    pid: int
    function: str


class Peers:
    """Finds workers by the ports of their connections to one door. Safe for threads; what was found is kept."""

    def __init__(self, logs: Path) -> None:
        """Prepare; `logs` is the runtime's folder, where a worker's standard output goes to `<Function>.log`."""
        self._logs = str(logs)
        self._lock = threading.Lock()
        self._by_port: dict[tuple[int, int], Worker | None] = {}

    def find(self, port: int, door: int) -> Worker | None:
        """The worker whose connection from `port` to the port `door` this is; None if it is no worker's.

        A port is used again by others: call `forget` when its connection has ended.
        """
        with self._lock:
            if (port, door) in self._by_port:
                return self._by_port[port, door]
        found = self._look(port, door)
        with self._lock:
            self._by_port[port, door] = found
        return found

    def forget(self, port: int, door: int) -> None:
        """Its connection is gone."""
        with self._lock:
            self._by_port.pop((port, door), None)

    def workers(self) -> list[Worker]:
        """All workers that run now."""
        pids = (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal())
        return [worker for pid in pids if (worker := self._worker(pid))]

    def _look(self, port: int, door: int) -> Worker | None:
        inode = _inode(port, door)
        if inode is None:
            return None
        wanted = f"socket:[{inode}]"
        for worker in self.workers():
            if wanted in _links(worker.pid):
                return worker
        return None

    def _worker(self, pid: int) -> Worker | None:
        try:
            output = Path(f"/proc/{pid}/fd/1").readlink()
        except OSError:
            return None
        if str(output.parent) != self._logs or output.suffix != _LOG:
            return None
        return Worker(pid, output.stem.removesuffix("Function"))


def _inode(port: int, door: int) -> str | None:
    """Of the socket of this machine that is bound to `port` and connected to `door`."""
    ends = f"0100007F:{port:04X} 0100007F:{door:04X} "
    for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]:
        if ends in line:
            return line.split()[9]
    return None


def _links(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - a hundred times a second
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))  # noqa: PTH115
    return found

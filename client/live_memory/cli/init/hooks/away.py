"""A service that gives no answer is left alone for a while: each hook would make the user wait for it again."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli import own_files
from live_memory.errors import LiveMemoryError

SECONDS = 300.0


@dataclass(frozen=True)
class Away:
    """Whether a service is left alone: a file whose time says since when. It may be lost at any time.

    `near`: the service is on this machine. There a refused connection costs nothing, and the service may start at any
    moment, so only one that accepts requests and does not answer them is left alone.
    """

    file: Path
    near: bool
    clock: Callable[[], float] = time.time
    seconds: float = SECONDS

    @classmethod
    def of(cls, folder: Path, url: str, *, near: bool) -> "Away":
        """That of the service at a URL; its file is in the folder of the hooks' state."""
        return cls(folder / f"away-{hashlib.sha256(url.encode(errors='replace')).hexdigest()[:32]}", near)

    def seconds_left(self) -> float:
        """For how long it is still left alone; 0: it is not."""
        try:
            left = self.file.stat().st_mtime + self.seconds - self.clock()
        except OSError:
            return 0
        # A clock that was set back must not keep the memory away for longer.
        return left if 0 < left <= self.seconds else 0

    @contextmanager
    def during(self) -> Iterator[None]:
        """Leave the service alone while it is asked. It stays so where this process ends before a good answer."""
        with suppress(OSError):
            own_files.write(self.file, b"")
        yield
        with suppress(OSError):
            self.file.unlink()

    def learn(self, problem: Exception) -> None:
        """Leave the service alone from now on if the problem says that it gives no answer."""
        code = problem.code if isinstance(problem, LiveMemoryError) else ""
        if code == "no_answer" or (code == "no_connection" and not self.near):
            with suppress(OSError):
                own_files.write(self.file, b"")

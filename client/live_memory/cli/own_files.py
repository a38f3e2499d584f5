"""The program's own files, which several of its processes may use at once: for their owner alone, replaced as a whole.

Windows refuses to replace a file that another process has open just then. It changes line ends in a file that was
opened without saying that it is binary, so files are opened by `open`, which says so.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

OWNER_ONLY = 0o600
STALE_SECONDS = 20
"""A lock is older than this only if the process that held it died: a hook takes 6 s at most, a new token 10 s."""
PAUSE_SECONDS = 0.05
APPEND_SECONDS = 2
REPLACE_TRIES = 10


def private(path: str, flags: int) -> int:
    """An opener for `open`: a file that it makes is for its owner alone."""
    return os.open(path, flags, OWNER_ONLY)


def unblocked(path: str, flags: int) -> int:
    """An opener for `open` that never waits for the other end of a pipe, which a hostile name may lead to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def append(path: Path, data: bytes) -> int:
    """Append to a file and return its size in bytes. Raises OSError."""
    make_folder(path.parent)
    with open(path, "ab", opener=private) as file:
        file.write(data)
        return file.tell()


def append_newest(path: Path, data: bytes, most: int, row: int | None = None) -> None:
    """Append rows, and forget the older half of a file that is larger than `most` bytes then. `row`: bytes of each;
    None: they are lines. Several processes write one after the other. Raises OSError, and then may not have written.
    """
    with lock(path.with_name(f"{path.name}.lock"), time.monotonic() + APPEND_SECONDS) as held:
        if not held:
            raise TimeoutError(errno.ETIMEDOUT, "another process writes to it")
        if append(path, data) > most:
            whole = path.read_bytes()
            middle = len(whole) // 2
            write(path, whole[middle // row * row if row else whole.rfind(b"\n", 0, middle) + 1 :])


def write(path: Path, data: bytes, mode: int = OWNER_ONLY, *, lasting: bool = False) -> None:
    """Replace a file, or make it. If several write, one wins as a whole. `lasting`: also if the power fails.

    Raises OSError.
    """
    temporary = path.with_name(f".{path.name[:200]}.{os.urandom(4).hex()}.tmp")
    try:
        with make(temporary) as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if mode != OWNER_ONLY:
            temporary.chmod(mode)
        replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def make(path: Path) -> BinaryIO:
    """Make a file that is not there yet, with its folder. Raises FileExistsError, OSError."""
    make_folder(path.parent)
    try:
        return open(path, "xb", opener=private)
    except FileNotFoundError:
        # Another process has just removed the empty folder.
        make_folder(path.parent)
        return open(path, "xb", opener=private)


def replace(source: Path, target: Path) -> None:
    """Give a file the name of another one, which it replaces. Raises OSError."""
    for _ in range(REPLACE_TRIES):
        with suppress(PermissionError):
            source.replace(target)
            return
        time.sleep(PAUSE_SECONDS)
    source.replace(target)


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone, unless it is there. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def lock(path: Path, until: float) -> Iterator[bool]:
    """Whether this process alone has the lock; waits for another process until then, by the monotonic clock.

    Raises OSError.
    """
    held = _take(path, until)
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):
                path.unlink()


def _take(path: Path, until: float) -> bool:
    while True:
        try:
            make(path).close()
            return True
        except FileExistsError:
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
                    continue
            if time.monotonic() >= until:
                return False
        except PermissionError:
            # On Windows another process is just removing it.
            if time.monotonic() >= until:
                raise
        time.sleep(PAUSE_SECONDS)

"""Files that are either whole or not there, for everything that the runtime keeps on disk."""

import itertools
import os
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

_numbers = itertools.count()
_TIMED_BY_DESCRIPTOR = os.utime in os.supports_fd
_PAUSES = (0.01, 0.05, 0.2, 0.5)
_T = TypeVar("_T")


def prepare_file(
    folder: Path, pieces: Iterable[bytes], *, sync: bool = True, mode: int = 0o644, modified_ns: int | None = None
) -> Path:
    """Write a nameless file that is to be renamed to its place, on the same file system; returns its path.

    `pieces` are its content. Without `sync` it survives the process, but not a power failure. `modified_ns` is its time
    in nanoseconds of Unix time. Raises OSError.
    """
    path = folder / f".{os.getpid()}-{next(_numbers)}.tmp"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            if modified_ns is not None and _TIMED_BY_DESCRIPTOR:
                os.utime(file.fileno(), ns=(modified_ns, modified_ns))
            if sync:
                os.fsync(file.fileno())
        # On Windows closing a file that was written to sets its time.
        if modified_ns is not None and not _TIMED_BY_DESCRIPTOR:
            os.utime(path, ns=(modified_ns, modified_ns))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def write_file(path: Path, data: bytes, *, sync: bool = True, mode: int = 0o644) -> None:
    """Replace a file in one step: a reader, or a start after a crash, sees the old bytes or the new ones.

    The arguments and errors are those of `prepare_file`; the file's folder exists.
    """
    temporary = prepare_file(path.parent, [data], sync=sync, mode=mode)
    try:
        patiently(lambda: temporary.replace(path))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def patiently(change: Callable[[], _T]) -> _T:
    """Rename or remove a file. On Windows that fails while another program, like a virus scanner, has it open.

    Raises what `change` raises, PermissionError after a second.
    """
    for pause in _PAUSES:
        try:
            return change()
        except PermissionError:
            time.sleep(pause)
    return change()


def new_secret(random_bytes: int = 32) -> str:
    """A random text for a URL or a command line: one that begins with `-` would be taken for an option."""
    while not (text := secrets.token_urlsafe(random_bytes))[0].isalnum():
        pass
    return text


def read_secret(path: Path, random_bytes: int = 32) -> str:
    """The secret in a file that its owner alone may read: random, made when it is first asked for. Raises OSError."""
    if not path.exists() or not path.stat().st_size:
        write_file(path, f"{new_secret(random_bytes)}\n".encode(), mode=0o600)
    path.chmod(0o600)
    return path.read_text("ascii").strip()

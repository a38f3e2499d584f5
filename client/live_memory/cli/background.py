"""A process that outlives the one that starts it, and the terminal of both."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from live_memory.cli import own_files

MOST_LOG_BYTES = 200_000
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""On Windows. With a console of its own that nobody sees, no program that it starts opens one."""


def start(
    arguments: Sequence[str],
    output: BinaryIO,
    stdin: int = subprocess.DEVNULL,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a program. Ctrl-C in this terminal is not for it, nor a signal to this group. Raises OSError."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and program
        arguments,
        stdin=stdin,
        stdout=output,
        stderr=output,
        env=environ,
        cwd=folder,
        start_new_session=True,
        creationflags=_FLAGS,
    )


def detach(arguments: Sequence[str], text: str, log: Path) -> bool:
    """Give a command of ours its stdin, and wait for no more of it; what it writes goes to the log. False: it did not
    start.
    """
    # The folder that an agent works in may have modules with the names of ours: `-P`.
    command = [sys.executable, "-P", "-m", "live_memory.cli", *arguments]
    try:
        with _opened(log) as output:
            process = start(command, output, subprocess.PIPE)
        assert process.stdin
        with process.stdin as stdin:
            stdin.write(text.encode())
    except OSError:
        return False
    return True


def _opened(log: Path) -> BinaryIO:
    own_files.make_folder(log.parent)
    # Where it can't be moved, another process writes it just now.
    with suppress(OSError):
        if log.stat().st_size > MOST_LOG_BYTES:
            log.replace(log.with_suffix(".1"))
    return open(log, "ab", opener=own_files.private)

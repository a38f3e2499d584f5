"""What the tests of the local runtime share."""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.config import read_config
from local.front.httpd import Server
from local.functions.logs import FunctionLog
from local.functions.pools import FunctionPool
from local.functions.template import Function
from local.runtime import Runtime
from local.store.client import FileStore
from tests.support.files_over_http import FilesOverHttp
from tests.support.functions import forget

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def s3_server(data: Path) -> Iterator[str]:
    """A store that others reach at this address."""
    server = Server("127.0.0.1", 0, FilesOverHttp(FileStore(data)).answer, max_body=1 << 20)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def last(patch: pytest.MonkeyPatch) -> None:
    """Streams that stay open behind the test: functions that are loaded now log to them for good."""
    patch.setattr(sys, "stdout", sys.__stdout__)
    patch.setattr(sys, "stderr", sys.__stderr__)


@contextmanager
def running(variables: Mapping[str, str]) -> Iterator[tuple[Runtime, dict[str, Any]]]:
    """The runtime in this process, which has these variables for as long as the block lasts, and its endpoints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(variables))
        last(patch)
        forget()
        runtime = Runtime(read_config())
        try:
            yield runtime, runtime.start()
        finally:
            runtime.stop()
            forget()


def wait_until(condition, seconds: float = 10.0):
    """Wait for what another process does; returns the first true value."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.02)):
        value = condition()
        if value:
            return value
        pause.wait(0.02)
    raise AssertionError("it did not happen in time")


def build_pool(root: Path, source: str, name: str, limit: int = 4, **settings) -> FunctionPool:
    """Write a function's module and make a pool for it."""
    folder = Path(tempfile.mkdtemp(dir=root))
    (folder / "app.py").write_text(source)
    function = Function(name, name.lower(), folder, "app.handler", 10, 256, 2, None, {}, (), (), ())
    context = settings.pop("context", None)
    return FunctionPool(replace(function, **settings), FunctionLog(root / "logs", name), limit, context=context)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between the two steps of reading
        return False


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(after_name[1]), set()).add(int(status.parent.name))
    found, todo = set(), [pid]
    while todo:
        children = parents.get(todo.pop(), set())
        found |= children
        todo += children
    return found

"""The environment of the command line, given to every command: variables, terminal, clock, connections.

Tests replace it. No module holds any of it.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import httpx

    from live_memory import Client
    from live_memory._calls import Calls


def _connect(url: str, token: str, **options: Any) -> "Client":
    # httpx and pydantic take longer to load than `livemem --help` takes.
    from live_memory import Client  # noqa: PLC0415

    return Client(url, token, **options)


def _connect_quickly(url: str, token: str, **options: Any) -> "Calls":
    from live_memory import _plain  # noqa: PLC0415

    connect = _plain.PlainClient if _plain.fits(url, os.environ) else _connect
    return connect(url, token, **options)


def _detach(arguments: Sequence[str], text: str, log: Path) -> bool:
    from live_memory.cli.background import detach  # noqa: PLC0415 - most commands and hooks leave nothing behind

    return detach(arguments, text, log)


def _web() -> "httpx.Client":
    import httpx  # noqa: PLC0415

    return httpx.Client(timeout=60)


def _clock() -> datetime:
    return datetime.now(UTC)


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


@dataclass(frozen=True)
class Program:
    """The dependencies of the commands. `profile` is the one that was named on the command line."""

    profile: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    connect: Callable[..., "Client"] = _connect
    connect_quickly: Callable[..., "Calls"] = _connect_quickly
    """For hooks, which live for a moment: without httpx wherever that knows the way."""
    detach: Callable[[Sequence[str], str, Path], bool] = _detach
    """Starts a command that nobody waits for, with its stdin and a log; False: it did not start."""
    web: Callable[[], "httpx.Client"] = _web
    """For URLs that carry their own permission: a token is never sent to them."""
    is_terminal: Callable[[TextIO], bool] = _is_terminal
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    """Seconds, to measure how long something took."""
    clock: Callable[[], datetime] = _clock

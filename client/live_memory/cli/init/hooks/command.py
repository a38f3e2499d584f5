"""`livemem hook CLIENT EVENT`: bounded in time, and always an answer that lets the client go on."""

import os
import sys
import threading
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

import typer

from live_memory._redaction import redact
from live_memory.cli import config
from live_memory.cli.init import record
from live_memory.cli.init.hooks import answers
from live_memory.cli.init.hooks.away import Away
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.init.hooks.sending import Memory
from live_memory.cli.init.setup import checked_space
from live_memory.cli.program import Program
from live_memory.cli.session import program_of

MOST_BYTES = 8 * 1_048_576
"""Bytes of a client's input. A longer input is ignored."""
REQUEST_SECONDS = 3.5
SECONDS = 5.5
"""Seconds after which a client gets its answer in any case. Work that is in time ends before (running.py)."""


def hook_command(
    ctx: typer.Context,
    client: Annotated[str, typer.Argument(help="The client that calls the hook.")],
    event: Annotated[str, typer.Argument(help="The event, as the client names it.")],
    space: Annotated[str | None, typer.Option("--space", "-s", help="The space. Default: the saved one.")] = None,
) -> None:
    """Only for hooks: reads the client's JSON from stdin, and loads the memory or keeps the messages. Exits with 0."""
    program = program_of(ctx)
    answer = in_time(lambda: _run(program, client, event, space), SECONDS)
    sys.stdout.write((answer or answers.nothing(client, event)) + "\n")
    sys.stdout.flush()
    if answer is None:
        # A thread that waits for stdin can't be ended, and Python aborts if there is one at its exit.
        sys.stderr.flush()
        os._exit(0)


def _run(program: Program, client: str, event: str, space: str | None) -> str:
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        return answers.nothing(client, event)
    settings = config.settle(program.environ, profile=program.profile, space=space)

    def connect() -> Memory:
        return program.connect(settings.need_url(), settings.need_token(), timeout=REQUEST_SECONDS, retries=0)

    folder = record.state_folder(program.environ) / "hooks"
    url = settings.url or ""
    away = Away.of(folder, url, near=urlsplit(url).hostname in config.LOOPBACK)
    hook = Hook(connect, folder, _log, away=away)
    return hook.run(client, event, checked_space(settings.need_space()), text.decode(errors="replace"))


def in_time(work: Callable[[], str], seconds: float) -> str | None:
    """The answer of some work: "" if it fails, None if it is not done in time and still continues.

    It continues in a thread until the process ends: a service that does not answer, or a client that leaves stdin open,
    must not delay a session. The next event sends interrupted messages again.
    """
    answered: list[str] = []

    def run() -> None:
        try:
            answered.append(work())
        except BaseException as problem:  # noqa: BLE001 - nothing may reach the client as a failure
            _log(f"livemem hook: {type(problem).__name__}: {problem}")
            answered.append("")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not answered:
        _log(f"livemem hook: not done after {seconds:g} s; the rest is sent the next time")
    return answered[0] if answered else None


def _log(text: str) -> None:
    sys.stderr.write(redact(text)[0].replace("\n", " ")[:1_000] + "\n")

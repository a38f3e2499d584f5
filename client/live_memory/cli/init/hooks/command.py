"""`livemem hook CLIENT EVENT`: bounded in time, and always an answer that lets the client go on."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from live_memory._redaction import redact
from live_memory.cli import config
from live_memory.cli.exits import FAILED, OK, Refused
from live_memory.cli.init import record
from live_memory.cli.init.hooks import answers
from live_memory.cli.init.hooks.away import Away
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.init.hooks.sending import Memory
from live_memory.cli.init.setup import checked_space
from live_memory.cli.program import Program

USAGE = "Usage: livemem hook CLIENT EVENT [--space NAME] [--profile NAME]"
OPTIONS = {"--space": "space", "-s": "space", "--profile": "profile"}
MOST_BYTES = 8 * 1_048_576
"""Bytes of a client's input. A longer input is ignored."""
REQUEST_SECONDS = 3.5
SECONDS = 5.5
"""Seconds after which a client gets its answer in any case. Work that is in time ends before (running.py)."""


@dataclass(frozen=True)
class Called:
    """What a hook is called with: `livemem hook CLIENT EVENT [--space NAME] [--profile NAME]`."""

    client: str
    event: str
    space: str | None = None
    profile: str | None = None


def read_arguments(arguments: Sequence[str]) -> Called:
    """The arguments of a hook. Raises Refused. Read by hand: to load typer takes half of the time of a hook."""
    names, options, left = [], {}, list(arguments)
    while left:
        name, joined, value = left.pop(0).partition("=")
        if name.startswith("-"):
            option = OPTIONS.get(name)
            if not option or not (joined or left):
                raise Refused(USAGE)
            options[option] = value if joined else left.pop(0)
        else:
            names.append(name + joined + value)
    if len(names) != 2:
        raise Refused(USAGE)
    return Called(*names, **options)


def run_hook(arguments: Sequence[str], program: Program) -> int:
    """Only for hooks: reads the client's JSON from stdin, and loads the memory or keeps the messages. Returns 0.

    Called with other arguments it returns 1, never 2: with 2 Claude Code would not let the model stop.
    """
    try:
        called = read_arguments(arguments)
    except Refused as refused:
        _log(f"livemem: {refused}")
        return FAILED
    answer = in_time(lambda: _run(program, called), SECONDS)
    sys.stdout.write((answer or answers.nothing(called.client, called.event)) + "\n")
    sys.stdout.flush()
    if answer is None:
        # A thread that waits for stdin can't be ended, and Python aborts if there is one at its exit.
        sys.stderr.flush()
        os._exit(0)
    return OK


def _run(program: Program, called: Called) -> str:
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        return answers.nothing(called.client, called.event)
    settings = config.settle(program.environ, profile=called.profile or program.profile, space=called.space)

    def connect() -> Memory:
        options: dict[str, Any] = {"timeout": REQUEST_SECONDS, "retries": 0}
        service, token = settings.need_url(), settings.need_token()
        if settings.is_local_service:
            from live_memory.cli import agent_tokens  # noqa: PLC0415 - the token of a profile is the agent's own

            own = agent_tokens.of_local_service(program, settings, called.client, REQUEST_SECONDS)
            token, options["renew"] = own.get(), own.renewed
        return program.connect_quickly(service, token, **options)

    folder = record.state_folder(program.environ) / "hooks"
    url = settings.url or ""
    away = Away.of(folder, url, near=urlsplit(url).hostname in config.LOOPBACK)
    hook = Hook(connect, folder, _log, away=away)
    return hook.run(called.client, called.event, checked_space(settings.need_space()), text.decode(errors="replace"))


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

"""`livemem hook CLIENT EVENT`: bounded in time, and always an answer that lets the client go on."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.exits import FAILED, OK, Refused
from live_memory.cli.init import record
from live_memory.cli.init.hooks import answers, events
from live_memory.cli.init.hooks.events import Called
from live_memory.cli.program import Program

USAGE = "Usage: livemem hook CLIENT EVENT [--space NAME] [--profile NAME]"
OPTIONS = {"--space": "space", "-s": "space", "--profile": "profile", "--later": "later"}
EVENT = "event"
"""Work for the background: the event itself, with its input."""
MOST_BYTES = 8 * 1_048_576
"""Bytes of a client's input. A longer input is ignored."""
LOG = "hooks.log"
SECONDS = 5.5
"""Seconds after which a client gets its answer in any case. Work that is in time ends before (running.py)."""
START_SECONDS, PAUSE_SECONDS = 2.0, 0.1
"""For so long a session waits for the service of this machine that its hook starts, and looks again after a pause."""
STARTING = "the session begins without its memory, whose service is still starting"
PROMPT_SECONDS = 0.25
"""The same for a prompt; with the start of the process it is 0.3 s."""


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

    What a client need not wait for is done in the background. Called with other arguments it returns 1, never 2: with 2
    Claude Code would not let the model stop.
    """
    began = time.monotonic()
    # In cmd what follows in the other shells comes as arguments (IN_ANY_SHELL).
    arguments = list(takewhile(lambda one: one != ";", arguments))
    try:
        called = read_arguments(arguments)
    except Refused as refused:
        _log(f"livemem: {refused}")
        return FAILED
    nothing = answers.nothing(called.client, called.event)
    if program.environ.get("LIVEMEM_HOOKS") == "off":
        # The service itself has started the client, as its model.
        return _answer(nothing)
    seconds = PROMPT_SECONDS if events.is_prompt(called.client, called.event) else SECONDS
    text = in_time(lambda: _read_stdin(record.state_folder(program.environ) / "hooks" / LOG), seconds)
    if called.later:
        return _carry_out(program, called, text or "")
    later: list[str] = []

    def leave(work: str, text: str = "") -> bool:
        log = record.state_folder(program.environ) / "hooks" / LOG
        profile = ["--profile", program.profile] if program.profile and not called.profile else []
        return program.detach(["hook", *arguments, *profile, "--later", work], text, log)

    if text and events.in_background(called.client, called.event) and leave(EVENT, text):
        return _answer(nothing)

    def left() -> float:
        return max(0.0, seconds - (time.monotonic() - began))

    answer = in_time(lambda: _handled(program, called, text, _log, later), left()) if text else text
    if events.STARTS in later and leave(",".join(later)):
        later.clear()
        wait = min(START_SECONDS, left())
        answer = in_time(lambda: _once_started(program, called, text or ""), wait, STARTING) or answer
    code = _answer(answer or nothing)
    if later and not leave(",".join(later)):
        answer = in_time(lambda: _finished(program, called, later, _log, waits=True), left())
    if answer is None:
        # A thread that waits for stdin can't be ended, and Python aborts if there is one at its exit.
        sys.stderr.flush()
        os._exit(code)
    return code


def _carry_out(program: Program, called: Called, text: str) -> int:
    if called.later == EVENT:
        in_time(lambda: _handled(program, called, text, _log_with_time, []), SECONDS)
    else:
        _finished(program, called, (called.later or "").split(","), _log_with_time, waits=False)
    return OK


def _read_stdin(log: Path) -> str:
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(text) <= MOST_BYTES:
        return text.decode(errors="replace")
    said = f"{_now()} livemem hook: an input of more than {MOST_BYTES >> 20} MiB is ignored"
    _log(said)
    # Clients keep no stderr of hooks.
    with suppress(OSError):
        own_files.append(log, said.encode() + b"\n")
    return ""


def _answer(text: str) -> int:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    return OK


def _handled(program: Program, called: Called, text: str, log: Callable[[str], None], later: list[str]) -> str:
    # In the background this is loaded when the client has gone on already.
    prompt = events.is_prompt(called.client, called.event) and events.read(called.client, called.event, text)
    if prompt and not events.is_asked(prompt.said):
        return answers.nothing(called.client, called.event)
    from live_memory.cli.init.hooks import running  # noqa: PLC0415

    return running.handle(program, called, text, log, later)


def _once_started(program: Program, called: Called, text: str) -> str:
    """The answer once the service of this machine runs; empty if it does not, or says nothing."""
    called = replace(called, later=events.STARTS)
    for _ in range(int(START_SECONDS / PAUSE_SECONDS)):
        program.sleep(PAUSE_SECONDS)
        later: list[str] = []
        answer = _handled(program, called, text, lambda _: None, later)
        if events.STARTS not in later:
            return "" if answer == answers.nothing(called.client, called.event) else answer
    return ""


def _finished(program: Program, called: Called, later: list[str], log: Callable[[str], None], *, waits: bool) -> str:
    from live_memory.cli.init.hooks import running  # noqa: PLC0415

    try:
        running.finish(program, called, later, log, waits=waits)
    except Exception as problem:  # noqa: BLE001 - in another process nobody else would say it
        log(f"livemem hook: {type(problem).__name__}: {problem}")
    return ""


def in_time(work: Callable[[], str], seconds: float, rest: str = "the rest is sent the next time") -> str | None:
    """The answer of some work: "" if it fails, None if it is not done in time and still continues. `rest`: what the log
    says then.

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
        _log(f"livemem hook: not done after {seconds:g} s; {rest}")
    return answered[0] if answered else None


def _log_with_time(text: str) -> None:
    _log(f"{_now()} {text}")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _log(text: str) -> None:
    from live_memory._redaction import redact  # noqa: PLC0415 - most hooks have nothing to say

    sys.stderr.write(redact(text)[0].replace("\n", " ")[:1_000] + "\n")

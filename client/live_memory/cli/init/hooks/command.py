"""`livemem hook CLIENT EVENT`: bounded in time, and always an answer that lets the client go on."""

import os
import sys
import threading
from collections.abc import Callable
from typing import Annotated

import typer

from live_memory.cli.init import record, surroundings
from live_memory.cli.init.hooks import answers
from live_memory.cli.init.hooks.running import SECONDS, Hook
from live_memory.cli.init.hooks.sending import Memory

MOST_BYTES = 8 * 1_048_576
"""Of what a client says; one that says more is not listened to."""
REQUEST_SECONDS = 3.5


def hook_command(
    client: Annotated[str, typer.Argument(help="The client that calls.")],
    event: Annotated[str, typer.Argument(help="What happened, as the client names it.")],
    space: Annotated[str | None, typer.Option("--space", "-s", help="The space of the project.")] = None,
) -> None:
    """For hooks alone: reads the client's JSON from stdin; loads the memory, or keeps what was said. Exits with 0."""
    hook = Hook(_connect, record.state_folder(os.environ) / "hooks", _log)
    answer = in_time(lambda: _run(hook, client, event, space), answers.nothing(client, event))
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()


def _run(hook: Hook, client: str, event: str, space: str | None) -> str:
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        return answers.nothing(client, event)
    return hook.run(
        client, event, surroundings.need_space(space or surroundings.look().space), text.decode(errors="replace")
    )


def in_time(work: Callable[[], str], otherwise: str, seconds: float = SECONDS + 0.5) -> str:
    """What some work answers, or the other answer once the time is over, or when it fails.

    The work goes on in a thread that the end of the process breaks off: a service that does not answer, or a client
    that leaves stdin open, must not keep a session waiting. What is broken off is sent again the next time.
    """
    answered: list[str] = []

    def run() -> None:
        try:
            answered.append(work())
        except BaseException as problem:  # noqa: BLE001 - nothing may reach the client as a failure
            _log(f"livemem hook: {type(problem).__name__}: {problem}")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _log(f"livemem hook: not done after {seconds:g} s; what is left comes the next time")
    return answered[0] if answered else otherwise


def _log(text: str) -> None:
    sys.stderr.write(text.replace("\n", " ")[:1_000] + "\n")


def _connect() -> Memory:
    # Half of the time of a start that most events don't need.
    import live_memory  # noqa: PLC0415

    known = surroundings.look()
    return live_memory.Client(surroundings.need_url(known.url), known.token, timeout=REQUEST_SECONDS, retries=0)

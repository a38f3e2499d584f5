"""The entry point of `livemem`: streams that may be closed, and Ctrl-C also while the program still loads."""

import os
import sys
from pathlib import Path

_INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    _open_what_is_closed()
    # Windows gives pipes and files an encoding with 256 characters, and agents read UTF-8. A console has its own.
    narrow = sys.platform == "win32" and "PYTHONIOENCODING" not in os.environ
    for stream in (sys.stdout, sys.stderr):
        # A console that can't show a character must not end a command in the middle.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8" if narrow and not stream.isatty() else None, errors="replace")
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _run(arguments: list[str]) -> None:
    # Loading takes most of the time until the first request, and a client waits for each of its hooks.
    if arguments[:1] == ["hook"]:
        from live_memory.cli.init.hooks.command import run_hook  # noqa: PLC0415
        from live_memory.cli.program import Program  # noqa: PLC0415

        code = run_hook(arguments[1:], Program())
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing is left to do, and ending in order takes Python several milliseconds.
        os._exit(code)
    sys.modules["httpx._main"] = None  # type: ignore[assignment] # its command line: a sixth of what ours takes
    from live_memory.cli.main import app  # noqa: PLC0415

    app(arguments, prog_name="livemem")


def _open_what_is_closed() -> None:
    """Open the streams that the parent process has closed, as some daemons and hooks do: Python has None for them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        setattr(sys, name, getattr(sys, name) or Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115

"""The installed package from its start to its end, on any system: `python -m tests.support.package_story livemem`.

It needs no more than Python and the program, so that CI plays it on macOS and Windows as it is.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SAID = "The parser keeps tabs now."


def play(livemem: str, environment: Mapping[str, str], folder: Path) -> None:
    """Start the service, write, fold, search, stop, and find all after the next start. Raises AssertionError.

    Args:
        livemem: the program.
        environment: its variables. They name a data folder of its own (LIVEMEM_DATA_DIR).
        folder: where it is called.
    """

    def say(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [livemem, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=180,
            check=False,
        )
        assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start() -> Any:
        return json.loads(say("serve", "--background", "--port", "0", "--json"))

    began = start()
    try:
        assert start()["pid"] == began["pid"], "a second start gives the service that runs"
        say("serve", "--background", "--bucket", "another", status=2)
        assert json.loads(say("status", "--json"))["url"] == began["url"]
        page = fetch(began["url"])
        assert [fetch(began["url"] + path) for path in re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)]
        say("space", "create", "demo")
        say("note", SAID, "-c", "decision", "-s", "demo")
        say("consolidate", "-s", "demo", "--wait")
        say("stop")
        say("status", status=7)
        assert start()["pid"] != began["pid"]
        assert SAID in say("search", "parser", "-s", "demo"), "the next start finds it"
    finally:
        subprocess.run([livemem, "stop"], env=environment, capture_output=True, check=False)


def fetch(url: str) -> str:
    """What is at an address."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def main() -> int:
    """Play it in a folder that is removed again."""
    with tempfile.TemporaryDirectory(prefix="livemem-package-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            play(sys.argv[1], {**os.environ, "LIVEMEM_DATA_DIR": str(folder / "data")}, folder)
        finally:
            print((folder / "data" / "serve.log").read_text("utf-8", "replace"))
    print("played")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What every story stands on: a running service on an empty store, errors as sentences, lines that fit the terminal."""

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from live_memory import Client, LiveMemoryError
from local import ROOT, models, stopping
from local.config import ConfigError, read_config
from local.data_dir import OWN_NAMES, DataDir, DataDirError
from local.runtime import Runtime

_HTTP_SECONDS, _LLM_SECONDS, _POLL_SECONDS = 30.0, 10.0, 0.3
# A demo has a data folder, a store and a key of its own, whatever the caller uses otherwise. The models' variables go
# through.
_OWN_VARIABLES = ("S3_", "ADMIN_BOOTSTRAP_KEY", "HOST", "PORT", "LIVEMEM_")
_T = TypeVar("_T")


class DemoError(Exception):
    """The demo cannot go on; the text is for the person who started it."""


@dataclass(frozen=True)
class Service:
    """The running service: its folder, a client and the key of its admin, and its endpoints (data_dir.py)."""

    home: Path
    admin: Client
    admin_key: str
    endpoints: dict[str, Any]

    @property
    def offline_llm(self) -> bool:
        """Whether no language model answers, but rules."""
        return bool(self.endpoints["llm_is_offline_stand_in"])

    def wait(self, look: Callable[[], _T | None], what: str, *, most: float = 60.0) -> _T:
        """What `look` gives once it is true, within so many seconds, of a real LLM fifteen times as many. Raises
        DemoError.
        """
        patience = most if self.offline_llm else 15 * most
        end = time.monotonic() + patience
        while not (found := look()):
            if time.monotonic() > end:
                raise DemoError(f"{what} after {patience:.0f} s.")
            time.sleep(_POLL_SECONDS)
        return found


def play(tell: Callable[[Service], None], folder: str) -> int:
    """Tell a story with a service of its own, whose data is in `folder`; returns the exit status.

    `tell` raises DemoError if it can't show what it is to show.
    """
    signal.signal(signal.SIGTERM, stopping.interrupt)
    data = Path(os.environ.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute() / folder
    try:
        _check_llm()
        with running_service(data) as service:
            told = models.describe(service.endpoints)
            print("\n".join(f"{name}: {_shown(text)}" for name, text in told.items()))
            tell(service)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return error.status
    except (DemoError, LiveMemoryError) as error:
        print(f"\nThe demo failed. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo was stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who watches has seen enough (`make demo | head`). What is still buffered must not raise it again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


@contextlib.contextmanager
def running_service(data: Path) -> Iterator[Service]:
    """Run the service on an emptied data folder for as long as the block lasts.

    Raises ConfigError before anything was touched, and DemoError.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    config = read_config({**kept, "PORT": "0", "LIVEMEM_DATA_DIR": str(data)})
    try:
        _empty(data)
        runtime = Runtime(config)
    except (DataDirError, OSError) as error:
        raise DemoError(str(error)) from error
    try:
        endpoints, key = runtime.start(), runtime.data.admin_key()
        yield Service(data, Client(endpoints["api"], key, timeout=_HTTP_SECONDS), key, endpoints)
    finally:
        runtime.stop()


def _empty(data: Path) -> None:
    """Remove what an earlier demo left, unless it still runs."""
    if data.exists():
        if not {entry.name for entry in data.iterdir()} <= OWN_NAMES:
            raise DemoError(f"{data} holds something that is not from a demo; it was left as it is.")
        DataDir(data).close()
        shutil.rmtree(data)
    # The folder above may be that of `make run`.
    data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _check_llm() -> None:
    """Ask the LLM that the caller has set, before anything is started. Raises DemoError: nobody answers, or the key is
    refused.
    """
    if not (url := os.environ.get("LLMAAS_API_URL")):
        return
    otherwise = "or unset LLMAAS_API_URL to see the demo with the offline stand-in."
    headers = {"Authorization": f"Bearer {os.environ.get('LLMAAS_API_KEY') or 'none'}"}
    try:
        status = httpx.get(f"{url.rstrip('/')}/models", headers=headers, timeout=_LLM_SECONDS).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DemoError(
            f"No LLM answers at {_shown(url)}: start it, correct LLMAAS_API_URL (with /v1), {otherwise}"
        ) from error
    # Not every server lists its models; that it answers is what counts.
    if status in {401, 403}:
        raise DemoError(f"The LLM at {_shown(url)} refuses the key ({status}): correct LLMAAS_API_KEY, {otherwise}")


def _shown(url: str) -> str:
    """A URL without user and password, which may stand in it."""
    return re.sub(r"^([^/]*//)?[^/]*@", r"\1", url)


def read_lines(name: str) -> list[dict[str, str]]:
    """The documents of a file in examples/, one a line."""
    lines = (ROOT / "examples" / name).read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def width() -> int:
    """Columns to use."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def wrap(text: str, columns: int) -> list[str]:
    """A line of Markdown in lines of so many columns, those of a list below its text. No word is cut."""
    marker = re.match(r"[+-]?\s*(?:[-~] )?", text)
    hang = " " * len(marker.group()) if marker else ""
    found = textwrap.wrap(text, columns, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
    return found or [""]


def show(lines: Iterable[str], indent: str = "") -> None:
    """Print lines, each wrapped and indented."""
    told = [part for line in lines for part in wrap(line, width() - len(indent))]
    print("\n".join(f"{indent}{part}".rstrip() for part in told), flush=True)

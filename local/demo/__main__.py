"""`python -m local.demo [bug|memories|conversations]`: a story of examples/story on a service of its own."""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livemem.llm import client as llm
from livemem.llm import look as looks
from livemem.settings import Settings
from local import ROOT, models, stopping, terminal
from local.config import Config, ConfigError, read_config
from local.data_dir import OWN_NAMES, DataDir, DataDirError
from local.runtime import Runtime

STORIES = ("bug", "memories", "conversations")
_LLM_SECONDS = 10.0
# A demo has a data folder, a store and a key of its own, whatever the caller uses otherwise. The models' variables go
# through.
_OWN_VARIABLES = ("S3_", "ADMIN_BOOTSTRAP_KEY", "HOST", "PORT", "LIVEMEM_")


class DemoError(Exception):
    """The demo cannot go on; the text is for the person who started it."""


def main() -> int:
    """Tell a story; returns the exit status."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("story", nargs="?", default="bug", choices=STORIES)
    story = parser.parse_args().story
    signal.signal(signal.SIGTERM, stopping.interrupt)
    folder = Path(os.environ.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute()
    try:
        with running_service(folder / ("demo" if story == "bug" else f"demo-{story}")) as (service, endpoints):
            return _play(story, service, endpoints)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return error.status
    except DemoError as error:
        print(f"\nThe demo failed. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo was stopped.", file=sys.stderr)
        return 130


def _play(story: str, service: Runtime, endpoints: dict[str, Any]) -> int:
    told = models.describe(endpoints)
    print("\n".join(f"{name}: {_shown(text)}" for name, text in told.items()), flush=True)
    data, offline = service.data.root / "story", endpoints["llm_is_offline_stand_in"]
    data.mkdir()
    own = {
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "client"),
        "DATA": str(data),
        "ADMIN_TOKEN": service.data.admin_key(),
        "OFFLINE_LLM": str(offline),
        "PATIENCE": str(120 if offline else 1_800),
        "LIVEMEM_URL": endpoints["api"],
        "LIVEMEM_CONFIG": str(data / "none.toml"),
    }
    kept = {name: value for name, value in service.config.outer.items() if not name.startswith("LIVEMEM_")}
    with subprocess.Popen(["bash", f"examples/story/{story}.sh"], cwd=ROOT, env=kept | own) as process:
        try:
            status = process.wait()
        finally:
            process.terminate()
    # Who watches has seen enough (`make demo | head`).
    return 0 if status == -signal.SIGPIPE else status


@contextlib.contextmanager
def running_service(data: Path) -> Iterator[tuple[Runtime, dict[str, Any]]]:
    """Run the service on an emptied data folder for as long as the block lasts; gives it and its endpoints.

    Raises ConfigError before anything was touched, and DemoError.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    config = read_config({**kept, "PORT": "0", "LIVEMEM_DATA_DIR": str(data)})
    _check_llm(config)
    try:
        _empty(data)
        runtime = Runtime(config)
    except (DataDirError, OSError) as error:
        raise DemoError(str(error)) from error
    try:
        yield runtime, runtime.start()
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


def _check_llm(config: Config) -> None:
    """Ask the LLM that the caller has set. Raises DemoError: nobody answers, or the key is refused."""
    if config.llm_url:
        key = config.outer.get("LLMAAS_API_KEY", "")
        own = Settings.model_construct(llmaas_api_url=config.llm_url, llmaas_api_key=key)
        state = looks.look(llm.api(own), own.llmaas_model, timeout=_LLM_SECONDS)
        if state.status != "ok":
            raise DemoError(f"{state.detail} Without LLMAAS_API_URL the demo shows the offline stand-in.")


def _shown(url: str) -> str:
    """A URL without user and password, which may stand in it."""
    return re.sub(r"^([^/]*//)?[^/]*@", r"\1", url)


if __name__ == "__main__":
    sys.exit(main())

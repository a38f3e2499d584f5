"""What the demo needs of the world: the local runtime in this process, and a client of its API."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from live_memory import Client
from local.config import read_config
from local.data_dir import OWN_NAMES, DataDir, DataDirError
from local.runtime import Runtime

_HTTP_SECONDS = 30.0
# The demo has a data folder, a store and a key of its own, whatever the caller uses otherwise. The models' variables go
# through.
_OWN_VARIABLES = ("S3_", "ADMIN_BOOTSTRAP_KEY", "HOST", "PORT", "LIVEMEM_")


class DemoError(Exception):
    """The demo cannot go on; the text is for the person who started it."""


@dataclass(frozen=True)
class Service:
    """The running service: an API for the admin with its key, and whether its models are the offline ones."""

    admin: Client
    admin_key: str
    offline_llm: bool
    llm_url: str
    offline_embeddings: bool
    embeddings_url: str | None


@contextlib.contextmanager
def running_service(data: Path) -> Iterator[Service]:
    """Run the service on an emptied data folder for as long as the block lasts.

    Raises:
        ConfigError: variables of the caller are wrong; nothing was touched.
        DemoError: the folder is in use, or the service does not start.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    config = read_config({**kept, "PORT": "0", "LIVEMEM_DATA_DIR": str(data)})
    try:
        _empty(data)
        runtime = Runtime(config)
    except (DataDirError, OSError) as error:
        raise DemoError(str(error)) from error
    try:
        endpoints = runtime.start()
        key = runtime.data.admin_key()
        yield Service(
            Client(endpoints["api"], key, timeout=_HTTP_SECONDS),
            key,
            endpoints["llm_is_offline_stand_in"],
            endpoints["llm"],
            endpoints["embeddings_are_offline"],
            endpoints["embeddings"],
        )
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

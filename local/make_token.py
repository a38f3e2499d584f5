"""`make token NAME=agent-one SPACE=demo`: a token for an agent, entered into the store of the service and shown once.

Works on the store that the variables name (as `make run` reads them), else on that of the `make run` of this folder.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livemem.access import tokens
from livemem.errors import LiveMemoryError
from livemem.llm import client as llm
from livemem.process import Process
from livemem.settings import Settings
from livemem.store.objects import open_store
from local import terminal
from local.config import Config, ConfigError, read_config


class NotRunning(OSError):
    """The runtime of the data folder does not run; the text is one sentence for the terminal."""


def main() -> int:
    """Make one token; 0 if it is made."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="make token", description=__doc__)
    parser.add_argument("name", help="the agent: its notes bear this name")
    parser.add_argument("spaces", nargs="*", help="the spaces that it may use")
    parser.add_argument("--all-spaces", action="store_true")
    parser.add_argument("--permissions", default="read,write", help="some of read,write,admin (default: %(default)s)")
    wanted = parser.parse_args()
    if bool(wanted.spaces) == wanted.all_spaces:
        parser.error("name the spaces (SPACE=demo or SPACE='one two'), or give --all-spaces")
    try:
        process = _process(Settings(**_store(read_config(os.environ))))
        secret = tokens.new_secret()
        permissions = wanted.permissions.split(",")
        tokens.create(process, secret, name=wanted.name, permissions=permissions, space_ids=wanted.spaces)
    except (ConfigError, NotRunning) as error:
        print(error, file=sys.stderr)
        return 2
    except LiveMemoryError as error:
        print(error.detail, file=sys.stderr)
        return 1
    where = "all spaces" if wanted.all_spaces else f"the space {', '.join(wanted.spaces)}"
    print(f"{wanted.name} may {' and '.join(permissions)} in {where}; the token is shown once, here:", file=sys.stderr)
    print(secret)
    return 0


def _store(config: Config) -> dict[str, Any]:
    """The settings of the store; those that are not the runtime's own come from the environment."""
    if not config.embedded:
        return {}
    try:
        endpoints: Mapping[str, Any] = json.loads((config.data / "endpoints.json").read_bytes())
    except (OSError, ValueError) as error:
        raise NotRunning(f"Nothing runs in {config.data}: start `make run` first, or name a store.") from error
    return {
        "s3_bucket_name": endpoints["bucket"],
        "s3_endpoint_url": endpoints["s3"],
        "s3_region_name": "us-east-1",
        "s3_access_key_id": endpoints["s3_access_key"],
        "s3_secret_access_key": Path(endpoints["s3_key_file"]).read_text("ascii").strip(),
    }


def _process(settings: Settings) -> Process:
    def start(_: Mapping[str, Any]) -> None:
        raise AssertionError("making a token starts nothing")

    return Process(open_store(settings), settings, llm.connect(settings), start, new_suffix=lambda: "00000000")


if __name__ == "__main__":
    sys.exit(main())

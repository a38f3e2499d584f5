"""`make token NAME=agent-one SPACE=demo`: a token for an agent, made by the service and shown once.

Asks the service that API (with `/v1`) and TOKEN (an admin's) name, else the one of the `make run` of this folder.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from live_memory import Client, LiveMemoryError
from local import terminal
from local.config import ConfigError, read_config

TIMEOUT = 35.0
"""Seconds; the service answers or gives up before (template.yaml)."""


class NoServiceError(OSError):
    """No service to ask; the text is one sentence for the terminal."""


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
    permissions = wanted.permissions.split(",")
    try:
        with _service() as service:
            made = service.tokens.create(name=wanted.name, permissions=permissions, space_ids=wanted.spaces)
    except (ConfigError, NoServiceError) as error:
        print(error, file=sys.stderr)
        return 2
    except LiveMemoryError as error:
        print(error, file=sys.stderr)
        return 1 if error.status else 2
    where = "all spaces" if wanted.all_spaces else f"the space {', '.join(wanted.spaces)}"
    print(f"{wanted.name} may {' and '.join(permissions)} in {where}; the token is shown once, here:", file=sys.stderr)
    print(made.token)
    return 0


def _service() -> Client:
    """The service that two variables name, or the one of `make run`; raises ConfigError, NoServiceError."""
    if os.environ.get("API") and os.environ.get("TOKEN"):
        return Client(os.environ["API"].rstrip("/").removesuffix("/v1"), os.environ["TOKEN"], timeout=TIMEOUT)
    config = read_config()
    try:
        endpoints = json.loads((config.data / "endpoints.json").read_bytes())
        key_file = endpoints["admin_key_file"]
        key = config.admin_key or (Path(key_file).read_text("ascii").strip() if key_file else None)
    except (OSError, ValueError):
        raise NoServiceError(f"Nothing runs in {config.data}: start `make run` first, or set API and TOKEN.") from None
    if not key:
        raise NoServiceError("The service was given a key of your own: set ADMIN_BOOTSTRAP_KEY, or API and TOKEN.")
    return Client(endpoints["api"], key, timeout=TIMEOUT)


if __name__ == "__main__":
    sys.exit(main())

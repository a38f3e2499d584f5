"""`make token NAME=agent-one SPACE=demo`: a token for an agent, made by the service and shown once.

Asks the service that API (with `/v1`) and TOKEN (an admin's) name, else the one of the `make run` of this folder.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from local import terminal
from local.config import ConfigError, read_config

TIMEOUT = 35
"""Seconds; the service answers or gives up before (template.yaml)."""


class NoServiceError(OSError):
    """No service to ask; the text is one sentence for the terminal."""


@dataclass(frozen=True)
class Service:
    """Where the service is, and an admin's token for it."""

    api: str
    token: str


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
    body = {"name": wanted.name, "permissions": permissions, "space_ids": wanted.spaces}
    try:
        status, answer = _post(_service(os.environ), "/tokens", body)
    except (ConfigError, NoServiceError) as error:
        print(error, file=sys.stderr)
        return 2
    if status != HTTPStatus.CREATED:
        print(answer.get("detail", f"The service answered with status {status}."), file=sys.stderr)
        return 1
    where = "all spaces" if wanted.all_spaces else f"the space {', '.join(wanted.spaces)}"
    print(f"{wanted.name} may {' and '.join(permissions)} in {where}; the token is shown once, here:", file=sys.stderr)
    print(answer["token"])
    return 0


def _service(environment: Mapping[str, str]) -> Service:
    """The service that two variables name, or the one of `make run`; raises ConfigError, NoServiceError."""
    if environment.get("API") and environment.get("TOKEN"):
        return Service(environment["API"].rstrip("/"), environment["TOKEN"])
    config = read_config(environment)
    try:
        endpoints: Mapping[str, Any] = json.loads((config.data / "endpoints.json").read_bytes())
        key_file = endpoints["admin_key_file"]
        key = config.admin_key or (Path(key_file).read_text("ascii").strip() if key_file else None)
    except (OSError, ValueError):
        raise NoServiceError(f"Nothing runs in {config.data}: start `make run` first, or set API and TOKEN.") from None
    if not key:
        raise NoServiceError("The service was given a key of your own: set ADMIN_BOOTSTRAP_KEY, or API and TOKEN.")
    return Service(f"{endpoints['api']}/v1", key)


def _post(service: Service, path: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(f"{service.api}{path}", json.dumps(body).encode(), method="POST")
    request.add_header("Authorization", f"Bearer {service.token}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, _problem(error.read())
    except (OSError, ValueError) as error:
        raise NoServiceError(f"{service.api} does not answer as a Live Memory service does.") from error


def _problem(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return {}


if __name__ == "__main__":
    sys.exit(main())

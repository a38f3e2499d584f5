"""The requests to Docker, through its command line client."""

import ipaddress
import json
import subprocess
from contextlib import suppress
from typing import Any

from local.sam.servers import StackError, check_free

_SECONDS = 60
_SAM_LABEL = "sam.cli.container.type=lambda"


def run(*arguments: str, seconds: float = _SECONDS) -> str:
    """Run the client and return what it prints; raises StackError with its message."""
    try:
        done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=seconds, check=False)
    except FileNotFoundError as error:
        raise StackError("The docker command is missing: install Docker (on Debian, docker.io).") from error
    except subprocess.TimeoutExpired as error:
        raise StackError(f"docker {arguments[0]} did not answer within {seconds:.0f} s.") from error
    if done.returncode:
        raise StackError(f"docker {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def ensure_image(image: str) -> None:
    """Pull an image unless it is there; raises StackError when it cannot be had."""
    if run("images", "--quiet", image):
        return
    try:
        run("pull", "--quiet", image, seconds=900)
    except StackError as error:
        raise StackError(f"The image {image} is neither on this machine nor can it be pulled. ({error})") from error


def find_host() -> str:
    """The address of this machine on Docker's bridge, which containers reach and no other network does. Raises
    StackError.
    """
    networks: list[dict[str, Any]] = json.loads(run("network", "inspect", "bridge"))
    for config in networks[0]["IPAM"]["Config"] or ():
        # A daemon that was just installed names only the subnet, whose first address the bridge then has.
        address = config.get("Gateway") or str(next(ipaddress.ip_network(config["Subnet"]).hosts()))
        with suppress(StackError):  # of IPv6, or in Docker Desktop's own machine
            check_free(address, 0)
            return address
    raise StackError("Docker's bridge has no address of this machine.")


def remove_functions(variable: str) -> None:
    """Remove the containers of functions that were started with `variable` (NAME=value). Raises StackError.

    Other projects' functions carry the same label, so the label alone does not tell.
    """
    for container in run("ps", "--all", "--quiet", "--filter", f"label={_SAM_LABEL}").split():
        with suppress(StackError):  # the SAM CLI was faster
            found: list[dict[str, Any]] = json.loads(run("inspect", container))
            if variable in found[0]["Config"]["Env"]:
                run("rm", "--force", container)

"""What the person who starts it decides, by the variables of the local runtime, and what follows from that."""

import os
import platform
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from local import ROOT, config
from local.config import Config, ConfigError

# The SAM CLI gives its containers random ports of this range.
SAM_PORTS = range(5000, 9000)
BUILD = ROOT / ".aws-sam" / "local"
SAM = ROOT / ".venv-sam" / "bin" / "sam"
"""The SAM CLI that `make setup-sam` installs."""
ARCHITECTURE = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
IMAGE = f"public.ecr.aws/lambda/python:3.13-{ARCHITECTURE}"
"""What the SAM CLI runs functions of this machine's architecture in."""


class Ports(NamedTuple):
    """Four neighbours: the API, and where `sam local start-lambda`, MinIO and the offline LLM listen."""

    api: int
    lambda_api: int
    store: int
    llm: int

    @classmethod
    def of(cls, chosen: Config) -> "Ports":
        """Those from PORT on."""
        return cls(*range(chosen.port, chosen.port + 4))


def read_config(variables: Mapping[str, str] | None = None) -> Config:
    """Read the variables, by default those of this process. Raises ConfigError."""
    values = dict(os.environ if variables is None else variables)
    found = config.read_config(
        {**values, "LIVEMEM_DATA_DIR": values.get("LIVEMEM_DATA_DIR") or str(ROOT / ".local/sam")}
    )
    if not 1024 <= found.port <= 65531 or any(port in SAM_PORTS for port in Ports.of(found)):
        raise ConfigError(
            f"PORT is {found.port}: it and the three after it have to lie outside {SAM_PORTS[0]} to {SAM_PORTS[-1]}, "
            "where the SAM CLI puts its containers."
        )
    for name in ("LLMAAS_API_URL", "EMBEDDINGS_API_URL"):
        host = urlsplit(values.get(name, "")).hostname or ""
        if host == "localhost" or host.startswith("127.") or host == "::1" or (name[0] == "L" and found.own_model):
            raise ConfigError(
                f"{name} is {values[name]}, which inside a container is the container itself: let the server listen "
                "on Docker's bridge and name its address (172.17.0.1, or host.docker.internal)."
            )
    return found

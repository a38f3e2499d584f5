"""What the person who starts it decides, by environment variables, and what follows from that."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from local import ROOT
from local.admin_key import given_hash
from local.config import DEFAULT_BUCKET, Checks, ConfigError
from local.embeddings import Embeddings, read_embeddings

DEFAULT_PORT = 3000
# The SAM CLI gives its containers random ports of this range.
SAM_PORTS = range(5000, 9000)
BUILD = ROOT / ".aws-sam" / "local"
PYTHON = "3.13"


class Ports(NamedTuple):
    """Four neighbours: the API, and where `sam local start-lambda`, MinIO and the offline LLM listen."""

    api: int
    lambda_api: int
    store: int
    llm: int


@dataclass(frozen=True)
class SamConfig:
    """The choices. `outer` is the whole environment, of which functions may see what the template declares."""

    ports: Ports
    data: Path
    bucket: str
    llm_url: str | None
    embeddings: Embeddings
    admin_key_sha256: str | None
    architecture: str
    outer: Mapping[str, str]

    @property
    def sam(self) -> Path:
        """The SAM CLI that `make setup-sam` installs."""
        return ROOT / ".venv-sam" / "bin" / "sam"

    @property
    def image(self) -> str:
        """The image that the SAM CLI runs functions of this architecture in."""
        return f"public.ecr.aws/lambda/python:{PYTHON}-{self.architecture}"


def read_config(variables: Mapping[str, str] | None = None) -> SamConfig:
    """Read the variables, by default those of this process.

    Raises:
        ConfigError: some are wrong.
    """
    values = dict(os.environ if variables is None else variables)
    embeddings = read_embeddings(values)
    checks = Checks(values)
    config = SamConfig(
        ports=checks.read("PORT", _read_ports, _ports(DEFAULT_PORT)),
        data=Path(values.get("LIVEMEM_DATA_DIR") or ROOT / ".local" / "sam").expanduser().absolute(),
        bucket=values.get("S3_BUCKET_NAME") or DEFAULT_BUCKET,
        llm_url=checks.read("LLMAAS_API_URL", partial(_read_address, "LLMAAS_API_URL"), None),
        embeddings=embeddings,
        admin_key_sha256=given_hash(values),
        architecture="arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64",
        outer=values,
    )
    checks.read("EMBEDDINGS_API_URL", partial(_read_address, "EMBEDDINGS_API_URL"), None)
    checks.finish()
    return config


def _ports(first: int) -> Ports:
    return Ports(*range(first, first + 4))


def _read_ports(text: str) -> Ports:
    ports = _ports(int(text[:9]) if text.isascii() and text.isdecimal() else 0)
    if not 1024 <= ports.api <= 65531 or any(port in SAM_PORTS for port in ports):
        raise ConfigError(
            f"PORT is {text[:80]!r}: it and the three after it have to lie outside {SAM_PORTS[0]} to {SAM_PORTS[-1]}, "
            "where the SAM CLI puts its containers."
        )
    return ports


def _read_address(name: str, url: str) -> str | None:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        raise ConfigError(
            f"{name} is {url}, which inside a container is the container itself: let the server listen on "
            "Docker's bridge and name that address (172.17.0.1 as a rule; host.docker.internal with Docker Desktop)."
        )
    return url

"""What the person who starts it decides, by environment variables, and what follows from that."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from local.admin_key import given_hash
from local.config import DEFAULT_BUCKET, ROOT, Checks
from local.embeddings import Embeddings, read_embeddings

DEFAULT_PORT = 3000
# The SAM CLI gives its containers random ports of this range.
SAM_PORTS = range(5000, 9000)
BUILD = ROOT / ".aws-sam" / "local"
PYTHON = "3.13"


@dataclass(frozen=True)
class Ports:
    """Four neighbours: the API that is asked for, and the servers behind it."""

    api: int

    @property
    def lambda_api(self) -> int:
        """Where `sam local start-lambda` listens."""
        return self.api + 1

    @property
    def store(self) -> int:
        """Where MinIO listens."""
        return self.api + 2

    @property
    def llm(self) -> int:
        """Where the offline LLM listens."""
        return self.api + 3

    def all(self) -> tuple[int, ...]:
        """All of them."""
        return (self.api, self.lambda_api, self.store, self.llm)


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
        ports=checks.read("PORT", _read_ports, Ports(DEFAULT_PORT)),
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


def _read_ports(text: str) -> Ports:
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"PORT is {text!r}, not a number.")
    ports = Ports(int(text[:9]))
    if not 1024 <= ports.api <= 65535 - len(ports.all()) or any(port in SAM_PORTS for port in ports.all()):
        raise ValueError(
            f"PORT is {ports.api}: it and the three after it have to lie outside {SAM_PORTS[0]} to {SAM_PORTS[-1]}, "
            "where the SAM CLI puts its containers."
        )
    return ports


def _read_address(name: str, url: str) -> str | None:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        raise ValueError(
            f"{name} is {url}, which inside a container is the container itself: let the server listen on "
            "Docker's bridge and name that address (172.17.0.1 as a rule; host.docker.internal with Docker Desktop)."
        )
    return url

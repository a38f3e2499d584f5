"""What the person who starts the runtime decides, by environment variables."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local.front.guard import Networks

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PORT = 3000
DEFAULT_BUCKET = "live-memory"


class ConfigError(ValueError):
    """A variable holds something that cannot be; the text is one sentence for the terminal."""


@dataclass(frozen=True)
class Config:
    """The choices. `outer` is the whole environment, of which functions may see what the template declares.

    A URL that is None means that the runtime starts its own server.
    """

    host: str
    port: int
    data: Path
    template: Path
    bucket: str
    s3_url: str | None
    llm_url: str | None
    admin_key: str | None
    sweep_seconds: float | None
    invoke_from: Networks
    outer: Mapping[str, str]


def read_config(variables: Mapping[str, str] | None = None) -> Config:
    """Read the variables, by default those of this process.

    Raises:
        ConfigError: one of them is wrong.
    """
    values = dict(os.environ if variables is None else variables)
    return Config(
        host=values.get("HOST") or "127.0.0.1",
        port=_read_port(values.get("PORT")),
        data=Path(values.get("LIVEMEM_DATA_DIR") or ROOT / ".local").expanduser().absolute(),
        template=Path(values.get("LIVEMEM_TEMPLATE") or ROOT / "template.yaml").absolute(),
        bucket=values.get("S3_BUCKET_NAME") or DEFAULT_BUCKET,
        s3_url=values.get("S3_ENDPOINT_URL") or None,
        llm_url=values.get("LLMAAS_API_URL") or None,
        admin_key=values.get("ADMIN_BOOTSTRAP_KEY") or None,
        sweep_seconds=_read_seconds("LIVEMEM_SWEEP_SECONDS", values.get("LIVEMEM_SWEEP_SECONDS")),
        invoke_from=_read_networks(values.get("LIVEMEM_INVOKE_FROM") or ""),
        outer=values,
    )


def _read_port(text: str | None) -> int:
    if not text:
        return DEFAULT_PORT
    if not text.isdecimal() or int(text) > 65535:
        raise ConfigError(f"PORT is {text!r}, not a number from 0 (any free port) to 65535.")
    return int(text)


def _read_seconds(name: str, text: str | None) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds < 1e7:
        raise ConfigError(f"{name} is {text!r}, not a number of seconds (0.1 at least).")
    return seconds


def _read_networks(text: str) -> Networks:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ConfigError(f"LIVEMEM_INVOKE_FROM is {text!r}, not a list of networks like 172.17.0.0/16.") from error

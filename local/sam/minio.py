"""MinIO: as a program on this machine, or as a container by `compose.yaml`; its bucket, and what it does at each put.

MinIO has no template, so what SAM does from `template.yaml` on AWS is done here: a webhook per function that is
subscribed to puts, and the bucket's notification with the function's filter.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.config import ROOT
from local.functions.template import PUT_EVENT, Template
from local.sam.config import SamConfig
from local.sam.docker import Host
from local.sam.servers import ServerProcess, StackError
from local.sam.variables import Store

ACCESS_KEY = "livememory"
_COMPOSE_FILE = ROOT / "local" / "sam" / "compose.yaml"
MISSING = (
    "MinIO is missing: put a minio program on the PATH, or run scripts/stores.sh minio (needs Go), "
    "or install Docker Compose, which pulls it."
)
# Where `docker compose` pulls the image first.
_COMPOSE_SECONDS = 900


def find_program(outer: Mapping[str, str]) -> str | None:
    """The program, on the PATH or where scripts/stores.sh puts it; None if there is none."""
    base = Path(outer.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "live-memory"
    cache = Path(outer.get("LIVEMEM_CACHE_DIR") or base) / "bin"
    return shutil.which("minio", path=outer.get("PATH")) or shutil.which("minio", path=str(cache))


def find_compose() -> list[str] | None:
    """The command of Docker Compose, as a plugin or as the older program; None if there is none."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version"], capture_output=True, timeout=30, check=False)
            if done.returncode == 0:
                return command
    return None


def start(
    config: SamConfig, host: Host, template: Template, *, secret_key: str
) -> tuple[ServerProcess, Callable[[], None]]:
    """Start it; returns the process and what else has to be done after that was stopped.

    Raises StackError if there is neither a program nor Docker Compose.
    """
    listen = (host.address, config.ports.store)
    settings = {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": secret_key, "MINIO_BROWSER": "off"}
    log, data = config.data / "logs" / "minio.log", config.data / "minio"
    data.mkdir(parents=True, exist_ok=True)
    if program := find_program(config.outer):
        settings |= _webhooks(template, f"http://{host.address}:{config.ports.lambda_api}")
        command = [program, "server", "--quiet", "--address", f"{listen[0]}:{listen[1]}", str(data)]
        kept = {name: value for name, value in config.outer.items() if not name.startswith("MINIO_")}
        return ServerProcess("MinIO", command, environment=kept | settings, log=log, address=listen), lambda: None
    compose = find_compose()
    if compose is None:
        raise StackError(MISSING)
    settings |= _webhooks(template, f"http://{host.name_in_containers}:{config.ports.lambda_api}")
    # Compose passes only variables that its file names, so all settings go through a file.
    env_file = config.data / "minio.env"
    env_file.touch(mode=0o600)
    env_file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    environment = {
        **config.outer,
        "MINIO_LISTEN": f"{listen[0]}:{listen[1]}",
        "MINIO_ENV_FILE": str(env_file),
        "MINIO_DATA": str(data),
        "MINIO_OWNER": f"{os.getuid()}:{os.getgid()}",
        "COMPOSE_PROJECT_NAME": f"livemem-{config.ports.store}",
    }
    command = [*compose, "--file", str(_COMPOSE_FILE)]

    def remove() -> None:
        subprocess.run(
            [*command, "down", "--timeout", "10"],
            env={**os.environ, **environment},
            capture_output=True,
            timeout=60,
            check=False,
        )

    server = ServerProcess(
        "MinIO (Docker Compose)", [*command, "up", "--no-color"], environment=environment, log=log, address=listen
    )
    return server, remove


def ready_seconds(config: SamConfig) -> float:
    """How long it may take until MinIO listens."""
    return 60 if find_program(config.outer) else _COMPOSE_SECONDS


def _webhooks(template: Template, lambda_url: str) -> dict[str, str]:
    variables = {}
    for function in template.functions:
        if function.triggers:
            webhook = function.logical_id.upper()
            url = f"{lambda_url}/2015-03-31/functions/{function.logical_id}/invocations"
            variables[f"MINIO_NOTIFY_WEBHOOK_ENABLE_{webhook}"] = "on"
            variables[f"MINIO_NOTIFY_WEBHOOK_ENDPOINT_{webhook}"] = url
    return variables


def prepare_bucket(url: str, store: Store, template: Template) -> None:
    """Create the bucket unless it is there, and subscribe the functions to its puts.

    Args:
        url: MinIO as this process reaches it.
    Raises:
        StackError: MinIO refuses; it does so when it cannot reach a webhook.
    """
    client: Any = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=store.access_key,
        aws_secret_access_key=store.secret_key,
        config=Config(
            connect_timeout=5,
            read_timeout=30,
            # It listens a moment before it answers.
            retries={"mode": "standard", "total_max_attempts": 8},
            s3={"addressing_style": "path"},
            proxies={},
        ),
    )
    try:
        existing = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
        if store.bucket not in existing:
            client.create_bucket(Bucket=store.bucket)
        client.put_bucket_notification_configuration(
            Bucket=store.bucket, NotificationConfiguration={"QueueConfigurations": _subscriptions(template)}
        )
    except (BotoCoreError, ClientError) as error:
        raise StackError(f"MinIO at {url} does not give the bucket {store.bucket}: {error}") from error


def _subscriptions(template: Template) -> list[dict[str, Any]]:
    return [
        {
            "Id": f"{function.logical_id}-{trigger.name}",
            "QueueArn": f"arn:minio:sqs::{function.logical_id.upper()}:webhook",
            "Events": [PUT_EVENT],
            "Filter": {
                "Key": {
                    "FilterRules": [
                        {"Name": name, "Value": value}
                        for name, value in (("prefix", trigger.prefix), ("suffix", trigger.suffix))
                        if value
                    ]
                }
            },
        }
        for function in template.functions
        for trigger in function.triggers
    ]

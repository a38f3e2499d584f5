"""MinIO: as a program on this machine, or in a container; its bucket, and what it does at each put.

MinIO has no template, so what SAM does from `template.yaml` on AWS is done here: a webhook per function that is
subscribed to puts, and the bucket's notification with the function's filter.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.config import Config as Choices
from local.files import write_file
from local.functions.template import PUT_EVENT, Template
from local.sam import docker
from local.sam.config import Ports
from local.sam.docker import Host
from local.sam.servers import ServerProcess, StackError
from local.sam.variables import Store

ACCESS_KEY = "livememory"
# The last one that was published of the community edition, which is no longer maintained (docs/stores.md).
IMAGE = "docker.io/minio/minio:RELEASE.2025-09-07T16-13-09Z"


def find_program(outer: Mapping[str, str]) -> str | None:
    """The program, on the PATH or where scripts/stores.sh puts it; None if there is none."""
    base = Path(outer.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "live-memory"
    cache = Path(outer.get("LIVEMEM_CACHE_DIR") or base) / "bin"
    return shutil.which("minio", path=outer.get("PATH")) or shutil.which("minio", path=str(cache))


def prepare(outer: Mapping[str, str]) -> None:
    """Pull the image unless there is a program. Raises StackError when it cannot be had."""
    if not find_program(outer):
        try:
            docker.ensure_image(IMAGE)
        except StackError as error:
            raise StackError(
                "MinIO is missing: put a minio program on the PATH, or run scripts/stores.sh minio (needs Go). "
                f"({error})"
            ) from error


def start(config: Choices, host: Host, template: Template, *, secret_key: str) -> ServerProcess:
    """Start it, as a program or in a container."""
    listen = (host.address, Ports.of(config).store)
    settings = {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": secret_key, "MINIO_BROWSER": "off"}
    data = config.data / "minio"
    data.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in config.outer.items() if not name.startswith("MINIO_")}
    if program := find_program(config.outer):
        settings |= _webhooks(template, f"http://{host.address}:{Ports.of(config).lambda_api}")
        command = [program, "server", "--quiet", "--address", f"{listen[0]}:{listen[1]}", str(data)]
        kept |= settings
    else:
        settings |= _webhooks(template, f"http://{host.name_in_containers}:{Ports.of(config).lambda_api}")
        # Not as arguments: all users of a machine see those.
        env_file = config.data / "minio.env"
        write_file(env_file, "".join(f"{name}={value}\n" for name, value in settings.items()).encode(), mode=0o600)
        # What it writes belongs to who started it. Its webhook posts to `sam local start-lambda` on the host.
        command = ["docker", "run", "--rm", "--name", container(config), "--env-file", str(env_file)]
        command += ["--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{data}:/data"]
        command += ["--publish", f"{listen[0]}:{listen[1]}:9000", "--add-host", "host.docker.internal:host-gateway"]
        command += [IMAGE, "server", "--quiet", "/data"]
    return ServerProcess("MinIO", command, environment=kept, log=config.data / "logs" / "minio.log", address=listen)


def container(config: Choices) -> str:
    """The name of the container."""
    return f"livemem-minio-{Ports.of(config).store}"


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
    """Create the bucket unless it is there, and subscribe the functions to its puts. `url`: MinIO for this process.

    Raises StackError if MinIO refuses; it does so when it cannot reach a webhook.
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
    found = []
    for function in template.functions:
        for trigger in function.triggers:
            parts = {"prefix": trigger.prefix, "suffix": trigger.suffix}
            rules = [{"Name": name, "Value": value} for name, value in parts.items() if value]
            found.append(
                {
                    "Id": f"{function.logical_id}-{trigger.name}",
                    "QueueArn": f"arn:minio:sqs::{function.logical_id.upper()}:webhook",
                    "Events": [PUT_EVENT],
                    "Filter": {"Key": {"FilterRules": rules}},
                }
            )
    return found

"""MinIO: a program on this machine; its bucket, and what it does at each put.

MinIO has no template, so what SAM does from `template.yaml` on AWS is done here: a webhook per function that is
subscribed to puts, and the bucket's notification with the function's filter.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local.config import Config as Choices
from local.functions.template import PUT_EVENT, Template
from local.sam.config import Ports
from local.sam.servers import ServerProcess, StackError
from local.sam.variables import Store

ACCESS_KEY = "livememory"


def find_program(outer: Mapping[str, str]) -> str:
    """The program, on the PATH or where scripts/stores.sh puts it. Raises StackError."""
    base = Path(outer.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "live-memory"
    cache = Path(outer.get("LIVEMEM_CACHE_DIR") or base) / "bin"
    found = shutil.which("minio", path=outer.get("PATH")) or shutil.which("minio", path=str(cache))
    if not found:
        raise StackError(
            "MinIO is missing: put a minio program on the PATH, or run scripts/stores.sh minio (needs Go)."
        )
    return found


def start(config: Choices, host: str, template: Template, *, secret_key: str) -> ServerProcess:
    """Start it; it listens at the address `host`."""
    listen = (host, Ports.of(config).store)
    data = config.data / "minio"
    data.mkdir(parents=True, exist_ok=True)
    variables = {name: value for name, value in config.outer.items() if not name.startswith("MINIO_")}
    variables |= {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": secret_key, "MINIO_BROWSER": "off"}
    variables |= _webhooks(template, f"http://{host}:{Ports.of(config).lambda_api}")
    command = [find_program(config.outer), "server", "--quiet", "--address", f"{listen[0]}:{listen[1]}", str(data)]
    log = config.data / "logs" / "minio.log"
    return ServerProcess("MinIO", command, environment=variables, log=log, address=listen)


def _webhooks(template: Template, lambda_url: str) -> dict[str, str]:
    variables = {}
    for function in template.functions:
        if function.triggers:
            webhook = function.logical_id.upper()
            url = f"{lambda_url}/2015-03-31/functions/{function.logical_id}/invocations"
            variables[f"MINIO_NOTIFY_WEBHOOK_ENABLE_{webhook}"] = "on"
            variables[f"MINIO_NOTIFY_WEBHOOK_ENDPOINT_{webhook}"] = url
    return variables


def prepare_bucket(store: Store, template: Template) -> None:
    """Create the bucket unless it is there, and subscribe the functions to its puts.

    Raises StackError if MinIO refuses; it does so when it cannot reach a webhook.
    """
    client: Any = boto3.client(
        "s3",
        endpoint_url=store.url,
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
        raise StackError(f"MinIO at {store.url} does not give the bucket {store.bucket}: {error}") from error


def _subscriptions(template: Template) -> list[dict[str, Any]]:
    return [
        {
            "Id": f"{function.logical_id}-{trigger.name}",
            "QueueArn": f"arn:minio:sqs::{function.logical_id.upper()}:webhook",
            "Events": [PUT_EVENT],
            "Filter": {"Key": {"FilterRules": [{"Name": name, "Value": text} for name, text in rules if text]}},
        }
        for function in template.functions
        for trigger in function.triggers
        for rules in [(("prefix", trigger.prefix), ("suffix", trigger.suffix))]
    ]

"""The clients of this process: one S3 client (two where the store wants old signatures) and one Lambda client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from livemem.errors import StoreUnavailable
from livemem.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CONNECTIONS = 32


def s3_client(settings: Settings, *, signature: str = "s3v4") -> S3Client:
    """A new S3 client for the settings' store; `signature` is botocore's name of the signing method."""
    client: S3Client = boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint_url,
        region_name=settings.s3_region_name or boto3.Session().region_name or "us-east-1",
        aws_access_key_id=settings.s3_access_key_id,
        aws_secret_access_key=settings.s3_secret_access_key,
        config=Config(
            signature_version=signature,
            retries={"mode": "standard", "total_max_attempts": 3},
            connect_timeout=5,
            read_timeout=30,
            max_pool_connections=CONNECTIONS,
            s3={"addressing_style": "path" if settings.s3_endpoint_url else "auto"},
            # Other stores don't know the newer checksums; S3 itself checks the MD5 or TLS either way.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    return client


@lru_cache(maxsize=1)
def _lambda_client() -> Any:
    return boto3.client(
        "lambda",
        region_name=boto3.Session().region_name or "us-east-1",
        config=Config(retries={"mode": "standard", "total_max_attempts": 3}, connect_timeout=3, read_timeout=10),
    )


def invoke_async(function_name: str, payload: Mapping[str, Any]) -> None:
    """Queue one asynchronous invocation of `function_name` with `payload` as JSON.

    Raises StoreUnavailable if the Lambda API does not take it. AWS_ENDPOINT_URL_LAMBDA points it elsewhere.
    """
    try:
        _lambda_client().invoke(
            FunctionName=function_name, InvocationType="Event", Payload=json.dumps(payload).encode()
        )
    except (BotoCoreError, ClientError) as error:
        raise StoreUnavailable("The work could not be queued: the function service did not take it.") from error

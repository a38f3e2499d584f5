"""Puts as functions are told of them: S3 event notifications for ObjectCreated:Put."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus

from local.functions.template import Function
from local.store.client import Put


def build_put_event(put: Put, configuration: str, now: datetime) -> dict[str, Any]:
    """Build the event in S3's notification message structure, version 2.1."""
    request_id = f"{put.sequencer:016X}"
    return {
        "Records": [
            {
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "awsRegion": "us-east-1",
                "eventTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
                "eventName": "ObjectCreated:Put",
                "userIdentity": {"principalId": "local"},
                "requestParameters": {"sourceIPAddress": "127.0.0.1"},
                "responseElements": {"x-amz-request-id": request_id, "x-amz-id-2": request_id},
                "s3": {
                    "s3SchemaVersion": "1.0",
                    "configurationId": configuration,
                    "bucket": {
                        "name": put.bucket,
                        "ownerIdentity": {"principalId": "local"},
                        "arn": f"arn:aws:s3:::{put.bucket}",
                    },
                    "object": {
                        "key": quote_plus(put.key, safe="/"),
                        "size": put.size,
                        "eTag": put.etag,
                        "sequencer": request_id,
                    },
                },
            }
        ]
    }


def announce(put: Put, functions: Iterable[Function], accept: Callable[[str, bytes], object]) -> None:
    """Hand an event to `accept` for each function that subscribed to this key, as its id and JSON. Raises what that
    raises.
    """
    for function in functions:
        for trigger in function.triggers:
            if trigger.matches(put.key):
                event = build_put_event(put, trigger.name, datetime.now(UTC))
                accept(function.logical_id, json.dumps(event).encode())

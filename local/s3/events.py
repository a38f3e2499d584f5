"""Tells functions about puts: S3 event notifications for ObjectCreated:Put.

An event goes to disk before the put is answered and is posted to the Invoke API of the runtime (as MinIO's webhook
would do) until that has taken it on. This delivers it at least once, even if a process is killed in between.
"""

import http.client
import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from local.functions.template import PutTrigger
from local.spool import Entry, Spool
from local.store.client import Put

_log = logging.getLogger(__name__)

_FIRST_DELAY, _LONGEST_DELAY = 0.05, 5.0
_POST_SECONDS = 30.0


@dataclass(frozen=True)
class Subscription:
    """A function that gets the puts of matching keys."""

    function: str
    trigger: PutTrigger


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


Post = Callable[[str, bytes], int]


class Notifier:
    """Finds the functions that a put concerns and sees to it that each gets the event."""

    def __init__(self, subscriptions: list[Subscription], outbox: Path, post: Post) -> None:
        """Prepare; `post` sends an event to a function and returns the HTTP status, or raises OSError."""
        self._subscriptions = subscriptions
        self._spool = Spool(outbox)
        self._post = post
        self._waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin to deliver, first what an earlier server left."""
        for entry in self._spool.load():
            self._waiting.put(entry)
        threading.Thread(target=self._deliver_all, name="s3-events", daemon=True).start()

    def announce(self, put: Put) -> None:
        """Keep an event for each function that subscribed to this key. Raises OSError when the disk refuses it."""
        for subscription in self._subscriptions:
            if subscription.trigger.matches(put.key):
                event = build_put_event(put, subscription.trigger.name, datetime.now(UTC))
                self._waiting.put(self._spool.add({"function": subscription.function, "event": event}))

    def _deliver_all(self) -> None:
        while True:
            self._deliver(self._waiting.get())

    def _deliver(self, entry: Entry) -> None:
        delay = _FIRST_DELAY
        body = json.dumps(entry.content["event"]).encode()
        while True:
            try:
                status = self._post(entry.content["function"], body)
            except OSError:
                status = 503
            if status < 300:
                self._spool.remove(entry)
                return
            if 400 <= status < 500 and status != 429:
                _log.error("event for %s refused with %d, dropped", entry.content["function"], status)
                self._spool.remove(entry)
                return
            time.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)


class InvokePoster:
    """Posts events to a Lambda Invoke API over one kept connection. For one thread."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, function: str, body: bytes) -> int:
        """Invoke a function asynchronously; returns the status. Raises OSError when nobody answers."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._address, timeout=_POST_SECONDS)
        try:
            self._connection.request(
                "POST",
                f"/2015-03-31/functions/{quote(function, safe='')}/invocations",
                body,
                {"Content-Type": "application/json", "X-Amz-Invocation-Type": "Event"},
            )
            response = self._connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._connection = None
            raise ConnectionError(str(error)) from error
        return response.status

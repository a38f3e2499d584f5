"""All functions on a bucket in memory, each in the role of the template, with a bootstrap key and a Lambda API on
loopback.

What they send to a store is proved on real ones (tests/integration/stores) and over HTTP (tests/e2e).
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from botocore import endpoint

from livemem import background
from livemem.outbound.secret_parameter import parameter_provider
from livemem.settings import Settings
from livemem.store import aws, clients
from livemem_http import environment
from tests.support.agent import asks_itself
from tests.support.bucket import FakeS3
from tests.support.counting import CountingClient
from tests.support.functions import Context, LambdaApi, forget, fresh, request, sample
from tests.support.memoised import worked_out_once
from tests.support.policy import BUCKET, Role
from tests.support.recorder import Recorder
from tests.support.template import REGION
from tests.support.world import BOOTSTRAP_KEY

WITH_ROUTES = ("ingest", "reads", "search", "conversations", "memories", "rooms", "admin", "start", "archives")
"""Functions that carry out tools of MCP."""


@dataclass
class Service:
    """All functions, called as API Gateway and Lambda call them."""

    lambda_api: LambdaApi
    s3: FakeS3
    modules: dict[str, ModuleType]
    recorder: Recorder
    cold: bool = False
    """Every invocation is the first of its environment: else all functions share what one of them has read."""

    def invoke(self, function: str, event: dict[str, Any]) -> Any:
        """Call the handler; a request that its role refuses is an AssertionError."""
        if function not in self.modules:
            self.modules[function] = fresh(function)
        elif self.cold:
            forget()
        with self.recorder.acting_as(role_of(function, event)):
            if function in ("ask", "mcp"):
                asks_itself(environment.process())
            answer = self.modules[function].handler(event, Context())
            _wait_for_background()
            return answer

    def http(self, function: str, method: str, route: str, *, token: str | None = BOOTSTRAP_KEY, **rest: Any) -> Any:
        return self.invoke(function, request(method, route, token=token, **rest))

    def written(self) -> list[str]:
        return sorted(self.s3.objects)

    def work(self) -> Any:
        """Work off the oldest queued invocation."""
        name, payload = self.lambda_api.invoked.pop(0)
        assert name in {f"live-memory-{one}" for one in ("consolidate", "backup", "summarize", "digest", "ask")}
        return self.invoke(name.removeprefix("live-memory-"), payload)

    def settle(self, seen: set[str]) -> None:
        """Deliver each put event that is not `seen` to the function that the template names, until no work is left."""
        while fresh := set(self.written()) - seen:
            seen |= fresh
            for key in sorted(fresh):
                function = "summarize" if key.endswith(".turn.json") else "counter" if "/live/" in key else ""
                if function:
                    event = sample(f"{function}-put")
                    event["Records"][0]["s3"]["object"]["key"] = key
                    self.invoke(function, event)
            while self.lambda_api.invoked:
                self.work()

    def index(self) -> Any:
        """Work off the oldest invocation of the indexer."""
        return self.invoke("indexer", self.lambda_api.indexing.pop(0))


class _Heard(CountingClient):
    """An S3 client whose requests the recorder brings to a bucket in memory. A URL is signed as for S3."""

    def __init__(self, bucket: FakeS3, recorder: Recorder, signing: Callable[[], Any]) -> None:
        super().__init__(bucket)
        self.carry = lambda request: recorder.carry(request, bucket)
        self._signing = signing

    def generate_presigned_url(self, operation: str, **wanted: Any) -> str:
        return str(self._signing().generate_presigned_url(operation, **wanted))


def without_store(patch: pytest.MonkeyPatch, path: str = "") -> None:
    """The functions ask a store that is not there, from here on, and again without a pause."""
    patch.setenv("S3_ENDPOINT_URL", f"http://127.0.0.1:9{path}")
    patch.setattr(endpoint, "time", SimpleNamespace(sleep=lambda _: None))


def _wait_for_background() -> None:
    """What a function does beside its answer belongs to it: nobody else must be taken for who asked for it."""
    for thread in threading.enumerate():
        if thread.name == background.IN_BACKGROUND:
            thread.join()


def role_of(function: str, event: Mapping[str, Any]) -> str:
    """The function of the template that gets this event: the code of consolidate, backup and ask is that of two."""
    asked = {"consolidate": "Start", "backup": "Archives", "ask": "Questions"}
    return asked[function] if function in asked and "routeKey" in event else function.capitalize()


@contextmanager
def running(
    roles: Mapping[str, Role], patch: pytest.MonkeyPatch, clock: Callable[[], datetime] | None = None
) -> Iterator[Service]:
    """The service with an empty bucket, which has its own clock."""
    lambda_api = LambdaApi()
    recorder = Recorder(roles)
    bucket = FakeS3(clock) if clock else FakeS3()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "S3_BUCKET_NAME": BUCKET,
        "S3_REGION_NAME": REGION,
        "ADMIN_BOOTSTRAP_KEY_SHA256": sha256(BOOTSTRAP_KEY.encode()).hexdigest(),
        "CONSOLIDATE_FUNCTION_NAME": "live-memory-consolidate",
        "BACKUP_FUNCTION_NAME": "live-memory-backup",
        "INDEXER_FUNCTION_NAME": "live-memory-indexer",
        "SUMMARIZE_FUNCTION_NAME": "live-memory-summarize",
        "DIGEST_FUNCTION_NAME": "live-memory-digest",
        "ASK_FUNCTION_NAME": "live-memory-ask",
        **{f"{name.upper()}_FUNCTION_NAME": f"live-memory-{name}" for name in WITH_ROUTES},
        "AWS_ENDPOINT_URL_LAMBDA": lambda_api.url,
        "LLMAAS_API_URL": "http://127.0.0.1:9/v1",
        "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
    }.items():
        patch.setenv(name, value)
    worked_out_once(patch)
    make = clients.s3_client

    def s3_client(settings: Settings, *, signature: str = "s3v4") -> Any:
        real = partial(make, settings, signature=signature)
        # Where a test has named a store it asks that one.
        return real() if settings.s3_endpoint_url else _Heard(bucket, recorder, cache(real))

    patch.setattr(clients, "s3_client", s3_client)
    aws.lambda_client.cache_clear()
    parameter_provider.cache_clear()
    with recorder.listening():
        yield Service(lambda_api, bucket, {}, recorder)
    lambda_api.close()

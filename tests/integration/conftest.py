"""The functions on moto's S3, with a bootstrap key and a Lambda API on loopback."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from livemem.llm import client as llm
from livemem.store import clients
from tests.support.functions import Context, LambdaApi, fresh, request
from tests.support.world import BOOTSTRAP_KEY

BUCKET = "live-memory"


@dataclass
class Service:
    """All functions, called as API Gateway and Lambda call them."""

    lambda_api: LambdaApi
    s3: Any
    modules: dict[str, ModuleType]

    def invoke(self, function: str, event: dict[str, Any]) -> Any:
        if function not in self.modules:
            self.modules[function] = fresh(function)
        return self.modules[function].handler(event, Context())

    def http(self, function: str, method: str, route: str, *, token: str | None = BOOTSTRAP_KEY, **rest: Any) -> Any:
        return self.invoke(function, request(method, route, token=token, **rest))

    def written(self) -> list[str]:
        return [entry["Key"] for entry in self.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    def work(self) -> Any:
        """Work off the oldest queued run."""
        name, payload = self.lambda_api.invoked.pop(0)
        assert name == "live-memory-consolidate"
        return self.invoke("consolidate", payload)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    lambda_api = LambdaApi()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "S3_BUCKET_NAME": BUCKET,
        "S3_REGION_NAME": "eu-west-1",
        "ADMIN_BOOTSTRAP_KEY": BOOTSTRAP_KEY,
        "CONSOLIDATE_FUNCTION_NAME": "live-memory-consolidate",
        "AWS_ENDPOINT_URL_LAMBDA": lambda_api.url,
        "LLMAAS_API_URL": "http://127.0.0.1:9/v1",
        "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
    }.items():
        monkeypatch.setenv(name, value)
    clients._lambda_client.cache_clear()
    llm._provider.cache_clear()
    with mock_aws(config={"core": {"passthrough": {"urls": [r"http://127\.0\.0\.1.*"]}}}):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield Service(lambda_api, s3, {})
    lambda_api.close()

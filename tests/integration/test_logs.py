"""What is logged at the finest level: by the service itself all it has to say, by libraries nothing that is secret."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from livemem.outbound.secret_parameter import parameter_provider
from livemem.store import aws
from local.front.httpd import Server, answer_json
from local.store.client import FileStore
from scripts.openapi import load
from tests.integration.local.support import s3_server
from tests.support.functions import Context, LambdaApi, forget, request
from tests.support.llm_server import answer, completion, serving
from tests.support.world import BOOTSTRAP_KEY

LLM_KEY = "the-key-that-only-ssm-knows"
CONTENT = "A note that nobody may read in a log."
PARAMETER = "/live-memory/llm-api-key"
SPACE = "/v1/spaces/{space_id}"
ANSWER = (
    '{"bank_files": [{"filename": "log.md", "action": "created", "content": "# Log\\n\\nOne.\\n", "notes": [1]}],'
    ' "synthesis": "One."}'
)


@contextmanager
def aws_servers(folder: Path) -> Iterator[tuple[str, str]]:
    """S3 with an empty bucket, and SSM with one parameter."""
    told = {"Parameter": {"Name": PARAMETER, "Type": "SecureString", "Value": LLM_KEY}}
    ssm = Server("127.0.0.1", 0, lambda _: answer_json(200, told), max_body=1_000)
    FileStore(folder).create_bucket(Bucket="memory")
    with s3_server(folder) as s3:
        ssm.start()
        yield s3, ssm.url
        ssm.stop()


@contextmanager
def at_debug() -> Iterator[StringIO]:
    """What is written where Lambda's runtime has set the root logger, and nobody another one (ApplicationLogLevel
    DEBUG).
    """
    lines = StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for logger in logging.root.manager.loggerDict.values():
            if isinstance(logger, logging.Logger):
                # Powertools too notes there what it was told first.
                patch.setattr(
                    logger, "__dict__", {**vars(logging.getLoggerClass()(logger.name)), "parent": logger.parent}
                )
        root = {"level": logging.DEBUG, "handlers": [logging.StreamHandler(lines)]}
        patch.setattr(logging.root, "__dict__", {**vars(logging.root), **root, "_cache": {}})
        patch.setattr(sys, "stdout", lines)
        yield lines


@pytest.mark.slow
def test_at_debug_the_service_tells_all_and_no_library_tells_a_key_a_token_a_note_or_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with aws_servers(tmp_path) as (s3, ssm), serving(answer(completion(ANSWER))) as llm:
        lambda_api = LambdaApi()
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "LOG_LEVEL": "DEBUG",
            "AWS_LAMBDA_LOG_LEVEL": "DEBUG",
            "S3_BUCKET_NAME": "memory",
            "S3_ENDPOINT_URL": s3,
            "AWS_ENDPOINT_URL_SSM": ssm,
            "AWS_ENDPOINT_URL_LAMBDA": lambda_api.url,
            "ADMIN_BOOTSTRAP_KEY": BOOTSTRAP_KEY,
            "LLMAAS_API_URL": llm.url.removesuffix("/v1") + "/name-of-an-account/v1",
            "LLMAAS_API_KEY": PARAMETER,
            "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
        }.items():
            monkeypatch.setenv(name, value)
        for kept in (parameter_provider, aws.lambda_client):
            kept.cache_clear()
        forget()
        with at_debug() as written:
            work(lambda_api)
        forget()
        parameter_provider.cache_clear()
        lambda_api.close()
    text = written.getvalue()

    assert {asked.headers["authorization"] for asked in llm.asked} == {f"Bearer {LLM_KEY}"}
    assert "run ended" in text
    assert "in fine grain" in text
    secrets = (LLM_KEY, BOOTSTRAP_KEY, CONTENT, CONTENT[:20], "name-of-an-account")
    assert [secret for secret in secrets if secret in text] == []


def work(lambda_api: LambdaApi) -> None:
    """A note, a consolidation, and a look at health, by functions that are loaded now."""

    def http(function: str, method: str, route: str, body: Any = None, **path: Any) -> str:
        event = request(method, route, token=BOOTSTRAP_KEY, body=body, **path)
        answer = load(function).handler(event, Context())
        assert answer["statusCode"] < 300, answer
        return str(answer["body"])

    http("backup", "POST", "/v1/spaces", {"space_id": "demo"})
    http("ingest", "POST", f"{SPACE}/notes", {"category": "todo", "content": CONTENT}, space_id="demo")
    http("consolidate", "POST", f"{SPACE}/consolidations", {}, space_id="demo")
    ended = load("consolidate").handler(lambda_api.invoked[0][1], Context())
    assert ended["status"] == "done", ended
    assert '"llm":"ok"' in http("reads", "GET", "/v1/health").replace(" ", "")
    logging.getLogger("livemem.any").debug("in fine grain")

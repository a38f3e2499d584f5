"""What is logged at the finest level: by the service itself all it has to say, by libraries nothing that is secret."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.support.llm_server import answer, completion, serving
from tests.support.world import BOOTSTRAP_KEY

ROOT = Path(__file__).resolve().parents[2]
LLM_KEY = "the-key-that-only-ssm-knows"
CONTENT = "A note that nobody may read in a log."
PARAMETER = "/live-memory/llm-api-key"

# First what Lambda's runtime does before it loads a function (ApplicationLogLevel DEBUG), then a note,
# a consolidation, and a look at health.
PROGRAM = """
import logging, os, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from tests.support.functions import Context, LambdaApi, loaded, request

lambda_api = LambdaApi()
os.environ["AWS_ENDPOINT_URL_LAMBDA"] = lambda_api.url
token, content = os.environ["ADMIN_BOOTSTRAP_KEY"], sys.argv[1]

def http(function, method, route, body=None, **path):
    event = request(method, route, token=token, body=body, **path)
    answer = loaded(function).handler(event, Context())
    assert answer["statusCode"] < 300, answer["statusCode"]
    return answer["body"]

http("backup", "POST", "/v1/spaces", {"space_id": "demo"})
http("ingest", "POST", "/v1/spaces/{space_id}/notes", {"category": "todo", "content": content}, space_id="demo")
http("consolidate", "POST", "/v1/spaces/{space_id}/consolidations", {}, space_id="demo")
ended = loaded("consolidate").handler(lambda_api.invoked[0][1], Context())
assert ended["status"] == "done", ended
assert '"llm":"ok"' in http("reads", "GET", "/v1/health").replace(" ", "")
logging.getLogger("livemem.any").debug("in fine grain")
"""
ANSWER = (
    '{"bank_files": [{"filename": "log.md", "action": "created", "content": "# Log\\n\\nOne.\\n", "notes": [1]}],'
    ' "synthesis": "One."}'
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def logged(aws: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that a process writes which reads the key from SSM, takes a note and folds it."""
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "eu-west-1"}
    for name, value in account.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=aws).create_bucket(
        Bucket="memory", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    boto3.client("ssm", endpoint_url=aws).put_parameter(
        Name=PARAMETER, Value=LLM_KEY, Type="SecureString", Overwrite=True
    )
    with serving(answer(completion(ANSWER))) as llm:
        environment = {
            **account,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT / "layers" / "livemem"), str(ROOT)]),
            "LOG_LEVEL": "DEBUG",
            "AWS_LAMBDA_LOG_LEVEL": "DEBUG",
            "S3_BUCKET_NAME": "memory",
            "S3_ENDPOINT_URL": aws,
            "AWS_ENDPOINT_URL_SSM": aws,
            "ADMIN_BOOTSTRAP_KEY": BOOTSTRAP_KEY,
            "LLMAAS_API_URL": llm.url.removesuffix("/v1") + "/name-of-an-account/v1",
            "LLMAAS_API_KEY": PARAMETER,
            "POWERTOOLS_METRICS_NAMESPACE": "LiveMemory",
        }
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, CONTENT],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        keys = {asked.headers["authorization"] for asked in llm.asked}
    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert keys == {f"Bearer {LLM_KEY}"}
    return ran.stdout + ran.stderr


@pytest.mark.slow
def test_at_debug_the_service_tells_all_and_no_library_tells_a_key_a_token_a_note_or_an_address(
    aws: str, monkeypatch: pytest.MonkeyPatch
):
    text = logged(aws, monkeypatch)

    assert "run ended" in text
    assert "in fine grain" in text
    secrets = (LLM_KEY, BOOTSTRAP_KEY, CONTENT, CONTENT[:20], "name-of-an-account")
    assert [secret for secret in secrets if secret in text] == []

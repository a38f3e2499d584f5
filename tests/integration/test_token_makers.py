"""Many who make tokens at once, in several processes on one bucket, lose none."""

import json
import subprocess
import sys

from livemem.store.bucket import TOKENS
from tests.integration.local.support import ROOT, S3Process

EACH = 10


def test_20_tokens_made_at_once_by_two_processes_are_20_in_the_registry(tmp_path):
    server = S3Process(tmp_path)
    try:
        client = server.client()
        client.create_bucket(Bucket="live-memory")
        makers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.token_maker", server.url, str(EACH), name],
                cwd=ROOT,
                env={"PYTHONPATH": "layers/livemem:."},
                stderr=subprocess.PIPE,
            )
            for name in ("one", "two")
        ]
        for maker in makers:
            _, told = maker.communicate(timeout=120)
            assert maker.returncode == 0, told.decode()[-2000:]
        registry = json.loads(client.get_object(Bucket="live-memory", Key=TOKENS)["Body"].read())
    finally:
        server.close()

    expected = {f"{name}-{number}" for name in ("one", "two") for number in range(EACH)}
    assert {entry["name"] for entry in registry["tokens"]} == expected
    assert len({entry["hash"] for entry in registry["tokens"]}) == len(registry["tokens"]) == 2 * EACH

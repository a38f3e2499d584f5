"""`make token` as a program: on the store of a running service, and what it says where there is none."""

import json
import os
import subprocess
import sys

import pytest

from livemem.access import tokens
from livemem.store import keys
from local.s3 import ACCESS_KEY, KEY_FILE
from tests.integration.local.support import ROOT, S3Process

BUCKET = "live-memory"


@pytest.fixture
def data(tmp_path):
    """The data folder of a runtime: its store runs, and says where it is."""
    server = S3Process(tmp_path)
    server.client().create_bucket(Bucket=BUCKET)
    endpoints = {
        "bucket": BUCKET,
        "s3": server.url,
        "s3_access_key": ACCESS_KEY,
        "s3_key_file": str(tmp_path / KEY_FILE),
    }
    (tmp_path / "endpoints.json").write_text(json.dumps(endpoints))
    yield server
    server.kill()


def make_token(data_dir, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("S3_", "AWS_", "LLMAAS_"))}
    return subprocess.run(
        [sys.executable, "-m", "local.make_token", *arguments],
        cwd=ROOT,
        env={**clean, "PYTHONPATH": "layers/livemem:.", "LIVEMEM_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def registry(server):
    return json.loads(server.client().get_object(Bucket=BUCKET, Key=keys.TOKENS)["Body"].read())["tokens"]


def test_a_token_is_entered_and_printed_alone_on_the_output(data):
    made = [make_token(data.data, "agent-one", "demo"), make_token(data.data, "agent-two", "demo", "other")]

    secrets = [done.stdout.strip() for done in made]
    assert [done.returncode for done in made] == [0, 0]
    assert [(entry["name"], entry["space_ids"], entry["hash"]) for entry in registry(data)] == [
        ("agent-one", ["demo"], tokens.digest(secrets[0].encode())),
        ("agent-two", ["demo", "other"], tokens.digest(secrets[1].encode())),
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["agent_one", "demo"], 1, "agent: 1 to 64 of"),
        (["", "demo"], 1, "agent: 1 to 64 of"),
        (["agent-one"], 2, "name the spaces"),
        (["agent-one", "demo", "--all-spaces"], 2, "name the spaces"),
        (["agent-one", "demo", "--permissions", "root"], 1, "permissions: must be some of"),
    ],
)
def test_what_is_wrong_is_said_and_no_token_is_made(data, arguments, status, says):
    done = make_token(data.data, *arguments)

    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr


def test_without_a_running_service_it_says_what_to_start(tmp_path):
    done = make_token(tmp_path, "agent-one", "demo")

    assert (done.returncode, done.stdout) == (2, "")
    assert "start `make run` first" in done.stderr

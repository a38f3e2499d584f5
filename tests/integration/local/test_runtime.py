import hashlib
import hmac
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local import stopping
from local.__main__ import main, ready_text
from local.data_dir import DataDirInUseError
from local.front.httpd import Response, Server
from local.store.paths import decode_key
from tests.integration.local.support import ROOT, descendants, is_alive, running, wait_until

KEY = "0123456789abcdef" * 2
TEMPLATE = """
Parameters:
  Secret: {Type: String}
  BackupSchedule: {Type: String, Default: "cron(0 2 29 2 ? *)"}
Globals:
  Function:
    Handler: app.handler
    Timeout: 20
    Environment:
      Variables:
        S3_BUCKET_NAME: b
        S3_ENDPOINT_URL: ""
        LLMAAS_API_URL: ""
        LLMAAS_MODEL: big
        EMBEDDINGS_API_URL: ""
        EMBEDDINGS_MODEL: large
        EMBEDDINGS_DIMENSIONS: ""
        NAME: !Sub ${AWS::StackName}-counter
Resources:
  WebFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: web
      Environment: {Variables: {ADMIN_BOOTSTRAP_KEY_SHA256: !Ref Secret}}
      Events:
        Get: {Type: HttpApi, Properties: {Path: "/v1/{any+}", Method: GET}}
  CounterFunction:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub ${AWS::StackName}-counter
      CodeUri: counter
      Events:
        Written:
          Type: S3
          Properties: {Events: s3:ObjectCreated:Put, Filter: {S3Key: {Rules: [{Name: suffix, Value: .md}]}}}
        Sweep: {Type: Schedule, Properties: {Schedule: rate(15 minutes)}}
        Nightly: {Type: ScheduleV2, Properties: {ScheduleExpression: !Ref BackupSchedule}}
"""

WEB = """
import json, os
from livemem.settings import settings
from livemem.store.clients import invoke_async, s3_client

METRIC = {"CloudWatchMetrics": [{"Dimensions": [["service"]], "Metrics": [{"Name": "NotesKept", "Unit": "Count"}]}]}

def handler(event, context):
    what = event["pathParameters"]["any"]
    if what == "metric":
        print(json.dumps({"_aws": METRIC, "service": "web", "NotesKept": [1, 2]}))
        return {}
    if what == "all-memory":
        return len([bytearray(1 << 24) for _ in range(1 << 20)])
    if what == "process":
        return os.getpid()
    if what == "environ":
        return dict(os.environ)
    if what == "note":
        s3_client(settings()).put_object(Bucket=os.environ["S3_BUCKET_NAME"], Key="space/live/a b.md", Body=b"note")
        return {}
    if what == "address":
        where = {"Bucket": os.environ["S3_BUCKET_NAME"], "Key": "space/live/a b.md"}
        wanted = where | {"ResponseContentDisposition": "attachment"}
        return {"url": s3_client(settings()).generate_presigned_url("get_object", Params=wanted, ExpiresIn=60)}
    invoke_async(os.environ["NAME"], {"put": "by-web"})
    return {"queued": True}
"""

COUNTER = """
import os
from urllib.parse import unquote_plus
from livemem.settings import settings
from livemem.store.clients import s3_client

def handler(event, context):
    if "put" in event:
        key = event["put"]
    elif "Records" in event:
        key = "seen/" + unquote_plus(event["Records"][0]["s3"]["object"]["key"]).removesuffix(".md")
    else:
        key = "swept-" + event["resources"][0]
    s3_client(settings()).put_object(Bucket=os.environ["S3_BUCKET_NAME"], Key=key, Body=b"")
"""


def environment(folder: Path, data: Path) -> dict[str, str]:
    others = ("AWS_", "S3_", "LLMAAS_", "EMBEDDINGS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return kept | {"PORT": "0", "LIVEMEM_DATA_DIR": str(data), "LIVEMEM_TEMPLATE": str(folder / "template.yaml")}


class Process:
    """`python -m local` on a template of its own."""

    def __init__(self, folder: Path, data: Path, **variables: str) -> None:
        self.data = data
        self.process = subprocess.Popen(
            [sys.executable, "-m", "local"],
            cwd=ROOT,
            env=environment(folder, data) | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_ready(self) -> dict:
        path = self.data / "endpoints.json"

        def is_ready() -> bool:
            # A killed runtime leaves its file behind.
            return path.exists() and json.loads(path.read_text())["pid"] == self.process.pid

        wait_until(lambda: is_ready() or self.process.poll() is not None, 60)
        return json.loads(path.read_text())

    def end(self, number: int | None = signal.SIGTERM) -> tuple[int, str, str]:
        """Ask by a signal, without one by a file; returns the status, and what it has said."""
        if number is None:
            (self.data / "stop").write_text(json.loads((self.data / "endpoints.json").read_text())["instance"])
        else:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    for name, source in (("web", WEB), ("counter", COUNTER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text(source)
    return tmp_path


@pytest.fixture
def start(folder, tmp_path):
    started: list[Process] = []

    def start(name: str = "data", **variables: str) -> Process:
        started.append(Process(folder, tmp_path / name, **variables))
        return started[-1]

    yield start
    for process in started:
        process.process.kill()
        process.process.communicate()


@pytest.fixture
def run(folder, tmp_path):
    """Run a service in this process."""
    return lambda **variables: running(environment(folder, tmp_path / "data") | variables)


@pytest.fixture
def refused(folder, tmp_path, monkeypatch, capsys):
    """Start a service in this process that does not come to run; returns the status, and what it has said."""
    before = {number: signal.getsignal(number) for number in stopping.SIGNALS}
    own = environment(folder, tmp_path / "data")

    def refused(**variables: str) -> tuple[int, str, str]:
        monkeypatch.setattr(os, "environ", own | variables)
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, getattr(sys, name))
        status = main()
        return status, *capsys.readouterr()

    yield refused
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def bounded_memory(pid: int, more: int = 300 << 20) -> Iterator[None]:
    """A process gets no more memory than it has and so many bytes."""
    has = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.prlimit(pid, resource.RLIMIT_AS, (has + more, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_AS, before)


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=20) as response:
        return json.loads(response.read())


def kept(endpoints: dict) -> set[str | None]:
    """The keys in the folder of a running service."""
    bucket = Path(endpoints["s3"]) / endpoints["bucket"]
    return {decode_key(str(path.relative_to(bucket))) for path in bucket.rglob("*") if path.is_file()}


def list_keys(client, bucket: str) -> set[str]:
    return {item["Key"] for item in client.list_objects_v2(Bucket=bucket).get("Contents", [])}


def test_the_whole_runtime_from_start_to_restart(start, refused):
    process = start(LIVEMEM_SWEEP_SECONDS="0.3", BACKUP_SCHEDULE="rate(1 day)", AWS_PROFILE="prod")
    endpoints = process.wait_ready()
    # The functions' variables, and our own servers.
    environ = fetch(f"{endpoints['api']}/v1/environ")
    assert environ["LLMAAS_API_URL"] == endpoints["llm"]
    assert (environ["LLMAAS_MODEL"], environ["S3_BUCKET_NAME"]) == ("offline-rules", "live-memory")
    key = Path(endpoints["admin_key_file"]).read_text().strip()
    assert environ["ADMIN_BOOTSTRAP_KEY_SHA256"] == hashlib.sha256(key.encode()).hexdigest()
    assert key not in environ.values()
    assert not {"AWS_PROFILE", "LLMAAS_API_KEY"} & environ.keys()
    models = fetch(f"{endpoints['llm']}/models")
    assert [model["id"] for model in models["data"]] == ["offline-rules", "offline-fuse"]
    assert environ["EMBEDDINGS_API_URL"] == endpoints["embeddings"] == endpoints["llm"]
    assert (environ["EMBEDDINGS_MODEL"], environ["EMBEDDINGS_DIMENSIONS"]) == ("offline-fuse", "")

    # Puts, asynchronous invocations and schedules reach their function.
    fetch(f"{endpoints['api']}/v1/note")
    assert fetch(f"{endpoints['api']}/v1/queue") == {"queued": True}
    expected = {"space/live/a b.md", "seen/space/live/a b", "by-web", "swept-Sweep", "swept-Nightly"}
    wait_until(lambda: kept(endpoints) == expected, 20)
    address = fetch(f"{endpoints['api']}/v1/address")["url"]
    assert address.startswith(endpoints["api"])
    with urllib.request.urlopen(address, timeout=20) as answer:
        assert answer.read() == b"note"

    # A second runtime on the same folder is refused, and the first one goes on.
    status, _, err = refused()
    assert status == DataDirInUseError.status
    assert f"Another runtime uses {process.data}; stop it" in err
    assert fetch(f"{endpoints['api']}/v1/environ")

    # Who takes all memory that there is fails alone.
    with bounded_memory(process.process.pid), pytest.raises(urllib.error.HTTPError, match="500"):
        fetch(f"{endpoints['api']}/v1/all-memory")
    assert kept(endpoints) == expected

    # It is one process. A stop is complete, and the next start finds everything.
    assert descendants(process.process.pid) == set()
    status, out, err = process.end(None)
    assert status == 0
    (told,) = err.splitlines()
    assert "MemoryError" in told
    assert re.search(r"API +http://127\.0\.0\.1:\d+/v1", out)
    assert "offline stand-in" in out
    assert not (process.data / "endpoints.json").exists()
    again = start()
    assert kept(again.wait_ready()) == expected
    assert again.end(signal.SIGINT)[0] == 0


def test_a_port_in_use_is_one_sentence(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, err = refused(PORT=str(port))
    (line,) = err.splitlines()
    assert status == 1
    assert f"127.0.0.1:{port}" in line
    assert "PORT" in line


@pytest.mark.parametrize(
    ("variables", "status", "words"),
    [
        ({"PORT": "x"}, 2, ["PORT"]),
        ({"LLMAAS_TEMPERATURE": "9", "CONSOLIDATION_THRESHOLD": "abc"}, 2, ["LLMAAS_TEMPERATURE", "CONSOLIDATION"]),
        ({"LIVEMEM_TEMPLATE": "/nowhere"}, 1, ["/nowhere"]),
        ({"LIVEMEM_DATA_DIR": "/dev/null/x"}, 1, ["/dev/null/x"]),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_nothing_is_started(refused, tmp_path, variables, status, words):
    found, out, err = refused(**variables)
    assert found == status
    lines = err.splitlines()
    assert len(lines) == len(words)
    assert all(word in err for word in words)
    assert out == ""
    assert not (tmp_path / "data").exists()


def test_a_store_of_ones_own_is_used(run, shared_s3, s3):
    s3.create_bucket(Bucket="bucket-of-ones-own")
    variables = {
        "S3_ENDPOINT_URL": shared_s3,
        "S3_BUCKET_NAME": "bucket-of-ones-own",
        "S3_ACCESS_KEY_ID": "key",
        "S3_SECRET_ACCESS_KEY": "secret",
        "LLMAAS_API_URL": "http://127.0.0.1:9/v1",
        "LLMAAS_MODEL": "mine",
        "ADMIN_BOOTSTRAP_KEY": KEY,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    with run(**variables) as (_, endpoints):
        assert (endpoints["s3"], endpoints["bucket"]) == (shared_s3, "bucket-of-ones-own")
        assert (endpoints["llm_is_offline_stand_in"], endpoints["admin_key_file"]) == (False, None)
        environ = fetch(f"{endpoints['api']}/v1/environ")
        known = hashlib.sha256(KEY.encode()).hexdigest()
        assert (environ["LLMAAS_MODEL"], environ["ADMIN_BOOTSTRAP_KEY_SHA256"]) == ("mine", known)
        # Beside an LLM of one's own the offline server serves embeddings alone.
        assert (environ["LLMAAS_API_URL"], environ["EMBEDDINGS_API_URL"]) == (endpoints["llm"], endpoints["embeddings"])
        assert "offline-fuse" in {model["id"] for model in fetch(f"{endpoints['embeddings']}/models")["data"]}
        # Its put events come from its own webhook, to the address that MinIO would post to.
        event = {"Records": [{"s3": {"object": {"key": "x.md"}}}]}
        url = f"{endpoints['api']}/2015-03-31/functions/CounterFunction/invocations"
        request = urllib.request.Request(url, json.dumps(event).encode(), {"X-Amz-Invocation-Type": "Event"})
        assert urllib.request.urlopen(request, timeout=10).status == 202
        wait_until(lambda: list_keys(s3, "bucket-of-ones-own") == {"seen/x"})


def test_metrics_of_functions_and_of_the_front_are_read_with_the_key_alone_or_from_this_machine(run):
    def read(endpoints, **headers):
        request = urllib.request.Request(f"{endpoints['api']}/metrics", headers=headers)
        try:
            return 200, urllib.request.urlopen(request, timeout=10).read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    with run(LLMAAS_API_URL="http://127.0.0.1:9/v1") as (_, own):
        fetch(f"{own['api']}/v1/metric")
        told = read(own)[1].splitlines()
        assert 'livemem_notes_kept_total{service="web"} 3.0' in told
        assert 'livemem_http_requests_total{method="GET",route="/v1/{any+}",status="200"} 1.0' in told
        assert 'livemem_invocations_total{function="WebFunction",status="success"} 1.0' in told
        assert read(own, Origin="https://evil.example")[0] == read(own, Via="1.1 proxy")[0] == 404
        assert read(own, Host="evil.example")[0] == 421

    with run(LIVEMEM_METRICS_KEY=KEY, LLMAAS_API_URL="http://127.0.0.1:9/v1") as (_, guarded):
        assert (read(guarded)[0], read(guarded, Authorization="Bearer " + "x" * 32)[0]) == (401, 401)
        assert read(guarded, Authorization=f"Bearer {KEY}")[0] == 200


def test_behind_a_proxy_on_this_machine_nobody_invokes_functions(run, capfdbinary):
    shared = {"LIVEMEM_SHARED": "true", "LIVEMEM_LOGS": "stdout", "LLMAAS_API_URL": "http://127.0.0.1:9/v1"}
    with run(**shared) as (_, endpoints):
        url = f"{endpoints['api']}/2015-03-31/functions/CounterFunction/invocations"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(urllib.request.Request(url, b'{"Records": []}'), timeout=10)
        fetch(f"{endpoints['api']}/v1/environ")
        assert fetch(f"{endpoints['api']}/healthz") == {"status": "ok"}, "the id of the start is for nobody"
    assert b'"type": "platform.report"' in capfdbinary.readouterr().out, "the lines of functions are on standard output"


@pytest.mark.parametrize("url", ["off", "http://127.0.0.1:9/v1"])
def test_with_models_of_ones_own_or_no_embeddings_there_is_no_offline_server(run, url):
    models = {"LLMAAS_API_URL": "http://127.0.0.1:9/v1", "EMBEDDINGS_API_URL": url, "EMBEDDINGS_DIMENSIONS": "256"}
    with run(**models) as (runtime, endpoints):
        own = "" if url == "off" else url
        environ = fetch(f"{endpoints['api']}/v1/environ")
        assert (environ["EMBEDDINGS_API_URL"], endpoints["embeddings"] or "") == (own, own)
        assert (environ["EMBEDDINGS_MODEL"], environ["EMBEDDINGS_DIMENSIONS"]) == ("large", "256")
        told = ready_text("", runtime.config, endpoints, {})
        assert f"Embeddings {own or 'none: search goes by words alone'}" in told


def test_a_store_that_cannot_be_reached_is_a_sentence(refused):
    status, out, err = refused(
        S3_ENDPOINT_URL="http://127.0.0.1:9",
        S3_ACCESS_KEY_ID="a",
        S3_SECRET_ACCESS_KEY="b",
        LLMAAS_API_URL="http://127.0.0.1:9/v1",
    )
    assert status == 1
    assert "http://127.0.0.1:9" in err
    assert "Traceback" not in err
    assert "ready" not in out


def test_a_mistyped_bucket_is_an_error_and_not_a_new_bucket(refused, shared_s3, s3):
    status, out, err = refused(
        S3_ENDPOINT_URL=shared_s3,
        S3_BUCKET_NAME="bucket-of-noes-own",
        S3_ACCESS_KEY_ID="key",
        S3_SECRET_ACCESS_KEY="secret",
    )
    assert status == 1
    assert "has no bucket 'bucket-of-noes-own': correct S3_BUCKET_NAME" in err
    assert len(err.splitlines()) == 1
    assert "ready" not in out
    assert "bucket-of-noes-own" not in {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}


def test_a_store_that_refuses_the_keys_is_a_sentence_without_them(refused):
    store = Server("127.0.0.1", 0, lambda _: Response(403), max_body=0)
    store.start()
    status, _, err = refused(S3_ENDPOINT_URL=store.url, S3_ACCESS_KEY_ID="key", S3_SECRET_ACCESS_KEY="hunter2")
    store.stop()
    assert status == 1
    assert "refuses access to the bucket 'live-memory' (403): check S3_ACCESS_KEY_ID" in err
    assert "hunter2" not in err


def test_keys_without_an_endpoint_open_aws_and_not_the_embedded_store(run, shared_s3, s3):
    s3.create_bucket(Bucket="bucket-at-aws")
    variables = {
        "S3_BUCKET_NAME": "bucket-at-aws",
        "S3_REGION_NAME": "eu-west-1",
        "S3_ACCESS_KEY_ID": "key",
        "S3_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_S3": shared_s3,  # where the runtime's own look at the bucket finds its "AWS"
    }
    with run(**variables) as (runtime, endpoints):
        environ = fetch(f"{endpoints['api']}/v1/environ")
        assert (environ["S3_ENDPOINT_URL"], environ["S3_BUCKET_NAME"]) == ("", "bucket-at-aws")
        assert (environ["S3_REGION_NAME"], endpoints["s3"]) == ("eu-west-1", "https://s3.eu-west-1.amazonaws.com")
        assert not (runtime.config.data / "s3").exists()
        assert not runtime.config.embedded


# Ctrl-C in a terminal comes to all of them.
@pytest.mark.parametrize("end", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.proof)])
def test_workers_at_one_port_share_a_store_are_started_again_and_end_with_their_owner(start, shared_s3, end):
    variables = {"S3_ENDPOINT_URL": shared_s3, "LIVEMEM_MAKE_BUCKET": "true", "LIVEMEM_WORKERS": "2"}
    variables |= {"S3_ACCESS_KEY_ID": "a", "S3_SECRET_ACCESS_KEY": "b", "EMBEDDINGS_API_URL": "off"}
    variables |= {"LIVEMEM_SWEEP_SECONDS": "0.5"}
    process = start(**variables)
    endpoints = process.wait_ready()

    def at_work() -> set[int]:
        # Whoever accepts a connection first answers it.
        return {fetch(f"{endpoints['api']}/v1/process") for _ in range(5)}

    first: set[int] = set()
    wait_until(lambda: first.update(at_work()) or len(first) == 2, 60)
    proof = hmac.digest(endpoints["instance"].encode(), b"7", "sha256").hex()
    assert fetch(f"{endpoints['api']}/healthz?challenge=7") == {"status": "ok", "proof": proof}
    os.kill(min(first), signal.SIGKILL)
    wait_until(lambda: at_work() - first, 60)

    # One of them alone has the schedules.
    folders = [process.data / "workers" / number / "logs" for number in ("1", "2")]
    logs = [folder / "CounterFunction.log" for folder in folders]
    wait_until(lambda: logs[0].exists() and "platform.report" in logs[0].read_text(), 60)
    assert not logs[1].exists()

    family = descendants(process.process.pid)
    if end == signal.SIGINT:
        os.killpg(process.process.pid, end)
    else:
        # Workers leave an interrupt to their owner.
        for worker in family:
            os.kill(worker, signal.SIGINT)
        assert at_work()
        process.process.kill()
    out, _ = process.process.communicate(timeout=60)
    assert (process.process.returncode, "2 workers" in out) == (0 if end == signal.SIGINT else -end, True)
    wait_until(lambda: not [one for one in family if is_alive(one)], 30)


def test_several_workers_of_an_embedded_store_are_refused_in_one_sentence(refused):
    status, _, err = refused(LIVEMEM_WORKERS="2")
    (line,) = err.splitlines()
    assert status == 2
    assert line.startswith("LIVEMEM_WORKERS needs a store that several processes can share: set S3_ENDPOINT_URL")

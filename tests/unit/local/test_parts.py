"""The small parts of the local runtime, each of which fits a few tests."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.config import ConfigError, read_config
from local.data_dir import DataDir, DataDirError
from local.environments import Outcome
from local.guard import is_from_web_page, is_in_networks
from local.httpd import Request
from local.logs import ROTATE_BYTES, FunctionLog
from local.s3.locks import ReadWriteLock
from local.schedules import build_scheduled_event
from local.spool import Spool
from local.template import Function, Schedule
from local.variables import build_environment, function_arn

FUNCTION = Function(
    "F",
    "live-f",
    Path("/code"),
    "app.handler",
    3,
    256,
    2,
    None,
    {"A": "a", "B": "b", "C": "c", "D": None},
    (),
    (),
    (),
    (),
)


def variables(outer=None, provided=None, *, own_credentials=False):
    return build_environment(
        FUNCTION, outer or {}, provided or {}, lambda_url="http://l", own_credentials=own_credentials
    )


def test_a_function_gets_only_what_the_template_declares():
    found = variables({"B": "outer", "C": "outer", "SECRET": "x", "PATH": "/bin"}, {"C": "given", "E": "given"})
    assert (found["A"], found["B"], found["C"], found["PATH"]) == ("a", "outer", "given", "/bin")
    assert not {"D", "E", "SECRET"} & found.keys()


def test_a_function_never_sees_the_developers_credentials_by_accident():
    outer = {"AWS_ACCESS_KEY_ID": "real", "AWS_SECRET_ACCESS_KEY": "real", "AWS_PROFILE": "prod"}
    assert variables(outer)["AWS_ACCESS_KEY_ID"] == "local"
    assert "AWS_PROFILE" not in variables(outer)
    assert variables(outer, own_credentials=True)["AWS_ACCESS_KEY_ID"] == "real"


def test_a_function_reaches_our_servers_past_any_proxy():
    found = variables({"HTTP_PROXY": "http://proxy", "NO_PROXY": "corp"})
    assert (found["HTTP_PROXY"], found["NO_PROXY"]) == ("http://proxy", "corp,127.0.0.1,localhost")
    assert found["AWS_ENDPOINT_URL_LAMBDA"] == "http://l"
    assert function_arn(FUNCTION).endswith(":function:live-f")


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({"Host": "127.0.0.1:3000"}, False),
        ({"Host": "localhost"}, False),
        ({"Host": "[::1]:3000"}, False),
        ({"Host": "host.docker.internal:3000"}, False),
        ({"Host": "minio:9000"}, False),
        ({}, False),
        ({"Host": "evil.example:3000"}, True),
        ({"Host": "127.0.0.1.evil.example"}, True),
        ({"Host": "a@b:c"}, True),
        ({"Host": "localhost", "Origin": "null"}, True),
        ({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, True),
    ],
)
def test_requests_of_web_pages_are_recognised(headers, foreign):
    assert is_from_web_page(Request("POST", "/", tuple(headers.items()))) is foreign


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("172.17.0.2", True),
        ("172.18.0.2", False),
        ("192.168.1.5", False),
        ("fe80::1%eth0", False),
    ],
)
def test_only_this_machine_and_named_networks_may_invoke(address, allowed):
    networks = read_config({"LIVEMEM_INVOKE_FROM": "172.17.0.0/16, 10.0.0.0/8"}).invoke_from
    assert is_in_networks(address, networks) is allowed


def test_a_spool_gives_back_what_was_not_finished_in_order(tmp_path):
    spool = Spool(tmp_path)
    entries = [spool.add({"n": n}) for n in range(5)]
    spool.remove(entries[1])
    spool.remove(entries[1])
    assert [e.content["n"] for e in Spool(tmp_path).load()] == [0, 2, 3, 4]


def test_a_spool_sets_aside_what_it_cannot_read(tmp_path, caplog):
    (tmp_path / "1.json").write_text("{")
    assert Spool(tmp_path).load() == []
    assert [p.name for p in tmp_path.iterdir()] == ["1.unreadable"]
    assert "set aside" in caplog.text


def test_a_scheduled_event_has_the_shape_of_eventbridge():
    now = datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC)
    event = build_scheduled_event(Schedule("Often", 900), now)
    assert (event["source"], event["detail-type"], event["time"]) == (
        "aws.events",
        "Scheduled Event",
        "2026-11-21T04:05:06Z",
    )
    assert event["resources"] == ["arn:aws:events:us-east-1:123456789012:rule/Often"]
    assert build_scheduled_event(Schedule("Often", 900, "aws.scheduler"), now)["source"] == "aws.scheduler"
    assert build_scheduled_event(Schedule("Often", 900, payload='{"a": 1}'), now) == {"a": 1}


def test_variables_choose_everything_and_nothing_is_needed():
    config = read_config({})
    assert (config.host, config.port, config.bucket, config.s3_url) == ("127.0.0.1", 3000, "live-memory", None)
    config = read_config({"PORT": "0", "LIVEMEM_DATA_DIR": "x", "S3_ENDPOINT_URL": "", "LIVEMEM_SWEEP_SECONDS": "2.5"})
    assert (config.port, config.data, config.s3_url, config.sweep_seconds) == (0, Path.cwd() / "x", None, 2.5)


@pytest.mark.parametrize(
    "values",
    [
        {"PORT": "x"},
        {"PORT": "70000"},
        {"LIVEMEM_SWEEP_SECONDS": "0"},
        {"LIVEMEM_SWEEP_SECONDS": "soon"},
        {"LIVEMEM_INVOKE_FROM": "lan"},
    ],
)
def test_a_wrong_variable_is_named(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        read_config(values)


def test_a_data_folder_serves_one_runtime_at_a_time(tmp_path):
    first = DataDir(tmp_path / "d")
    with pytest.raises(DataDirError, match="Another runtime"):
        DataDir(tmp_path / "d")
    first.write_endpoints({"api": "http://x"})
    assert json.loads((tmp_path / "d/endpoints.json").read_bytes()) == {"api": "http://x"}
    first.close()
    assert not (tmp_path / "d/endpoints.json").exists()
    DataDir(tmp_path / "d").close()


def test_the_admin_key_is_made_once_and_private(tmp_path):
    data = DataDir(tmp_path)
    key = data.admin_key()
    assert len(key) >= 32
    assert data.admin_key() == key == data.admin_key_file.read_text().strip()
    assert data.admin_key_file.stat().st_mode & 0o077 == 0
    assert tmp_path.stat().st_mode & 0o077 == 0
    data.close()


def test_a_data_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirError, match="cannot be used"):
        DataDir(tmp_path / "file")


def test_a_log_that_has_grown_makes_way(tmp_path):
    (tmp_path / "F.log").write_bytes(b"x" * (ROTATE_BYTES + 1))
    log = FunctionLog(tmp_path, "F")
    log.write_report("platform.report", {"a": 1})
    assert json.loads(log.path.read_text())["record"] == {"a": 1}
    assert (tmp_path / "F.log.1").exists()


def test_a_failure_is_one_line():
    assert Outcome(b'{"errorType": "ValueError", "errorMessage": "no"}', failed=True).describe() == "ValueError: no"
    assert Outcome(b"not json", failed=True).describe() == "not json"
    assert Outcome(b"[1]", failed=True).describe() == "[1]"


def run_together(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_readers_share_a_lock():
    lock, barrier = ReadWriteLock(), threading.Barrier(3)

    def read():
        with lock.read():
            barrier.wait(5)  # passes only when all three are inside

    run_together(read, read, read)
    assert not barrier.broken


def test_a_writer_is_alone():
    lock, inside, most = ReadWriteLock(), [], []

    def use(hold):
        for _ in range(50):
            with hold():
                inside.append(hold)
                most.append(list(inside))
                inside.remove(hold)

    run_together(*[lambda: use(lock.write)] * 2, *[lambda: use(lock.read)] * 2)
    assert len(most) == 200
    assert all(len(held) == 1 for held in most if lock.write in held)

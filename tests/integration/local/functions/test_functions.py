import json
import os
import signal
import subprocess
import sys
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from local.functions.async_queue import AsyncQueue
from local.functions.pools import PoolClosedError
from local.functions.template import Route
from local.spool import Spool
from tests.integration.local.support import ROOT, is_alive, wait_until

ECHO = """
def handler(event, context):
    return event
"""

SEVERAL = """
import os, sys, threading, time

calls = 0

def handler(event, context):
    global calls
    calls += 1
    do = event["do"]
    if do == "count":
        return {"calls": calls, "pid": os.getpid()}
    if do == "sleep":
        time.sleep(event["seconds"])
        return {"pid": os.getpid()}
    if do == "raise":
        raise ValueError("no good")
    if do == "exit":
        sys.exit(3)
    if do == "crash":
        os.kill(os.getpid(), 11)
    if do == "set":
        return {1, 2}
    if do == "huge":
        return "x" * 7_000_000
    if do == "environment":
        import json
        return {"environ": dict(os.environ), "path": sys.path, "local": "local" in sys.modules}
    if do == "context":
        return {
            "name": context.function_name, "arn": context.invoked_function_arn, "memory": context.memory_limit_in_mb,
            "left": context.get_remaining_time_in_millis(), "group": context.log_group_name,
            "stream": context.log_stream_name == os.environ["AWS_LAMBDA_LOG_STREAM_NAME"], "id": context.aws_request_id,
        }
    if do == "keep":
        import tempfile
        with open(os.path.join(tempfile.mkdtemp(), "a copy"), "w") as file:
            return os.path.abspath(file.name)
    if do == "log":
        import logging
        print("plain", "text")
        print('{"own": "json"}')
        print("error", file=sys.stderr)
        logging.getLogger("my").warning("careful %d", 7)
"""


def invoke(pool, event, **options):
    return pool.submit(json.dumps(event).encode(), **options).result(30)


def run(pool, **event):
    return json.loads(invoke(pool, event).payload)


def test_an_environment_lives_on_and_works_on_one_request_at_a_time(make_pool):
    pool = make_pool(SEVERAL, limit=2)
    first = run(pool, do="count")
    assert run(pool, do="count") == {"calls": 2, "pid": first["pid"]}
    futures = [pool.submit(b'{"do": "sleep", "seconds": 0.3}') for _ in range(6)]
    pids = {json.loads(future.result(30).payload)["pid"] for future in futures}
    assert len(pids) == 2


def test_a_function_whose_log_a_full_disk_refuses_answers_and_goes_on(make_pool, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "TestFunction.log").symlink_to("/dev/full")
    pool = make_pool(SEVERAL, limit=1)

    for number in range(3):
        assert run(pool, do="count")["calls"] == 4 * number + 1
        assert run(pool, do="log") is None
        assert invoke(pool, {"do": "raise"}).failed
        assert invoke(pool, {"do": "set"}).failed
    invoke(pool, {"do": "exit"})
    assert run(pool, do="count")["calls"] == 1


def test_a_handler_has_lambdas_context(make_pool):
    found = run(make_pool(SEVERAL, name="CtxFunction"), do="context")
    identity = found.pop("id")
    left = found.pop("left")
    assert found == {
        "name": "ctxfunction",
        "arn": "arn:aws:lambda:us-east-1:123456789012:function:ctxfunction",
        "memory": 256,
        "group": "/aws/lambda/ctxfunction",
        "stream": True,
    }
    assert len(identity) == 36
    assert 5_000 < left <= 10_000


def test_a_function_sees_its_own_folder_and_variables_and_nothing_of_the_runtime(make_pool, tmp_path):
    found = run(make_pool(SEVERAL, name="Own"), do="environment")
    assert found["environ"].keys() == {"PATH", "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_LOG_STREAM_NAME", "TMPDIR"}
    assert found["path"][0] == str(tmp_path / "Own")
    assert str(ROOT) not in found["path"]
    assert found["local"] is False


def test_temporary_files_go_with_their_environment_however_it_ends(make_pool):
    pool = make_pool(SEVERAL, name="Keeper")
    kept = []
    for end in ({"do": "exit"}, {"do": "crash"}):
        kept.append(Path(run(pool, do="keep")))
        assert kept[-1].read_bytes() == b""
        assert invoke(pool, end).failed
    kept.append(Path(run(pool, do="keep")))
    pool.close()

    wait_until(lambda: not any(file.exists() for file in kept))
    assert len({file.parent.parent for file in kept}) == len(kept)


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"do": "raise"}, "ValueError", "no good"),
        ({}, "KeyError", "'do'"),
        ({"do": "set"}, "Runtime.MarshalError", "not JSON serializable"),
        ({"do": "huge"}, "Function.ResponseSizeTooLarge", "6291556"),
    ],
)
def test_a_failure_is_described_as_lambda_does(make_pool, event, kind, message):
    outcome = invoke(make_pool(SEVERAL), event)
    details = json.loads(outcome.payload)
    assert outcome.failed
    assert details["errorType"] == kind
    assert message in details["errorMessage"]
    if kind == "ValueError":
        assert 'raise ValueError("no good")' in details["stackTrace"][-1]
        assert len(details["stackTrace"]) == 1


def test_after_a_timeout_or_a_crash_a_new_environment_goes_on(make_pool):
    pool = make_pool(SEVERAL, timeout=1, limit=1)
    old = run(pool, do="count")["pid"]
    for event, kind, message in (
        ({"do": "sleep", "seconds": 60}, "Sandbox.Timedout", "timed out after 1.00 seconds"),
        ({"do": "exit"}, "Runtime.ExitError", "exit status 3"),
        ({"do": "crash"}, "Runtime.ExitError", "SIGSEGV"),
    ):
        outcome = invoke(pool, event)
        details = json.loads(outcome.payload)
        assert (outcome.failed, details["errorType"]) == (True, kind)
        assert message in details["errorMessage"]
        assert run(pool, do="count")["calls"] == 1
    wait_until(lambda: not is_alive(old))


def test_a_module_that_cannot_be_imported_is_reported_to_each_request(make_pool):
    pool = make_pool("import no_such_module")
    for _ in range(2):
        outcome = invoke(pool, {})
        assert (outcome.failed, outcome.begun) == (True, False)
        assert "no_such_module" in outcome.describe()


def test_a_module_without_the_handler_is_a_failure(make_pool):
    assert "handler" in invoke(make_pool("x = 1"), {}).describe()


def test_logs_are_json_lines(make_pool, tmp_path):
    pool = make_pool(SEVERAL, name="Logging")
    run(pool, do="log")
    invoke(pool, {"do": "raise"})
    lines = [json.loads(line) for line in (tmp_path / "logs/Logging.log").read_text().splitlines()]
    by_message = {line["message"]: line for line in lines if "message" in line}
    assert by_message["plain text"]["level"] == "INFO"
    assert by_message["error"]["level"] == "ERROR"
    assert by_message["careful 7"]["logger"] == "my"
    assert by_message["plain text"]["requestId"] == by_message["careful 7"]["requestId"]
    assert "stackTrace" in by_message["ValueError: no good"]
    assert {"own": "json"} in lines
    reports = [line["record"]["status"] for line in lines if line.get("type") == "platform.report"]
    assert reports == ["success", "error"]


def test_synchronous_requests_are_not_shut_out_by_asynchronous_work(make_pool):
    pool = make_pool(SEVERAL, limit=2, routes=(Route("GET", "/x"),))
    slow = [pool.submit(b'{"do": "sleep", "seconds": 20}', asynchronous=True) for _ in range(3)]
    assert run(pool, do="count")["calls"] == 1
    assert not any(future.done() for future in slow)


MEETING = """
import os, pathlib, time

def handler(event, context):
    room = pathlib.Path(event["room"])
    (room / context.aws_request_id).touch()
    while len(list(room.iterdir())) < event["guests"]:
        time.sleep(0.01)
    return os.getpid()
"""


def test_a_function_without_routes_works_on_as_many_events_at_once_as_it_reserves(make_pool, tmp_path):
    (room := tmp_path / "room").mkdir()
    pool = make_pool(MEETING, limit=2, reserved_concurrency=5)
    event = json.dumps({"room": str(room), "guests": 5}).encode()
    futures = [pool.submit(event, asynchronous=True) for _ in range(5)]
    assert len({future.result(30).payload for future in futures}) == 5


def test_environments_are_started_only_for_what_waits(make_pool):
    pool = make_pool(SEVERAL, reserved_concurrency=50)
    pids = {json.loads(invoke(pool, {"do": "count"}, asynchronous=True).payload)["pid"] for _ in range(5)}
    assert len(pids) == 1


def test_asynchronous_events_are_worked_on_in_the_order_of_their_arrival(make_pool, tmp_path):
    pool = make_pool(COUNTING, reserved_concurrency=1)
    event = json.dumps({"log": str(tmp_path / "attempts"), "good_at": 0}).encode()
    futures = [pool.submit(event, asynchronous=True, request_id=str(number)) for number in range(20)]
    assert not any(future.result(30).failed for future in futures)
    assert (tmp_path / "attempts").read_text().split() == [str(number) for number in range(20)]


def test_an_environment_that_was_killed_while_it_was_idle_fails_no_request(make_pool):
    pool = make_pool(SEVERAL, limit=1)
    pid = run(pool, do="count")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(next(iter(pool._environments)).has_ended)
    assert run(pool, do="count")["calls"] == 1


def test_a_request_that_nobody_waits_for_any_more_does_not_run(make_pool):
    pool = make_pool(SEVERAL, limit=1)
    blocking = pool.submit(b'{"do": "sleep", "seconds": 0.5}')
    dropped = pool.submit(b'{"do": "count"}')
    assert dropped.cancel()
    assert not blocking.result(30).failed
    assert run(pool, do="count")["calls"] == 2
    with pytest.raises(CancelledError):
        dropped.result()


def test_closing_a_pool_kills_what_runs_and_answers_who_waits(make_pool):
    pool = make_pool(SEVERAL, limit=1)
    pid = run(pool, do="count")["pid"]
    running, waiting = (pool.submit(b'{"do": "sleep", "seconds": 60}') for _ in range(2))
    pool.close()
    for future in (running, waiting, pool.submit(b"{}")):
        with pytest.raises(PoolClosedError):
            future.result(10)
    wait_until(lambda: not is_alive(pid))


COUNTING = """
import pathlib, time

def handler(event, context):
    with pathlib.Path(event["log"]).open("a") as log:
        log.write(context.aws_request_id + "\\n")
    attempts = len(pathlib.Path(event["log"]).read_text().splitlines())
    if event.get("sleep"):
        time.sleep(event["sleep"])
    if attempts < event["good_at"]:
        raise RuntimeError("not yet")
"""


@pytest.fixture
def make_queue(tmp_path):
    def make(pool):
        pools = {pool.function.logical_id: pool}
        return AsyncQueue(pools, Spool(tmp_path / "queue"), tmp_path / "dead", retry_seconds=(0.01, 0.02))

    return make


def test_an_asynchronous_invocation_is_tried_three_times_with_one_id(make_pool, make_queue, tmp_path):
    queue = make_queue(make_pool(COUNTING))
    log = tmp_path / "attempts"
    request_id = queue.accept("TestFunction", json.dumps({"log": str(log), "good_at": 3}).encode())
    wait_until(lambda: not list((tmp_path / "queue").iterdir()))
    assert log.read_text().splitlines() == [request_id] * 3
    assert not (tmp_path / "dead").exists()


def test_what_fails_three_times_becomes_a_dead_letter(make_pool, make_queue, tmp_path, caplog):
    queue = make_queue(make_pool(COUNTING))
    event = {"log": str(tmp_path / "attempts"), "good_at": 9}
    request_id = queue.accept("TestFunction", json.dumps(event).encode())
    path = tmp_path / f"dead/TestFunction/{request_id}.json"
    wait_until(lambda: not list((tmp_path / "queue").iterdir()))
    letter = json.loads(path.read_text())
    assert (letter["event"], letter["attempts"], letter["error"]["errorMessage"]) == (event, 3, "not yet")
    assert "given up after 3 attempts" in caplog.text


def test_a_timeout_is_a_failure_that_is_tried_again(make_pool, make_queue, tmp_path):
    queue = make_queue(make_pool(COUNTING, timeout=1, retries=1))
    event = {"log": str(tmp_path / "attempts"), "good_at": 1, "sleep": 30}
    queue.accept("TestFunction", json.dumps(event).encode())
    wait_until(lambda: list((tmp_path / "dead").rglob("*.json")))
    assert len((tmp_path / "attempts").read_text().splitlines()) == 2


def test_work_that_a_stop_interrupted_is_done_after_the_next_start(make_pool, make_queue, tmp_path):
    pool = make_pool(COUNTING)
    queue = make_queue(pool)
    event = {"log": str(tmp_path / "attempts"), "good_at": 1, "sleep": 2}
    queue.accept("TestFunction", json.dumps(event).encode())
    wait_until((tmp_path / "attempts").exists)
    queue.close()
    pool.close()
    assert len(list((tmp_path / "queue").iterdir())) == 1
    again = make_queue(make_pool(ECHO, name="Again"))
    again._pools["TestFunction"] = again._pools["Again"]
    assert again.start() == 1
    wait_until(lambda: not list((tmp_path / "queue").iterdir()))
    assert not (tmp_path / "dead").exists()


def test_work_for_a_function_that_is_gone_becomes_a_dead_letter(make_pool, make_queue, tmp_path):
    Spool(tmp_path / "queue").add({"function": "Gone", "request_id": "r", "accepted_at": "", "event": {}})
    make_queue(make_pool(ECHO)).start()
    assert (tmp_path / "dead/Gone/r.json").exists()


ORPHANS = """
import json, sys, time
from pathlib import Path
from local.functions.environments import Nursery
from local.functions.logs import FunctionLog
from local.functions.pools import FunctionPool
from local.functions.template import Function

folder = Path(sys.argv[1])
source = "import os, time\\ndef handler(event, context):\\n  print(os.getpid())\\n  time.sleep(600)"
(folder / "app.py").write_text(source)
nursery = Nursery(folder / "scratch")
nursery.start()
function = Function("F", "f", folder, "app.handler", 900, 128, 2, None, {}, (), (), (), ())
pool = FunctionPool(function, nursery, {}, FunctionLog(folder, "F"))
pool.submit(b"{}")
time.sleep(600)
"""


def test_no_environment_survives_its_runtime(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS, str(tmp_path)], cwd=ROOT)
    log = tmp_path / "F.log"

    def find_pid() -> int | None:
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return next((int(line["message"]) for line in lines if line.get("message", "").isdigit()), None)

    pid = wait_until(find_pid, 30)
    assert is_alive(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_alive(pid) and not (tmp_path / "scratch").exists())

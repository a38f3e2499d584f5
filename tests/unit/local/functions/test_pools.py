"""Functions as the local runtime runs them: in threads of its own process."""

import json
import logging
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from livemem.store.clients import Host
from local.functions import invocations, pools
from local.functions.async_queue import AsyncQueue
from local.functions.invocations import Output, RootHandler
from local.functions.pools import Deadlines, FunctionPool, PoolClosedError
from local.functions.template import Route
from local.store.client import FileStore
from tests.integration.local.support import build_pool, wait_until

ECHO = """
def handler(event, context):
    return event
"""

IMPORTED = """
import time
import imports_at_work as at_work

at_work.now += 1
at_work.most = max(at_work.most, at_work.now)
time.sleep(0.1)
at_work.now -= 1

def handler(event, context):
    return event
"""

SEVERAL = """
import logging, sys, threading, time

calls = 0

def handler(event, context):
    global calls
    calls += 1
    do = event["do"]
    if do == "count":
        return {"calls": calls, "thread": threading.get_ident()}
    if do == "sleep":
        time.sleep(event["seconds"])
        return {"thread": threading.get_ident()}
    if do == "raise":
        raise ValueError("no good")
    if do == "exit":
        sys.exit(3)
    if do == "set":
        return {1, 2}
    if do == "context":
        return {
            "name": context.function_name, "arn": context.invoked_function_arn, "memory": context.memory_limit_in_mb,
            "left": context.get_remaining_time_in_millis(),
            "id": context.aws_request_id,
        }
    if do == "log":
        print("plain", "text")
        print('{"own": "json"}')
        print("error", file=sys.stderr)
        logging.getLogger("my").warning("careful %d", 7)
"""

WRITER = """
import threading, time
from contextlib import suppress
from livemem.background import every
from livemem.errors import OutOfTime
from livemem.settings import Settings
from livemem.store.clients import open_store

def attempt(store, key):
    with suppress(OutOfTime):
        store.put(key, b"")

def handler(event, context):
    store = open_store(Settings(s3_bucket_name="bucket"))
    store.put("before", b"")
    written = threading.Event()
    with every(lambda: store.put("beside", b"") and written.set(), 0.01):
        written.wait(5)
    time.sleep(event["seconds"])
    try:
        with every(lambda: attempt(store, "late-beside"), 0.01):
            time.sleep(0.05)
            store.put("late", b"")
    finally:
        open(event["end"], "w").close()
"""


@pytest.fixture
def store(tmp_path):
    store = FileStore(tmp_path / "store")
    store.create_bucket(Bucket="bucket")
    return store


@pytest.fixture
def make_pool(tmp_path, store, monkeypatch):
    """Builds a pool for a function whose module is given as text."""
    context = invocations.context(Host(lambda *_: ({}, False), lambda *_: None, invocations.check_time, store))
    with ExitStack() as stack:

        def make(source: str, name: str = "TestFunction", limit: int = 4, **settings) -> FunctionPool:
            # What pytest itself captures is another stream in each phase of a test.
            monkeypatch.setattr(sys, "stdout", Output(sys.stdout, "INFO"))
            monkeypatch.setattr(sys, "stderr", Output(sys.stderr, "ERROR"))
            root = logging.getLogger()
            monkeypatch.setattr(root, "handlers", [RootHandler(root.handlers)])
            pool = build_pool(tmp_path, source, name, limit, context=context, **settings)
            stack.callback(pool.close)
            return pool

        yield make


def invoke(pool, event, **options):
    return pool.submit(json.dumps(event).encode(), **options).result(30)


def run(pool, **event):
    return json.loads(invoke(pool, event).payload)


def test_as_many_invocations_run_at_once_as_there_are_places(make_pool):
    pool = make_pool(SEVERAL, limit=2)
    assert run(pool, do="count")["calls"] == 1
    futures = [pool.submit(b'{"do": "sleep", "seconds": 0.1}') for _ in range(6)]
    threads = {json.loads(future.result(30).payload)["thread"] for future in futures}
    assert len(threads) == 2
    assert run(pool, do="count")["calls"] == 8


def test_a_function_whose_log_a_full_disk_refuses_answers_and_goes_on(make_pool, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "TestFunction.log").symlink_to("/dev/full")
    pool = make_pool(SEVERAL, limit=1)

    for number in range(3):
        assert run(pool, do="count")["calls"] == 4 * number + 1
        assert run(pool, do="log") is None
        assert invoke(pool, {"do": "raise"}).failed
        assert invoke(pool, {"do": "set"}).failed


def test_a_handler_has_lambdas_context(make_pool):
    found = run(make_pool(SEVERAL, name="CtxFunction"), do="context")
    identity = found.pop("id")
    left = found.pop("left")
    assert found == {
        "name": "ctxfunction",
        "arn": "arn:aws:lambda:us-east-1:123456789012:function:ctxfunction",
        "memory": 256,
    }
    assert len(identity) == 36
    assert 5_000 < left <= 10_000


def test_two_functions_with_the_same_name_of_a_module_are_two(make_pool):
    first, second = make_pool("handler = lambda event, context: 1"), make_pool("handler = lambda event, context: 2")
    assert [invoke(pool, {}).payload for pool in (first, second)] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"do": "raise"}, "ValueError", "no good"),
        ({"do": "exit"}, "SystemExit", "3"),
        ({"do": "set"}, "Runtime.MarshalError", "not JSON serializable"),
        ({}, "KeyError", "do"),
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


def test_an_invocation_that_takes_too_long_is_given_up_and_its_place_is_free(make_pool):
    pool = make_pool(SEVERAL, timeout=1, limit=1)
    outcome = invoke(pool, {"do": "sleep", "seconds": 3})
    details = json.loads(outcome.payload)
    assert (outcome.failed, details["errorType"]) == (True, "Sandbox.Timedout")
    assert "timed out after 1.00 seconds" in details["errorMessage"]
    assert run(pool, do="count")["calls"] == 2


@pytest.mark.parametrize("end", ["its time is over", "the runtime stops"])
def test_nothing_arrives_of_an_invocation_that_goes_on_after_its_end(make_pool, store, tmp_path, end):
    pool = make_pool(WRITER, timeout=3 if end == "its time is over" else 10)
    event = {"seconds": 3.2 if end == "its time is over" else 1, "end": str(tmp_path / "end")}
    future = pool.submit(json.dumps(event).encode())
    if end == "the runtime stops":
        wait_until(lambda: store.list_objects_v2(Bucket="bucket", Prefix="beside")["Contents"])
        pool.close()
    wait_until((tmp_path / "end").exists)
    keys = [item["Key"] for item in store.list_objects_v2(Bucket="bucket")["Contents"]]
    assert keys == ["before", "beside"]
    assert future.exception(1) or future.result(1).failed


def test_a_module_that_cannot_be_imported_is_reported_to_each_request(make_pool):
    pool = make_pool("import no_such_module")
    for _ in range(2):
        outcome = invoke(pool, {})
        assert (outcome.failed, outcome.begun) == (True, False)
        assert "no_such_module" in outcome.describe()


def test_one_module_is_imported_at_a_time(make_pool, monkeypatch):
    monkeypatch.setitem(sys.modules, "imports_at_work", at_work := SimpleNamespace(now=0, most=0))
    pools = [make_pool(IMPORTED, name=f"Imported{number}") for number in range(4)]
    for answer in [pool.submit(b"{}") for pool in pools]:
        assert not answer.result(30).failed
    assert at_work.most == 1


def test_a_module_without_the_handler_is_a_failure(make_pool):
    assert "handler" in invoke(make_pool("x = 1"), {}).describe()


def test_a_thread_takes_the_next_invocation_and_ends_where_none_comes(make_pool, monkeypatch):
    pool = make_pool(SEVERAL)
    assert len({run(pool, do="sleep", seconds=0.01)["thread"] for _ in range(20)}) < 20

    monkeypatch.setattr(pools, "IDLE_SECONDS", 0.01)
    before = set(threading.enumerate())
    barrier = [pool.submit(b'{"do": "sleep", "seconds": 0.1}') for _ in range(3)]
    assert len({json.loads(one.result(20).payload)["thread"] for one in barrier}) == 3
    wait_until(lambda: set(threading.enumerate()) <= before, 20)
    assert run(pool, do="count")["calls"] == 24


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
    assert run(pool, do="count")["calls"] <= 2
    assert not any(future.done() for future in slow)


MEETING = """
import pathlib, threading, time

def handler(event, context):
    room = pathlib.Path(event["room"])
    (room / context.aws_request_id).touch()
    while len(list(room.iterdir())) < event["guests"]:
        time.sleep(0.01)
    return threading.get_ident()
"""


def test_a_function_without_routes_works_on_as_many_events_at_once_as_it_reserves(make_pool, tmp_path):
    (room := tmp_path / "room").mkdir()
    pool = make_pool(MEETING, limit=2, reserved_concurrency=5)
    event = json.dumps({"room": str(room), "guests": 5}).encode()
    futures = [pool.submit(event, asynchronous=True) for _ in range(5)]
    assert len({future.result(30).payload for future in futures}) == 5


def test_asynchronous_events_are_worked_on_in_the_order_of_their_arrival(make_pool, tmp_path):
    pool = make_pool(COUNTING, reserved_concurrency=1)
    event = json.dumps({"log": str(tmp_path / "attempts"), "good_at": 0}).encode()
    futures = [pool.submit(event, asynchronous=True, request_id=str(number)) for number in range(20)]
    assert not any(future.result(30).failed for future in futures)
    assert (tmp_path / "attempts").read_text().split() == [str(number) for number in range(20)]


def test_a_request_that_nobody_waits_for_any_more_does_not_run(make_pool):
    pool = make_pool(SEVERAL, limit=1)
    blocking = pool.submit(b'{"do": "sleep", "seconds": 0.5}')
    dropped = pool.submit(b'{"do": "count"}')
    assert dropped.cancel()
    assert not blocking.result(30).failed
    assert run(pool, do="count")["calls"] == 2
    with pytest.raises(CancelledError):
        dropped.result()


def test_closing_a_pool_answers_who_waits(make_pool):
    pool = make_pool(SEVERAL, limit=1)
    running, waiting = (pool.submit(b'{"do": "sleep", "seconds": 2}') for _ in range(2))
    pool.close()
    for future in (running, waiting, pool.submit(b"{}")):
        with pytest.raises(PoolClosedError):
            future.result(10)


REMEMBERING = """
import threading

seen, asked = set(), threading.Event()

def handler(event, context):
    if event:
        asked.wait(30)
        seen.add(event["number"])
    number = len(seen)
    asked.set()
    return number
"""

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
        return AsyncQueue(pools, tmp_path / "queue", tmp_path / "dead", Deadlines().after, (0.01, 0.02))

    return make


def leave(root, entry):
    """What an earlier runtime has not finished."""
    (root / "queue").mkdir(exist_ok=True)
    (root / "queue" / f"{entry['request_id']}.json").write_text(json.dumps(entry))


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


def test_hundreds_of_events_that_wait_at_the_start_are_all_done_and_shut_no_request_out(
    make_pool, make_queue, tmp_path
):
    for number in range(300):
        leave(tmp_path, {"function": "TestFunction", "request_id": str(number), "event": {"number": number}})
    pool = make_pool(REMEMBERING, limit=2, routes=(Route("GET", "/x"),))
    assert make_queue(pool).start() == 300

    assert json.loads(pool.submit(b"{}").result(30).payload) == 0
    wait_until(lambda: not any((tmp_path / "queue").iterdir()), 60)
    assert json.loads(pool.submit(b"{}").result(30).payload) == 300


def test_work_for_a_function_that_is_gone_becomes_a_dead_letter(make_pool, make_queue, tmp_path):
    leave(tmp_path, {"function": "Gone", "request_id": "r", "accepted_at": "", "event": {}})
    make_queue(make_pool(ECHO)).start()
    wait_until((tmp_path / "dead/Gone/r.json").exists)


SLOW_MODULE = """
import pathlib, time

folder = pathlib.Path(__file__).parent
(folder / "begun").touch()
while not (folder / "go").exists():
    time.sleep(0.01)

def handler(event, context):
    (folder / "called").touch()
"""


def test_what_still_loads_its_module_when_the_pool_is_closed_does_not_begin(make_pool):
    pool = make_pool(SLOW_MODULE, name="Loading")
    future = pool.submit(b"{}")
    folder = pool.function.code
    wait_until((folder / "begun").exists)
    pool.close()
    (folder / "go").touch()
    with pytest.raises(PoolClosedError):
        future.result(10)
    assert callable(pool.load())
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == pool.function.name])
    assert not (folder / "called").exists()


def test_an_invocation_that_has_ended_is_not_kept_until_its_deadline(make_pool):
    pool = make_pool(ECHO)
    for _ in range(5):
        assert not invoke(pool, {"a": 1}).failed
    assert [entry[2] for entry in pool._deadlines._due] == [None] * 5


def test_an_invocation_that_gets_no_thread_fails_and_leaves_its_place(make_pool, monkeypatch):
    pool = make_pool(ECHO, limit=1)

    def refuse(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        outcome = invoke(pool, {})
    assert (outcome.failed, outcome.begun) == (True, False), "an event comes again"
    assert json.loads(invoke(pool, {"a": 1}).payload) == {"a": 1}


def test_a_call_that_fails_at_its_moment_keeps_no_later_one_from_its_own():
    deadlines, called = Deadlines(), threading.Event()
    deadlines.after(0, lambda: 1 / 0)
    deadlines.after(0.01, called.set)
    assert called.wait(30)

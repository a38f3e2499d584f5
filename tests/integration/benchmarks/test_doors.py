"""The doors of the benchmark break what passes through in the ways that they say, and write it down."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections import deque

import pytest

from benchmarks.chaos import peers
from benchmarks.chaos.door import Answer, Call, Door
from benchmarks.chaos.events_door import EventsDoor
from benchmarks.chaos.logs import Log
from benchmarks.chaos.mischief import Fault
from benchmarks.chaos.peers import Worker
from benchmarks.chaos.store_door import StoreDoor

RUN = "01HZZZZZZZ0000000000000001"
WORKER = Worker(2**22 + 1, "Consolidate")
"""A process number that Linux gives nobody."""


class Peers(peers.Peers):
    def __init__(self) -> None:
        pass

    def find(self, port: int, door: int) -> Worker:
        return WORKER

    def forget(self, port: int, door: int) -> None:
        pass


class Script:
    """Faults in the order in which they are wanted."""

    def __init__(self) -> None:
        self.faults: deque[Fault | None] = deque()
        self.chances: deque[bool] = deque()

    def choose(self, call: Call, worker: Worker) -> Fault | None:
        return self.faults.popleft() if self.faults else None

    def chance(self, part: float) -> bool:
        return self.chances.popleft() if self.chances else False

    def seconds(self, mean: float, most: float = 0) -> float:
        return 0.01


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def behind():
    """What is behind the door, and what has come there."""
    came: list[Call] = []
    door = Door(lambda call: came.append(call) or Answer(200, (("ETag", '"e"'),), b"done"))
    door.open()
    yield door, came
    door.close()


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "log.jsonl", time.monotonic())


@pytest.fixture
def queued():
    return []


@pytest.fixture
def proxy(behind, script, log, queued):
    door = StoreDoor(f"127.0.0.1:{behind[0].port}", Peers(), script, log, queued.append)
    door.door.open()
    yield door
    door.door.close()


def put(door: Door, path: str = f"/b/s/_runs/{RUN}.json", body: bytes = b"{}") -> int | None:
    """The status of a request; None if the connection was reset."""
    request = urllib.request.Request(f"{door.url}{path}", body, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def lines(log: Log) -> list[dict]:
    log.flush()
    return [json.loads(line) for line in log.path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("fault", "told", "done"),
    [
        (None, 200, 1),
        (Fault("reset"), None, 0),
        (Fault("503"), 503, 0),
        (Fault("answer lost"), None, 1),
        (Fault("500 though done"), 500, 1),
        (Fault("slow", 0.01), 200, 1),
        (Fault("slow answer", 0.01), 200, 1),
        (Fault("kill before"), None, 0),
        (Fault("kill after"), None, 1),
    ],
)
def test_a_request_is_broken_as_the_fault_says(proxy, behind, script, log, fault, told, done):
    script.faults.append(fault)
    assert put(proxy.door) == told
    assert len(behind[1]) == done
    entry = lines(log)[-1]
    assert (entry["verb"], entry["key"], entry.get("fault")) == ("PUT", f"s/_runs/{RUN}.json", fault and fault.kind)
    assert (RUN in proxy.hit) == (fault is not None)


def test_a_late_request_is_done_once_after_its_sender_was_told_that_it_failed(proxy, behind, script, log):
    script.faults.append(Fault("late", 0.2))
    assert put(proxy.door) is None
    assert (len(behind[1]), proxy.outstanding()) == (0, 1)
    pause = threading.Event()
    for _ in range(200):
        if not proxy.outstanding():
            break
        pause.wait(0.02)
    assert (len(behind[1]), proxy.outstanding()) == (1, 0)
    assert [entry["fault"] for entry in lines(log)] == ["late", "late, done"]


def test_a_store_that_is_away_is_a_connection_that_breaks(proxy, behind, log):
    behind[0].close()
    assert put(proxy.door) is None
    assert lines(log)[-1]["away"] is True


def test_whoever_doubles_invocations_is_told_of_each_queued_run(proxy, queued):
    run = {"kind": "consolidation", "space_id": "s", "job_id": RUN, "uid": "u", "status": "queued"}
    put(proxy.door, body=json.dumps(run).encode())
    put(proxy.door, body=json.dumps(run | {"status": "running"}).encode())
    del run["status"], run["uid"]
    assert queued == [run]


def test_events_are_lost_and_doubled(behind, script, log):
    events = EventsDoor(f"127.0.0.1:{behind[0].port}", script, log)
    events.door.open()
    script.chances.extend([True])
    assert put(events.door) == 202
    assert (behind[1], events.counts["lost"]) == ([], 1)
    script.chances.extend([False, False, True])
    assert put(events.door) == 200
    pause = threading.Event()
    for _ in range(200):
        if not events.outstanding():
            break
        pause.wait(0.02)
    assert len(behind[1]) == 2
    assert events.counts == {"lost": 1, "doubled": 1, "delivered": 2}
    events.door.close()

"""The doors of the benchmark break what passes through in the ways that they say, and write it down."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from datetime import UTC, datetime

import pytest

from benchmarks.chaos.door import Answer, Call, Door
from benchmarks.chaos.events_door import EventsDoor, Sender
from benchmarks.chaos.logs import Log
from benchmarks.chaos.mischief import Fault
from benchmarks.chaos.runtime import move_clock
from benchmarks.chaos.store_door import StoreDoor
from livemem import clock
from tests.integration.local.support import wait_until

RUN = "01HZZZZZZZ0000000000000001"


class Script:
    """Faults in the order in which they are wanted."""

    def __init__(self) -> None:
        self.faults: deque[Fault | None] = deque()
        self.chances: deque[bool] = deque()

    def choose(self, call: Call) -> Fault | None:
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
def kills():
    return []


@pytest.fixture
def proxy(behind, script, log, queued, kills):
    door = StoreDoor(f"127.0.0.1:{behind[0].port}", script, log, queued.append, lambda: kills.append(1))
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
def test_a_request_is_broken_as_the_fault_says(proxy, behind, script, log, kills, fault, told, done):
    script.faults.append(fault)
    assert put(proxy.door) == told
    assert len(behind[1]) == done
    entry = lines(log)[-1]
    assert (entry["verb"], entry["key"], entry.get("fault")) == ("PUT", f"s/_runs/{RUN}.json", fault and fault.kind)
    assert (RUN in proxy.hit) == (fault is not None)
    assert bool(kills) == (fault is not None and fault.kind.startswith("kill"))


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


def test_whoever_sends_events_is_told_of_each_put_and_of_no_copy_and_no_part(proxy):
    told = []
    proxy.announce = lambda *put: told.append(put)
    put(proxy.door, "/b/space/live/a.md", b"note")
    put(proxy.door, "/b/space/a.bin?uploadId=1&partNumber=1", b"part")
    assert told == [("b", "space/live/a.md")]


def test_an_event_is_sent_until_it_is_taken():
    answers = deque([None, Answer(503), Answer(202)])
    came: list[Call] = []
    door = Door(lambda call: came.append(call) or answers.popleft())
    door.open()
    Sender(f"127.0.0.1:{door.port}").accept("F", b"{}")
    wait_until(lambda: not answers)
    assert {(call.target, call.body) for call in came} == {("/2015-03-31/functions/F/invocations", b"{}")}
    door.close()


def test_each_life_of_the_runtime_has_the_right_time_or_is_off_by_all_of_it_and_so_are_its_ids():
    found = set()
    for _ in range(20):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("datetime", "ULID"):
                patch.setattr(clock, name, getattr(clock, name))  # it is as before then
            move_clock(2.5)
            times, real = (clock.now(), clock.id_time(clock.new_id())), datetime.now(UTC)
            found.add(tuple(round((one - real).total_seconds()) for one in times))
    assert found <= {(0, 0), (150, 150), (-150, -150)}
    assert len(found) > 1

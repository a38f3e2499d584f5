import json
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from local.functions.async_queue import AsyncQueue
from local.functions.invocations import Outcome

GOOD = Outcome(b"null")
RAISED = Outcome(b'{"errorType": "StillAtWork"}', failed=True)
NOT_BEGUN = Outcome(b'{"errorType": "Runtime.Unknown"}', failed=True, begun=False)


class Pool:
    """Answers at once, from a list."""

    def __init__(self, *outcomes: Outcome, retries: int = 2) -> None:
        self.function = SimpleNamespace(retries=retries)
        self.outcomes = list(outcomes)
        self.delivered: list[dict] = []

    def submit(self, event: bytes, *, asynchronous: bool, request_id: str) -> Future:
        assert asynchronous
        self.delivered.append({"event": json.loads(event), "id": request_id})
        done: Future = Future()
        done.set_result(self.outcomes.pop(0))
        return done


@pytest.fixture
def make_queue(tmp_path):
    def make(pool, later=lambda seconds, call: None, **options):
        return AsyncQueue({"F": pool}, tmp_path / "queue", tmp_path / "dead", later, **options)

    return make


@pytest.mark.parametrize(
    ("outcomes", "pauses"),
    [
        ([GOOD], []),
        ([RAISED, RAISED, GOOD], [60, 120]),
        ([NOT_BEGUN, NOT_BEGUN, GOOD], [1, 3]),
        ([NOT_BEGUN, RAISED, GOOD], [1, 120]),
    ],
)
def test_a_failed_attempt_is_repeated_when_lambda_would_and_one_that_never_began_at_once(make_queue, outcomes, pauses):
    pool, waited = Pool(*outcomes), []
    queue = make_queue(pool, later=lambda seconds, call: (waited.append(seconds), call()))
    request_id = queue.accept("F", b'{"a": 1}')
    assert waited == pauses
    assert pool.delivered == [{"event": {"a": 1}, "id": request_id}] * len(outcomes)


def test_the_pauses_can_be_shorter(make_queue):
    waited = []
    queue = make_queue(
        Pool(RAISED, RAISED, GOOD), retry_seconds=(0.1,), later=lambda seconds, call: (waited.append(seconds), call())
    )
    queue.accept("F", b"{}")
    assert waited == [0.1, 0.1]


def test_what_waits_for_its_next_attempt_is_delivered_at_once_after_a_restart(make_queue):
    make_queue(Pool(RAISED)).accept("F", b"{}")
    pool, waited = Pool(GOOD), []
    assert make_queue(pool, later=lambda seconds, call: (waited.append(seconds), call())).start() == 1
    assert (len(pool.delivered), waited) == (1, [0])
    assert make_queue(Pool()).start() == 0


def test_nothing_is_delivered_after_the_queue_was_closed(make_queue):
    waiting = []
    pool = Pool(RAISED)
    queue = make_queue(pool, later=lambda seconds, call: waiting.append(call))
    queue.accept("F", b"{}")
    queue.close()
    waiting[0]()
    assert len(pool.delivered) == 1


def test_what_was_left_is_delivered_in_the_order_of_its_arrival_and_what_cannot_be_read_is_set_aside(
    make_queue, tmp_path, caplog
):
    queue = make_queue(Pool(*[RAISED] * 5))
    ids = [queue.accept("F", b"{}") for _ in range(5)]
    (tmp_path / "queue" / "1.json").write_text("{")
    pool = Pool(*[GOOD] * 5)
    assert make_queue(pool, later=lambda seconds, call: call()).start() == 5
    assert [one["id"] for one in pool.delivered] == ids
    assert [path.name for path in (tmp_path / "queue").iterdir()] == ["1.unreadable"]
    assert "set aside" in caplog.text

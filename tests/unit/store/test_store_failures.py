"""What the storage layer makes of a store that fails, hesitates or ignores the conditions of a write."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from livemem.access.registry import Registry, Token, allow_space
from livemem.bank import corrections
from livemem.errors import ConditionalWritesUnsupported, StoreFull, StoreUnavailable
from livemem.notes import appending, idempotency
from livemem.notes.appending import NoteDraft
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import capability_check, due_keys
from livemem.store.bucket import CAPABILITY_CHECK, TOKENS
from livemem.store.objects import Store
from tests.support.bucket import FakeS3, error
from tests.support.cases import each
from tests.support.counting import CountingClient
from tests.support.world import World
from tests.unit.access.test_access import token
from tests.unit.access.test_registry import limited

BUCKET = "live-memory"
OTHER_ETAG = '"00000000000000000000000000000000"'


def counted(fake: FakeS3) -> tuple[Store, CountingClient, list[float]]:
    client, slept = CountingClient(fake), list[float]()
    return Store(BUCKET, client, client, threads=1, sleep=slept.append), client, slept  # type: ignore[arg-type]


def test_the_probe_is_asked_once_in_a_process():
    store, client, _ = counted(FakeS3())
    capability_check.has_conditional_writes(store)
    asked = len(client.requests)

    capability_check.has_conditional_writes(store)

    assert 2 <= asked == len(client.requests)


def test_a_probe_that_got_no_answer_is_asked_again():
    store, client, _ = counted(FakeS3())
    client.break_at(0, "InternalError", 500, done=False)

    with pytest.raises(StoreUnavailable):
        capability_check.has_conditional_writes(store)
    assert capability_check.has_conditional_writes(store)


FULL = {
    "the embedded store": ("InsufficientStorage", 507),
    "MinIO": ("XMinioStorageFull", 507),
    "Ceph": ("QuotaExceeded", 403),
}


@each(("code", "status"), [*FULL.values(), ("507", 507)], ids=[*FULL, "the status alone"])
def test_a_full_store_is_told_as_such_and_works_again_when_there_is_space(code: str, status: int):
    store, client, _ = counted(FakeS3())
    client.break_at(0, code, status, done=False)

    with pytest.raises(StoreFull, match="disk of the object store is full"):
        store.put("a", b"x")
    store.put("a", b"x")

    client.break_at(len(client.requests), code, status, done=False)
    assert (capability_check.is_full(store), capability_check.is_full(store)) == (True, False)


def test_whether_a_store_is_full_is_asked_without_a_change_of_it():
    store, client, _ = counted(FakeS3())
    capability_check.has_conditional_writes(store)
    before = store.get(CAPABILITY_CHECK)
    client.reset()

    assert not capability_check.is_full(store)

    assert client.counts == {"PUT": 1}
    after = store.get(CAPABILITY_CHECK)
    assert before is not None
    assert after is not None
    assert (after.etag, after.body) == (before.etag, before.body)


@pytest.mark.parametrize("conflicts", [1, 4])
def test_a_conflict_of_two_conditional_writes_is_waited_out(conflicts: int):
    store, client, slept = counted(FakeS3())

    def busy(index: int, verb: str) -> None:
        if index < conflicts:
            raise error("ConditionalRequestConflict", 409, verb)

    client.before = busy
    store.put("a", b"x", if_none_match=True)

    found = store.get("a")
    assert found is not None
    assert found.body == b"x"
    assert slept == [0.05, 0.1, 0.2, 0.4][:conflicts]


def test_a_conflict_that_does_not_end_is_a_failure_after_five_tries():
    store, client, slept = counted(FakeS3())

    def busy(index: int, verb: str) -> None:
        raise error("ConditionalRequestConflict", 409, verb)

    client.before = busy
    with pytest.raises(StoreUnavailable):
        store.put("a", b"x", if_none_match=True)

    assert (len(client.requests), len(slept)) == (5, 4)


@each("code", ["InternalError", "SlowDown", "AccessDenied", "RequestTimeout", "InvalidRequest"])
@each(
    "ask",
    [
        lambda store: store.get("secret-key"),
        lambda store: store.get_if_changed("secret-key", OTHER_ETAG),
        lambda store: store.put("secret-key", b""),
        lambda store: store.put("secret-key", b"", if_match=OTHER_ETAG),
        lambda store: store.delete("secret-key"),
        lambda store: store.delete_many(["secret-key"]),
        lambda store: list(store.scan("secret-key")),
        lambda store: list(store.folders()),
    ],
    ids=["get", "get_if_changed", "put", "put_if", "delete", "delete_many", "scan", "folders"],
)
def test_any_other_error_is_a_failure_that_repeats_nothing_of_the_store(ask: Callable[[Store], Any], code: str):
    store, client, _ = counted(FakeS3())
    client.break_at(0, code, 503, done=False)

    with pytest.raises(StoreUnavailable) as failed:
        ask(store)

    assert code not in failed.value.detail
    assert "secret-key" not in failed.value.detail
    assert len(client.requests) == 1


class StubbornS3(FakeS3):
    """Deletes some objects only, and says so as S3 does: with status 200."""

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:
        return {"Errors": [{"Key": Delete["Objects"][0]["Key"], "Code": "InternalError"}]}


def test_an_object_that_could_not_be_deleted_is_a_failure():
    store, _, _ = counted(StubbornS3())

    with pytest.raises(StoreUnavailable):
        store.delete_many(["a", "b"])


def test_work_in_parallel_keeps_the_order_and_raises_the_first_error():
    store = Store(BUCKET, FakeS3(), FakeS3(), threads=4)  # type: ignore[arg-type]
    together = threading.Barrier(4, timeout=10)

    def meet(number: int) -> int:
        # Comes back only if four of them run at once.
        together.wait()
        return number * 2

    assert store.map(meet, range(8)) == [number * 2 for number in range(8)]
    with pytest.raises(ZeroDivisionError):
        store.map(lambda number: 1 // number, [1, 0, 2])
    assert store.map(meet, []) == []


class NoIfNoneMatch(FakeS3):
    def put_object(self, **arguments: Any) -> dict[str, Any]:
        return super().put_object(**{name: value for name, value in arguments.items() if name != "IfNoneMatch"})


class NoIfMatch(FakeS3):
    def put_object(self, **arguments: Any) -> dict[str, Any]:
        return super().put_object(**{name: value for name, value in arguments.items() if name != "IfMatch"})


class NoConditions(NoIfNoneMatch, NoIfMatch):
    pass


IGNORING = [NoIfNoneMatch, NoIfMatch, NoConditions]
ADMIN_TOKEN = Token(hash=token().hash, name="ann", permissions=["read", "write"], space_ids=["demo"])


def with_a_run_queued() -> World:
    """A service on a good store: a token, a bank of one consolidation, and a run that is queued."""
    world = World()
    world.create_space(threshold=2)
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=Registry(tokens=[ADMIN_TOKEN]).to_bytes())
    world.note("one")
    world.consolidate()
    world.note("two")
    world.note("three")
    world.order()
    return world


NEEDING: dict[str, Callable[[World], Any]] = {
    "create a space": lambda world: world.create_space("new"),
    "change a space": lambda world: heads.patch(world.process, "demo", description="new"),
    "delete a space": lambda world: lifecycle.delete(world.process, "demo", "demo"),
    "append a note": lambda world: world.note("new"),
    "append a batch": lambda world: appending.append_batch(world.process, "demo", "ann", [NoteDraft("todo", "x")] * 2),
    "append once": lambda world: idempotency.append_once(world.process, "demo", "ann", NoteDraft("todo", "x"), "key"),
    "start at the threshold": lambda world: world.count(),
    "consolidate": lambda world: world.work(),
    "write a file": lambda world: corrections.write_file(world.process, "admin", "demo", "log.md", "# New\n", None),
    "delete a file": lambda world: corrections.delete_file(world.process, "admin", "demo", "log.md", None),
    "undo": lambda world: world.undo(1),
    "sweep": lambda world: world.sweep(),
    "give a token a space": lambda world: allow_space(world.process, limited("ann", "demo"), "new"),
}


@each("kind", IGNORING)
@each("act", NEEDING.values(), ids=NEEDING)
def test_a_store_that_ignores_conditions_is_never_written_to_unprotected(
    act: Callable[[World], Any], kind: type[FakeS3]
):
    world = with_a_run_queued()
    ignoring = kind(world.clock)
    ignoring.objects = world.inner.objects
    world.process = world.with_parts(store=Store(BUCKET, ignoring, ignoring, threads=1))  # type: ignore[arg-type]
    before = dict(ignoring.objects)

    with pytest.raises(ConditionalWritesUnsupported) as refused:
        act(world)

    assert (refused.value.status, refused.value.code) == (503, "conditional_writes_unsupported")
    # An entry of the due index overwrites nobody's.
    free = (CAPABILITY_CHECK, due_keys.DUE)
    assert {key: stored for key, stored in ignoring.objects.items() if not key.startswith(free)} == {
        key: stored for key, stored in before.items() if not key.startswith(free)
    }
    assert len(world.llm.prompts) == 1

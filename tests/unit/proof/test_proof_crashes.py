"""Whatever request an operation dies at or that fails: after recovery no note is lost, none is folded twice, no LLM
call is repeated after its commit, the bank is what the records say, and nothing is left behind."""

import pytest

from tests.support import crash
from tests.support.crash import ERRORS, KILLS, OPERATIONS, RECOVERIES, Fault, Operation


def name(item: Operation | Fault) -> str:
    return item.name


# One after the other, since they begin with the same.
@pytest.mark.parametrize("recover", [recover for _, recover in RECOVERIES], ids=[label for label, _ in RECOVERIES])
@pytest.mark.parametrize("operation", OPERATIONS, ids=name)
@pytest.mark.parametrize("fault", KILLS, ids=name)
def test_an_operation_killed_at_any_request_keeps_the_promise(operation, fault, recover):
    for point in range(crash.requests_of(operation)):
        found, repeated_calls = crash.crash(operation, fault, recover, point)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=name)
@pytest.mark.parametrize("fault", ERRORS, ids=name)
def test_an_operation_whose_requests_fail_one_by_one_keeps_the_promise(operation, fault):
    for point in range(crash.requests_of(operation)):
        found, repeated_calls = crash.crash(operation, fault, crash.retry, point)
        assert found.clean(), f"request {point}: {found}"
        assert repeated_calls == 0, f"request {point}"


def test_the_audit_notices_a_lost_note_and_one_folded_twice():
    world = crash.World()
    world.create_space(crash.SPACE, threshold=3)
    lost = [world.note(f"n{index}") for index in range(3)]
    world.consolidate()
    objects = world.inner.objects
    (record_key,) = [key for key in objects if "/_consolidations/" in key]
    twin = record_key.replace("000001_", "000002_")
    objects[twin] = objects[record_key]
    found = crash.audit(objects, crash.SPACE, [*(note.note_id for note in lost), "20990101T000000_x_todo_00000000"])
    assert found.lost == ["20990101T000000_x_todo_00000000"]
    assert found.folded_twice == sorted(note.note_id for note in lost)

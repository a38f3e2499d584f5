"""Exports and imports that are killed or broken at any request: an archive is whole or not there, and so is a space."""

import pytest

from livemem.archives import packing
from tests.support import crash_archives as crashes
from tests.support.cases import each
from tests.support.crash import ERRORS, KILLS, Fault

FAULTS = [*KILLS, *(fault for fault in ERRORS if fault.done or fault.code == "PreconditionFailed")]
"""The others differ from these in the answer alone."""
EXPORTS = [
    # The way to its backup is that of every backup.
    (operation, fault)
    for operation in crashes.EXPORTS
    for fault in (KILLS if operation.name == "export" else FAULTS)
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(packing, "PART_BYTES", crashes.PART)
    # Fast is all that counts here.
    monkeypatch.setattr(packing, "LEVEL", 1)


def by_name(value: object) -> str:
    return getattr(value, "name", "")


@pytest.mark.slow
@each(("operation", "fault"), EXPORTS, ids=by_name)
def test_whoever_asks_again_gets_the_whole_archive(operation: crashes.Operation, fault: Fault):
    _, (whole, _) = crashes.expected(operation)
    assert len(whole) == 1
    for point in crashes.points(operation, fault):
        world, _ = crashes.crash(operation, fault, point)
        archives, _ = crashes.found(world)
        # One of another second is of another backup.
        assert all(crashes.contents(body) == crashes.contents(whole[0]) for body in archives), point
        # Who takes a new backup may find the document of a run, or the head, changed.
        again = crashes.repeat_export(world, operation)
        assert crashes.contents(again).keys() == crashes.contents(whole[0]).keys(), point
        assert again in whole or operation.name == "export", point
        crashes.forget(world)
        assert world.keys("_exports/") == [], point
        assert not world.inner.uploads, point


@each("fault", KILLS, ids=by_name)
@each("operation", crashes.EXPORTS[1:], ids=by_name)
def test_what_nobody_asks_for_again_is_gone_after_a_day(operation: crashes.Operation, fault: Fault):
    for point in crashes.points(operation, fault):
        world, _ = crashes.crash(operation, fault, point)
        crashes.forget(world)
        assert world.keys("_exports/") == [], point
        assert not world.inner.uploads, point


@pytest.mark.slow
@each("fault", FAULTS, ids=by_name)
@each("operation", crashes.IMPORTS, ids=by_name)
def test_an_imported_space_is_seen_when_it_is_whole_and_the_next_try_brings_it(
    operation: crashes.Operation, fault: Fault
):
    for point in crashes.points(operation, fault):
        world, failed = crashes.crash(operation, fault, point)
        there = crashes.check_hidden_or_whole(world, operation)
        assert failed or there or operation.works, point
        crashes.repeat_import(world, operation)
        assert crashes.check_hidden_or_whole(world, operation), point
        crashes.forget(world)
        assert world.keys("_uploads/") == [], point

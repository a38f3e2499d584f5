"""A change of a space's settings: who may make it, and the run that it makes due."""

from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.consolidation import space_change
from livemem.consolidation.space_change import Changed, SpaceUpdate
from livemem.errors import Forbidden, InvalidRequest, StoreUnavailable
from livemem.spaces import head as heads
from tests.support.cases import each
from tests.support.world import EVERYONE, World

AGENT = Principal("ann", frozenset(("read", "write")), frozenset())


def change(world: World, principal: Principal = AGENT, **wanted: object) -> Changed:
    return space_change.change(world.process, principal, "demo", SpaceUpdate(**wanted))  # type: ignore[arg-type]


def space_with_notes(count: int, threshold: int) -> World:
    world = World()
    world.create_space(threshold=threshold)
    for number in range(count):
        world.note(f"note {number}")
    return world


def undone_space() -> World:
    world = space_with_notes(2, threshold=2)
    world.consolidate()
    world.undo(1)
    return world


def test_a_patch_that_resumes_a_paused_space_starts_its_run_at_once():
    world = undone_space()

    changed = change(world, auto_paused=False)

    assert [item["job_id"] for item in world.queued] == [changed.started_run]
    world.settle()
    assert world.live_ids() == []


@each(("before", "after", "started"), [(3, 2, True), (0, 2, True), (0, 3, False), (3, 0, False)])
def test_a_patch_of_the_threshold_starts_a_run_that_it_makes_due(before: int, after: int, started: bool):
    world = space_with_notes(2, threshold=before)

    assert (change(world, threshold=after).started_run is not None) is started
    assert len(world.queued) == started


@pytest.mark.parametrize("wanted", [{"auto_paused": True}, {"threshold": 1}, {"description": "x"}])
def test_a_patch_that_makes_nothing_due_starts_nothing(wanted: dict[str, Any]):
    world = undone_space()

    assert change(world, **wanted).started_run is None
    assert not world.queued


def test_a_patch_of_anything_else_does_not_count_notes():
    world = space_with_notes(2, threshold=2)
    world.new_process()

    assert change(world, description="x").started_run is None
    assert world.client.counts == {"GET": 1, "PUT": 1}


def test_a_patch_while_a_run_is_under_way_starts_no_second_one():
    world = space_with_notes(2, threshold=2)
    assert world.count().result == "started"

    assert change(world, threshold=1).started_run is None
    assert len(world.queued) == 1


def test_a_patch_stands_although_its_run_can_not_be_started_and_the_sweep_starts_it():
    world = undone_space()

    def fail(function: str, payload: object) -> None:
        raise StoreUnavailable("The function service does not answer.")

    process = world.with_parts(enqueue=fail)
    changed = space_change.change(process, AGENT, "demo", SpaceUpdate(auto_paused=False))

    assert (changed.meta.auto_paused, changed.started_run) == (False, None)
    assert world.sweep().did("started") == ["demo"]


def test_only_an_admin_says_who_may_correct():
    world = space_with_notes(0, threshold=0)

    with pytest.raises(Forbidden):
        change(world, corrections="write")
    with pytest.raises(Forbidden):
        change(world, corrections="admin")
    assert heads.load(world.process, "demo").meta.rev == 1

    assert change(world, EVERYONE, corrections="write").meta.corrections == "write"


@each("tag", ["fr", "pt-BR", "zh-Hans-CN", "es-419", "a" * 8 + "-abcdefgh" * 3])
def test_a_language_is_kept_until_it_is_taken_back(tag: str):
    world = space_with_notes(0, threshold=0)

    assert change(world, language=tag).meta.language == tag
    assert change(world, description="x").meta.language == tag
    assert change(world, language=None).meta.language is None


@each("tag", ["", "f", "French please", "fr_FR", "fr-", "-fr", "fr\n", "é", "a-" * 20, "ab-" * 12 + "c"])
def test_what_is_no_language_is_refused_before_anything_is_read(tag: str):
    world = space_with_notes(0, threshold=0)
    world.new_process()

    with pytest.raises(InvalidRequest) as refused:
        change(world, language=tag)

    assert [field.field for field in refused.value.fields] == ["language"]
    assert world.client.counts == {}

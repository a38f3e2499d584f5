"""Creation of a space: checked before anything is written, safe to repeat, one winner of a race."""

from typing import Any

import pytest

from livemem.errors import (
    Conflict,
    InvalidName,
    InvalidRequest,
    LiveMemoryError,
    SpaceExists,
    StoreUnavailable,
    TooLarge,
)
from livemem.spaces import head as heads
from livemem.spaces import lifecycle, rules
from livemem.spaces.lifecycle import SpaceRequest
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import EVERYONE, World

LATER = lifecycle.TOMBSTONE_LIFE.total_seconds()


def create(world: World, **changes: Any) -> heads.Meta:
    wanted: dict[str, Any] = {
        "space_id": "demo",
        "description": "What it is for",
        "rules": "Keep a log.",
        "threshold": 30,
    }
    return lifecycle.create(world.process, EVERYONE, SpaceRequest(**(wanted | changes)))


def test_a_new_space_has_the_documented_objects_and_costs_a_get_and_four_puts():
    world = World()

    meta = create(world, owner="ann")

    assert world.client.counts == {"GET": 1, "PUT": 4}
    assert [key for key in world.keys("") if not key.startswith("_system/")] == [
        "demo/_meta.json", "demo/_rules.md", "demo/bank/.keep", "demo/live/.keep",
    ]  # fmt: skip
    assert world.text("demo/_rules.md") == "Keep a log."
    assert heads.load(world.process, "demo").meta == meta
    assert meta.model_dump() == {
        "space_id": "demo",
        "description": "What it is for",
        "owner": "ann",
        "created_at": "2026-02-20T14:00:00Z",
        "last_consolidation": None,
        "consolidation_count": 0,
        "total_notes_processed": 0,
        "version": 1,
        "layout": 2,
        "rev": 1,
        "write_id": meta.write_id,
        "uid": meta.uid,
        "consolidation_threshold": 30,
        "auto_paused": False,
        "timezone": None,
        "corrections": "admin",
        "language": None,
        "changes": 0,
        "rules_changed_at": None,
        "undone": [],
        "committed_run": None,
        "last_run": None,
        "folded_until": "",
        "late_duplicates": [],
        "late_write_repair": None,
        "runs_seen": None,
        "prompt_cut": False,
        "oversized_notes": {"beside": 0, "needs": {}},
        "left_out": [],
        "pause_reason": None,
        "provisioning": None,
        "erasing": None,
        "review": None,
        "consolidation_mode": "auto",
        "bank_chars": 10_000,
        "bank_length": 0,
        "tidied": None,
        "tidy_paused": False,
        "capture_allowed": True,
        "agent_folds": False,
        "recall": True,
        "repository": None,
        "has_conversations": False,
        "deleted_at": None,
    }


@each("template", rules.TEMPLATES)
def test_a_template_gives_the_rules(template: str):
    world = World()

    create(world, rules=None, rules_template=template)

    assert world.text("demo/_rules.md") == rules.template(template)
    assert len(rules.template(template)) > 500


@each("text", ["journal", " Standard\n", "JOURNAL"])
def test_a_templates_name_as_rules_is_refused_with_the_field_that_takes_it(text: str):
    world = World()

    with pytest.raises(InvalidRequest) as refused:
        create(world, rules=text)

    (field,) = refused.value.fields
    assert field.field == "rules"
    assert "rules_template" in field.message
    assert world.client.counts == {}


def test_a_space_keeps_its_rules_when_a_newer_version_has_another_template(monkeypatch: pytest.MonkeyPatch):
    world = World()
    create(world, rules=None)
    before = world.text("demo/_rules.md")

    monkeypatch.setattr(rules, "template", lambda name: "# Rules: another\n")

    assert rules.read(world.process, "demo") == before
    assert before.startswith("# Rules: standard\n")


def test_without_rules_the_standard_template_is_taken():
    world = World()

    create(world, rules=None)

    assert world.text("demo/_rules.md") == rules.template("standard")


@each(
    ("changes", "error", "field"),
    [
        ({"space_id": ""}, InvalidName, "space_id"),
        ({"space_id": "_system"}, InvalidName, "space_id"),
        ({"space_id": "a/b"}, InvalidName, "space_id"),
        ({"space_id": "a" * 65}, InvalidName, "space_id"),
        ({"description": "x" * 501}, TooLarge, "description"),
        ({"description": "é" * 251}, TooLarge, "description"),
        ({"owner": "x" * 201}, TooLarge, "owner"),
        ({"owner": " "}, InvalidRequest, "owner"),
        ({"rules": ""}, InvalidRequest, "rules"),
        ({"rules": " \n"}, InvalidRequest, "rules"),
        ({"rules": "x" * 50_001}, TooLarge, "rules"),
        ({"rules": "half \ud83d"}, InvalidRequest, "rules"),
        ({"rules": None, "rules_template": "unknown"}, InvalidRequest, "rules_template"),
        ({"rules": None, "rules_template": "../rules"}, InvalidRequest, "rules_template"),
        ({"rules_template": "journal"}, InvalidRequest, "rules_template"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(changes: dict[str, Any], error: type[Exception], field: str):
    world = World()

    with pytest.raises(error) as refused:
        create(world, **changes)

    named = [refused.value.field] if isinstance(refused.value, InvalidName) else [
        found.field for found in getattr(refused.value, "fields", [])
    ]  # fmt: skip
    assert named == [field]
    assert world.client.counts == {}


@pytest.mark.parametrize("size", [1, 50_000])
def test_rules_up_to_their_limit_are_taken(size: int):
    world = World()

    create(world, rules="x" * size, description="d" * 500, owner="o" * 200)

    assert len(world.text("demo/_rules.md")) == size


@pytest.mark.parametrize("text", ["Keep a log.", "Other rules."])
def test_an_existing_space_is_not_created_again_and_stays_as_it_is(text: str):
    world = World()
    create(world)
    world.note("a note")
    before = dict(world.inner.objects)

    with pytest.raises(SpaceExists):
        create(world, rules=text)

    assert world.inner.objects == before


REQUESTS = 5


@each("done", [False, True])
@each("point", range(REQUESTS))
def test_a_creation_that_died_at_any_request_is_completed_by_its_repetition(point: int, done: bool):
    world = World()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        create(world)
    world.new_process()

    if done and point == REQUESTS - 1:
        with pytest.raises(SpaceExists):
            create(world)
    else:
        assert create(world).space_id == "demo"

    assert heads.load(world.process, "demo").meta.rev == 1
    assert len(world.keys("demo/")) == 4
    world.note("a note")
    assert world.consolidate().state == "done"


@pytest.mark.parametrize("point", [1, 4])
def test_a_conditional_write_that_happened_but_was_answered_with_412_is_a_success(point: int):
    world = World()
    world.client.break_at(point, "PreconditionFailed", 412, done=True)

    meta = create(world)

    assert heads.load(world.process, "demo").meta == meta


@each("point", range(REQUESTS))
def test_an_error_of_the_store_is_told_and_a_repetition_creates_the_space(point: int):
    world = World()
    world.client.break_at(point, "InternalError", 500, done=False)

    with pytest.raises(StoreUnavailable):
        create(world)

    assert heads.find(world.process, "demo") is None
    world.new_process()
    meta = create(world)
    assert heads.load(world.process, "demo").meta == meta
    assert len(world.keys("demo/")) == 4


@each("point", range(1, REQUESTS - 1))
def test_other_rules_wait_until_the_interrupted_creation_is_surely_dead(point: int):
    world = World()
    world.client.kill_at(point, done=True)
    with pytest.raises(Killed):
        create(world)
    world.new_process()

    with pytest.raises(Conflict):
        create(world, rules="Other rules.")

    world.clock.move(LATER)
    create(world, rules="Other rules.")
    assert world.text("demo/_rules.md") == "Other rules."


def test_of_two_creations_at_once_with_different_rules_one_wins_and_its_rules_stand():
    world = World()
    refused: list[Exception] = []

    def other_creation(index: int, verb: str) -> None:
        # Once, when the first one has claimed the rules.
        if verb != "PUT":
            return
        world.client.after = lambda index, verb: None
        try:
            create(world, rules="Other rules.", owner="eve")
        except LiveMemoryError as error:
            refused.append(error)

    world.client.after = other_creation
    meta = create(world, owner="ann")

    assert isinstance(refused[0], Conflict)
    assert heads.load(world.process, "demo").meta == meta
    assert (meta.owner, world.text("demo/_rules.md")) == ("ann", "Keep a log.")


@each("point", range(1, REQUESTS))
def test_of_two_creations_at_once_with_the_same_rules_exactly_one_succeeds(point: int):
    world = World()
    outcomes: list[str] = []

    def other_creation(index: int, verb: str) -> None:
        if index == point:
            world.client.after = lambda index, verb: None
            try:
                outcomes.append(create(world, owner="eve").uid)
            except LiveMemoryError as error:
                outcomes.append(error.code)

    world.client.after = other_creation
    try:
        outcomes.append(create(world, owner="ann").uid)
    except LiveMemoryError as error:
        outcomes.append(error.code)

    winner = heads.load(world.process, "demo").meta.uid
    assert sorted(outcomes) == sorted(["space_exists", winner])


def test_a_creation_over_the_remains_of_another_space_is_refused_and_removes_nothing():
    world = World()
    create(world)
    world.note("an old note")
    world.consolidate()
    world.note("another old note")
    world.inner.delete_object(Bucket="b", Key="demo/_meta.json")
    world.clock.move(LATER)

    before = dict(world.inner.objects)

    with pytest.raises(Conflict, match="orphans of another space"):
        create(world, rules="New rules.")

    assert world.inner.objects == before


def test_a_space_of_the_same_name_gets_a_new_uid():
    world = World()
    first = create(world)
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(LATER)

    assert create(world).uid != first.uid

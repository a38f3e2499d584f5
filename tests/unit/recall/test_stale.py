"""What nobody has confirmed for long is listed; who says it again takes it off the list."""

import json

import pytest

from livemem.bank import corrections
from livemem.errors import InvalidRequest, NotFound
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import stale
from tests.support.world import World

DAY = 86_400


def fold(world: World, said: str, **edit: str) -> None:
    world.note(said)
    file = {"filename": "log.md", "action": "created", "content": "# Log\n\n## A\n\n- a\n\n## B\n\n- b\n", "notes": [1]}
    if edit:
        file = {"filename": "log.md", "action": "edited", "edits": [{**edit, "notes": [1]}]}
    world.llm.queue.append(json.dumps({"bank_files": [file], "synthesis": "x"}))
    world.consolidate()


def listed(world: World, days: int = 90, **more: int) -> list[str]:
    return [one.id for one in stale.stale(world.process, "demo", days=days, **more).items]


@pytest.fixture
def world() -> World:
    """A space with two sections and a fact, which are a hundred days old."""
    found = World()
    found.create_space(rules="Keep a log.")
    fold(found, "a and b")
    storing.store(found.process, "demo", "ann", MemoryDraft("The store is S3."))
    found.clock.move(100 * DAY)
    return found


def memory_of(world: World) -> str:
    return next(one for one in listed(world) if one.startswith("memories/"))


def test_sections_and_memories_are_listed_from_the_day_on_that_is_asked_for(world: World):
    assert sorted(listed(world)) == sorted(["bank/log.md#Log > A", "bank/log.md#Log > B", memory_of(world)])
    assert listed(world, days=101) == []
    found = stale.stale(world.process, "demo", limit=1)
    assert (len(found.items), found.count) == (1, 3)
    assert found.items[0].verified_at[:10] == "2026-02-20"


def test_a_note_a_correction_and_a_repeat_confirm(world: World):
    memory = memory_of(world)
    fold(world, "a still", op="append_to_section", heading="## A", content="- a, still")
    assert sorted(listed(world)) == sorted(["bank/log.md#Log > B", memory])

    storing.store(world.process, "demo", "bob", MemoryDraft("The store is S3."))
    assert listed(world) == ["bank/log.md#Log > B"]

    text = world.bank()["log.md"].replace("- b", "- b, as ever")
    corrections.write_file(world.process, "ann", "demo", "log.md", text, None)
    assert listed(world) == []


@pytest.mark.parametrize("wrong", [{"days": 0}, {"days": 3_651}, {"limit": 0}, {"limit": 501}])
def test_what_can_not_be_asked_is_refused_by_name(world: World, wrong: dict[str, int]):
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        stale.stale(world.process, "demo", **wrong)
    with pytest.raises(NotFound):
        stale.stale(world.process, "none")


def test_it_costs_a_look_at_the_head_a_listing_of_each_source_and_each_file_once(world: World):
    process = world.with_parts()
    world.client.reset()
    stale.stale(process, "demo")
    first = dict(world.client.counts)
    world.client.reset()
    stale.stale(process, "demo")
    assert set(first) | set(world.client.counts) == {"GET", "LIST"}
    assert (first["LIST"], world.client.counts["LIST"]) == (7, 4)
    assert world.client.counts["GET"] < first["GET"] <= 6

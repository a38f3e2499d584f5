"""A change of the rules: like a correction of the bank, and the next consolidation is told of it."""

from typing import Any

import pytest

from livemem.bank import corrections, history
from livemem.changes import rules_change as changing
from livemem.changes.rules_change import NewRules
from livemem.errors import Busy, Conflict, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.jobs import lease, places
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.store.bucket import RULES
from tests.support.cases import each
from tests.support.world import World, append_everything

OLD, NEW = "Keep a log.", "Keep a log, newest first."


def space_with_a_bank() -> World:
    world = World()
    world.create_space(rules=OLD)
    world.note("one")
    world.consolidate()
    world.clock.move(86_400)
    return world


def change(world: World, text: str | None = NEW, **rest: str | None) -> str:
    return changing.change(world.process, "bob", "demo", NewRules(text, **rest))[0]


def told(world: World) -> list[str]:
    """For each prompt, the line that tells of changed rules."""
    lines = [prompt[1]["content"].split("\n") for prompt in world.llm.prompts]
    return ["".join(line for line in prompt if line.startswith("The rules were changed")) for prompt in lines]


def fold(world: World, text: str) -> None:
    world.note(text)
    assert world.consolidate().state == "done"


def test_changed_rules_are_read_from_then_on_and_the_old_ones_are_in_the_history():
    world = space_with_a_bank()

    assert change(world, reason="easier to read") == NEW

    assert rules.read(world.process, "demo") == NEW
    found = history.read(world.process, "demo", 2)
    assert (found.summary.kind, found.summary.author, found.summary.trigger) == ("rules", "bob", "api")
    assert found.summary.files == [{"path": "_rules.md", "action": "updated"}]
    (shown,) = found.changes
    assert (shown["path"], shown["reason"]) == ("_rules.md", "easier to read")
    assert "-Keep a log.\n" in shown["diff"]
    assert "+Keep a log, newest first.\n" in shown["diff"]
    head = heads.load(world.process, "demo").meta
    assert (head.changes, head.consolidation_count, head.total_notes_processed) == (2, 1, 1)
    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_template_may_become_the_rules():
    world = space_with_a_bank()

    assert change(world, None, rules_template="journal") == rules.template("journal")

    assert world.text(RULES.key("demo")) == rules.template("journal")


BAD = [
    (NewRules(), InvalidRequest, "rules"),
    (NewRules(" "), InvalidRequest, "rules"),
    (NewRules("Journal "), InvalidRequest, "rules"),
    (NewRules("half \ud83d"), InvalidRequest, "rules"),
    (NewRules("x" * 50_001), TooLarge, "rules"),
    (NewRules(rules_template="none"), InvalidRequest, "rules_template"),
    (NewRules(NEW, "journal"), InvalidRequest, "rules_template"),
    (NewRules(NEW, reason="half \ud83d"), InvalidRequest, "reason"),
    (NewRules(NEW, reason="x" * 501), TooLarge, "reason"),
]


@each(("wanted", "error", "field"), BAD, ids=range(len(BAD)))
def test_bad_rules_are_refused_and_named_before_anything_is_asked(
    wanted: NewRules, error: type[LiveMemoryError], field: str
):
    world = space_with_a_bank()
    world.new_process()

    with pytest.raises(error) as refused:
        changing.change(world.process, "bob", "demo", wanted)

    assert [item.field for item in refused.value.fields] == [field]
    assert world.client.counts == {}


def test_the_same_rules_again_are_refused_and_leave_no_trace():
    world = space_with_a_bank()
    before = {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")}

    with pytest.raises(Conflict):
        change(world, OLD)

    assert {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")} == before


def test_rules_of_a_space_that_is_not_there_can_not_be_changed():
    with pytest.raises(NotFound):
        change(World())


def test_a_change_of_the_rules_waits_for_a_consolidation_that_is_under_way():
    world = space_with_a_bank()

    def change_meanwhile(prompt: dict[str, Any]) -> str:
        with pytest.raises(Busy):
            change(world)
        return append_everything(prompt)

    world.llm.queue.append(change_meanwhile)
    fold(world, "two")

    assert rules.read(world.process, "demo") == OLD


def test_the_next_consolidation_is_told_once_that_the_rules_changed_and_when():
    world = space_with_a_bank()
    change(world)
    assert heads.load(world.process, "demo").meta.rules_changed_at == "2026-02-21T14:00:00Z"
    world.clock.move(86_400)

    fold(world, "two")
    fold(world, "three")

    assert [line[:37] for line in told(world)] == ["", "The rules were changed on 2026-02-21,", ""]
    assert heads.load(world.process, "demo").meta.rules_changed_at is None


def test_a_correction_or_a_failed_run_in_between_does_not_make_it_forgotten():
    world = space_with_a_bank()
    change(world)
    corrections.write_file(world.process, "bob", "demo", "log.md", "# Log\n\n## Log\n\n- One.\n", None)
    world.note("two")
    world.llm.queue.extend(["prose", "prose"])
    assert world.consolidate().state == "failed"

    assert world.consolidate().state == "done"

    assert "2026-02-21" in told(world)[-1]


def test_the_undo_of_a_change_of_the_rules_brings_the_old_ones_back():
    world = space_with_a_bank()
    change(world)

    record = world.undo(2)

    assert (record.kind, record.undoes, record.number) == ("undo", 2, 3)
    assert rules.read(world.process, "demo") == OLD
    assert history.read(world.process, "demo", 2).summary.undone
    assert history.read(world.process, "demo", 3).summary.files == [{"path": "_rules.md", "action": "updated"}]
    head = heads.load(world.process, "demo").meta
    assert (head.changes, head.consolidation_count, head.rules_changed_at, head.auto_paused) == (3, 1, None, False)


def test_the_one_that_comes_after_an_undone_consolidation_is_told_again():
    world = space_with_a_bank()
    change(world)
    fold(world, "two")
    world.undo(3)

    assert world.consolidate().state == "done"

    assert [bool(line) for line in told(world)] == [False, True, True]


def test_after_the_undo_of_one_of_two_changes_the_other_is_still_told():
    world = space_with_a_bank()
    change(world)
    world.clock.move(86_400)
    change(world, "Keep it short.")
    world.undo(3)

    fold(world, "two")

    assert rules.read(world.process, "demo") == NEW
    assert "2026-02-21" in told(world)[-1]


def test_only_as_the_newest_change_can_it_be_undone():
    world = space_with_a_bank()
    change(world)
    fold(world, "two")

    with pytest.raises(Conflict, match="Only the newest change, 3, can be undone"):
        world.undo(2)


def test_rules_that_were_changed_outside_the_service_are_not_overwritten_by_an_undo():
    world = space_with_a_bank()
    change(world)
    world.inner.put_object(Bucket="b", Key=RULES.key("demo"), Body=b"From outside.")

    with pytest.raises(Conflict, match="changed outside"):
        world.undo(2)

    assert rules.read(world.process, "demo") == "From outside."


def test_lost_rules_can_be_given_again_and_that_is_not_undone():
    world = space_with_a_bank()
    world.inner.delete_object(Bucket="b", Key=RULES.key("demo"))

    change(world)

    assert rules.read(world.process, "demo") == NEW
    assert history.read(world.process, "demo", 2).summary.files == [{"path": "_rules.md", "action": "created"}]
    with pytest.raises(Conflict, match="no rules before"):
        world.undo(2)


def test_rules_written_from_outside_between_plan_and_application_are_kept_aside():
    world = space_with_a_bank()

    def from_outside(index: int, verb: str) -> None:
        if world.client.requests[index][1].endswith(".plan.json") and verb == "PUT":
            world.client.after = lambda index, verb: None
            world.inner.put_object(Bucket="b", Key=RULES.key("demo"), Body=b"From outside.")

    world.client.after = from_outside
    change(world)

    assert rules.read(world.process, "demo") == NEW
    (aside,) = [name for name in world.keys("demo/_runs/") if ".displaced/" in name]
    assert world.text(aside) == "From outside."


def test_the_bank_as_it_stood_and_its_sources_know_nothing_of_the_rules():
    world = space_with_a_bank()
    change(world)

    file, cited = history.read_file(world.process, "demo", "log.md", at=None, sources=True)
    assert file.consolidation == 1
    assert cited is not None
    assert [section.corrections for section in cited.sections if section.sources] == [[]]
    assert history.read_file(world.process, "demo", "log.md", at="2", sources=False)[0].content == file.content


def test_a_change_at_the_threshold_starts_the_next_run():
    world = World()
    world.create_space(rules=OLD, threshold=1)
    world.note("one")

    change(world)

    assert len(world.queued) == 1

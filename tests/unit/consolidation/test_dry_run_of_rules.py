"""A dry run can try other rules, and the notes of an earlier change with the bank as it stood before."""

from collections import Counter
from typing import Any

import pytest

from livemem.bank import corrections, history, time_travel
from livemem.changes import records
from livemem.consolidation import dry_run
from livemem.erasure import erasure
from livemem.errors import Conflict, InvalidRequest, NotFound, TooLarge
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.spaces import rules
from livemem.store.bucket import TOTALS
from tests.support.world import EVERYONE, INVOCATION, World, read_prompt

OTHER = "Keep two logs, one by day and one by person."


@pytest.fixture
def world() -> World:
    """Change 1 folds `one`, 2 corrects another file, 3 folds `two`; `three` is live."""
    found = World()
    found.create_space()
    found.note("one")
    found.clock.move(60)
    found.consolidate()
    corrections.write_file(found.process, "bob", "demo", "other.md", "# Other\n\nBy hand.\n", None)
    found.clock.move(86_400)
    found.note("two")
    found.clock.move(60)
    found.consolidate()
    found.clock.move(86_400)
    found.note("three")
    found.clock.move(60)
    found.new_process()
    return found


def order(world: World, **wanted: Any) -> Run:
    return dry_run.order(world.process, EVERYONE, "demo", RunOrder("api", **wanted))


def dry(world: World, **wanted: Any) -> Run:
    order(world, dry_run=True, **wanted)
    ended = world.work(world.queued.pop())
    assert ended is not None
    return ended


def others(world: World) -> dict[str, Any]:
    return {
        key: stored
        for key, stored in world.inner.objects.items()
        if not key.startswith(("demo/_runs/", TOTALS.prefix()))
    }


def prompt(world: World) -> dict[str, Any]:
    return read_prompt(world.llm.prompts[-1])


def test_other_rules_are_asked_with_and_nothing_but_the_run_is_written(world: World):
    before = others(world)

    run = dry(world, rules=OTHER)

    assert (run.state, run.rules) == ("done", OTHER)
    assert prompt(world)["rules"] == OTHER
    assert [note["content"] for note in prompt(world)["notes"]] == ["three"]
    assert run.plan["synthesis"] == "1 notes."
    assert run.usage.calls == 1
    assert others(world) == {**before, **{key: stored for key, stored in others(world).items() if "_due/" in key}}
    assert rules.read(world.process, "demo") == "Keep a log."


def test_the_model_is_told_of_a_change_of_the_rules_only_where_they_differ(world: World):
    asked = []
    for text in (OTHER, "Keep a log."):
        dry(world, rules=text)
        asked.append("changed" in world.llm.prompts[-1][1]["content"].split("# Bank")[0].lower())

    assert asked == [True, False]


def test_a_template_is_tried_by_its_name(world: World):
    run = dry(world, rules_template="journal")

    assert run.rules == rules.template("journal")
    assert prompt(world)["rules"] == rules.of_structure(rules.template("journal"))


def test_the_notes_of_an_earlier_change_are_planned_with_bank_synthesis_and_date_of_before(world: World):
    before = others(world)

    run = dry(world, rules=OTHER, notes_of=3)

    told = prompt(world)
    assert run.state == "done"
    assert [note["content"] for note in told["notes"]] == ["two"]
    assert told["bank"] == {
        "log.md": "# Log\n\n## Log\n\n- one\n",
        "other.md": "# Other\n\nBy hand.\n",
    }
    assert told["synthesis"] == "1 notes."
    assert "2026-02-21" in world.llm.prompts[-1][1]["content"]
    (change,) = run.plan["changes"]
    assert change["path"] == "log.md"
    assert "+- two\n" in change["diff"]
    assert others(world) == {**before, **{key: stored for key, stored in others(world).items() if "_due/" in key}}


def test_the_notes_of_the_first_change_meet_an_empty_bank(world: World):
    run = dry(world, notes_of=1)

    assert (prompt(world)["bank"], prompt(world)["synthesis"], prompt(world)["rules"]) == ({}, None, "Keep a log.")
    assert [change["action"] for change in run.plan["changes"]] == ["created"]


def test_a_space_without_live_notes_can_try_too(world: World):
    world.consolidate()

    assert dry(world, rules=OTHER).state == "nothing_to_do"
    assert dry(world, rules=OTHER, notes_of=4).state == "done"


def test_an_erased_note_is_not_shown_to_the_model_again(world: World):
    (note_id,) = _sources(world, 3)
    erasure.erase(world.process, EVERYONE, "demo", [note_id], world.clock() + INVOCATION)
    asked = len(world.llm.prompts)

    run = dry(world, rules=OTHER, notes_of=3)

    assert (run.state, len(world.llm.prompts)) == ("nothing_to_do", asked)


def test_what_only_a_dry_run_can_have_is_refused_without_it(world: World):
    for field, value in (("rules", OTHER), ("rules_template", "journal"), ("notes_of", 1)):
        with pytest.raises(InvalidRequest, match=field):
            order(world, **{field: value})
    assert not world.queued


def test_rules_and_changes_that_cannot_be_are_refused_before_a_run_is_made(world: World):
    before = world.keys("demo/_runs/")
    with pytest.raises(NotFound):
        order(world, dry_run=True, notes_of=9)
    with pytest.raises(InvalidRequest, match="notes_of"):
        order(world, dry_run=True, notes_of=2)
    with pytest.raises(InvalidRequest, match="rules"):
        order(world, dry_run=True, rules="  ")
    with pytest.raises(InvalidRequest, match="rules_template"):
        order(world, dry_run=True, rules=OTHER, rules_template="journal")
    with pytest.raises(TooLarge):
        order(world, dry_run=True, rules="x" * 50_001)

    assert world.keys("demo/_runs/") == before


def test_a_change_too_long_ago_is_refused_at_once(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time_travel, "MOST_CHANGES", 1)

    assert dry(world, notes_of=3).state == "done"
    with pytest.raises(Conflict):
        order(world, dry_run=True, notes_of=1)


def test_a_record_that_is_damaged_after_the_order_ends_the_run_with_its_error(world: World):
    run = order(world, dry_run=True, notes_of=1)
    (last,) = [key for key in world.keys("demo/_consolidations/") if "/000003_" in key]
    world.store.put(last, b"{")
    world.new_process()

    ended = world.work(world.queued.pop())

    assert (ended.job_id, ended.state, ended.error.code) == (run.job_id, "failed", "object_unreadable")


def test_the_requests_of_a_dry_run_over_earlier_notes_are_counted(world: World):
    order(world, dry_run=True, rules=OTHER, notes_of=3)
    ordered = world.client.counts - Counter(PUT=9)
    world.new_process()

    world.work(world.queued.pop())

    # Ordered: the head twice and the record, by a listing. Worked on: the head twice, the run, the record, the rules,
    # the two files, what usage there was; by listings of the record, of those behind it, and of the files.
    assert (ordered, world.client.counts) == (Counter(GET=3, LIST=1), Counter(GET=8, LIST=3, PUT=3))


def test_by_the_same_rules_and_answers_the_plan_is_what_the_change_did(world: World):
    run = dry(world, notes_of=3)

    assert run.plan["sources"] == _sources(world, 3)
    assert run.plan["changes"] == history.read(world.process, "demo", 3).changes


def _sources(world: World, number: int) -> list[str]:
    return [source.note_id for source in records.get(world.process, "demo", number).notes]

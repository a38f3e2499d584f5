"""A note that an answer neither uses nor discards is asked for once, left live once, and then folded and marked."""

import json
from typing import Any

import pytest

from livemem.bank import history
from livemem.changes import commit
from livemem.changes.bank_warnings import BankWarning
from livemem.consolidation import prompt
from livemem.llm import window
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from livemem.spaces.rules import template
from tests.support.cases import each
from tests.support.world import World, append_everything, read_prompt
from tests.unit.consolidation.test_pipeline_notes import record_of, space_with_notes


def citing(*numbers: int, **more: Any) -> Any:
    """A model that uses the notes of these numbers alone."""

    def answer(shown: dict[str, Any]) -> str:
        used = [note for note in shown["notes"] if note["number"] in numbers]
        return json.dumps({**json.loads(append_everything({**shown, "notes": used})), **more})

    return answer


def left_out(world: World) -> list[str]:
    return heads.load(world.process, "demo").meta.left_out


def test_a_small_second_question_asks_where_uncited_notes_stand_and_takes_the_answer():
    world = space_with_notes(*["ann"] * 6)
    world.llm.queue.append(lambda shown: append_everything(shown).replace("[1, 2, 3, 4, 5, 6]", "[2]"))
    filed = [{"note": number, "file": "log.md", "heading": "## Log"} for number in (1, 3, 4, 5)]
    world.llm.ends = json.dumps({"uncited": [*filed, {"note": 6, "discard": "repeats note 5"}]})

    run = world.consolidate()

    (question,) = world.llm.prompts[1]
    assert json.loads(question["content"].split("\n")[3])[1] == [3, "2026-02-20", "ann", "progress", "ann 3"]
    assert '{"log.md":["# Log","## Log"]}' in question["content"]
    assert (run.state, run.metrics["llm_calls"], run.metrics["notes_uncited"]) == ("done", 2, 0)
    assert world.live_ids() == []
    record = record_of(world)
    assert (record.uncited, record.left_out, left_out(world)) == ([], [], [])
    assert record.discarded == [{"note_id": record.notes[5].note_id, "reason": "repeats note 5"}]
    ids = [source.note_id for source in record.notes]
    (change,) = record.files
    assert {note_id for edit in change.edits for note_id in edit["notes"]} == {*ids[:5]} - {*change.notes}


@each(
    "end",
    [
        {"note": 2, "file": "log.md", "heading": "## Nowhere"}, {"note": 2, "file": "else.md", "heading": "## Log"},
        {"note": 2, "file": "log.md"}, {"note": 2, "discard": " "}, {"note": 9, "discard": "no such note"},
        {"note": 1, "discard": "used already"}, {"note": 2, "file": "log.md", "heading": "## Log"},
    ],
)  # fmt: skip
def test_a_note_that_stands_nowhere_in_the_answer_is_not_filed(end: dict[str, Any]):
    world = space_with_notes("ann", "bob")
    bob = world.live_ids()[1]
    world.llm.queue.append(citing(1))
    world.llm.ends = json.dumps({"uncited": [end]})

    assert world.consolidate().state == "done"

    assert world.live_ids() == [bob] == left_out(world)


def test_the_question_for_uncited_notes_costs_less_than_a_tenth_of_the_first():
    world = World()
    world.create_space(rules=template("standard"))
    for number in range(20):
        world.note(f"note {number}: " + "the ferry of the island carries no cars on Sundays " * 5)
        world.clock.move(1)
    world.consolidate()
    for number in range(20):
        world.note(f"note {number}: " + "the ferry of the island carries no cars on Mondays " * 5)
        world.clock.move(1)
    world.llm.queue.append(citing(*range(1, 19)))

    world.consolidate()

    first, second = world.llm.prompts[-2:]
    assert window.size(second) * 10 < window.size(first)


def test_what_is_uncited_still_stays_live_and_the_record_says_so():
    world = space_with_notes("ann", "bob", "cat")
    ids = world.live_ids()
    world.llm.queue.extend([citing(1)])

    run = world.consolidate()

    assert world.live_ids() == ids[1:] == left_out(world)
    assert (run.metrics["notes_processed"], run.metrics["notes_remaining"]) == (1, 2)
    assert (run.metrics["notes_uncited"], run.metrics["notes_left_out"]) == (0, 2)
    assert [source.note_id for source in record_of(world).notes] == ids[:1]
    assert (record_of(world).uncited, record_of(world).left_out) == ([], ids[1:])


def test_what_a_second_run_leaves_out_again_is_folded_and_marked_uncited_in_record_and_history():
    world = space_with_notes("ann", "bob", "cat")
    ids = world.live_ids()
    world.llm.queue.extend([citing(1)] * 2)
    world.consolidate()

    run = world.consolidate()

    assert [note["content"] for note in read_prompt(world.llm.prompts[2])["notes"]] == ["bob 2", "cat 3"]
    assert world.live_ids() == []
    assert (run.metrics["notes_uncited"], run.metrics["notes_left_out"]) == (1, 0)
    assert (record_of(world, 2).uncited, record_of(world, 2).left_out) == (ids[2:], [])
    assert left_out(world) == []
    shown = [history.read(world.process, "demo", number) for number in (1, 2)]
    assert [(detail.uncited, detail.left_out) for detail in shown] == [([], ids[1:]), (ids[2:], [])]
    assert [source.note_id for source in shown[1].sources] == ids[1:]


def test_a_note_that_was_left_out_by_nobody_yet_gets_its_own_second_chance():
    world = space_with_notes("ann", "bob")
    world.llm.queue.extend([citing(1)])
    world.consolidate()
    world.note("cat 3", agent="cat")
    late = world.live_ids()[-1]
    world.note("dan 4", agent="dan")
    world.llm.queue.extend([citing(3)])

    world.consolidate()

    # `bob 2` was left out twice, `cat 3` once.
    assert world.live_ids() == [late] == left_out(world)


def test_runs_of_other_agents_and_corrections_between_do_not_make_it_forget():
    world = space_with_notes("ann", "bob")
    bob = world.live_ids()[1]
    world.llm.queue.extend([citing(1)])
    world.consolidate()
    world.note("eve", agent="eve")
    world.consolidate(agent="eve")
    assert left_out(world) == [bob]
    world.note("ann again")
    world.llm.queue.extend([citing(2)])

    world.consolidate()

    assert world.live_ids() == []
    assert record_of(world, 3).uncited == [bob]


def test_an_undo_gives_every_note_its_two_chances_again():
    world = space_with_notes("ann", "bob")
    world.llm.queue.extend([citing(1)])
    world.consolidate()

    world.undo(1)

    assert left_out(world) == []


def test_a_run_that_dies_after_its_commit_is_finished_with_the_same_notes_left_out(monkeypatch: pytest.MonkeyPatch):
    world = space_with_notes("ann", "bob")
    bob = world.live_ids()[1]
    world.llm.queue.extend([citing(1)])

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "apply", die)
        with pytest.raises(Killed):
            world.consolidate()
    world.clock.move(3_600)
    world.sweep()

    assert world.live_ids() == [bob] == left_out(world)


def test_notes_at_the_threshold_that_no_answer_uses_end_after_two_runs():
    world = World()
    world.create_space(threshold=3)
    for number in range(6):
        world.note(f"note {number}")
        world.clock.move(1)
    world.llm.default = citing(1)
    world.count()

    world.settle()

    assert len(world.live_ids()) == 0
    assert len(world.llm.prompts) == 4


@pytest.mark.parametrize("retry", ["prose", LlmError("llm_timeout", "Too slow.")])
def test_a_second_question_that_fails_does_not_cost_the_answer(retry: Any):
    world = space_with_notes("ann", "bob")
    world.llm.ends = None
    world.llm.queue.extend([citing(1), retry])

    run = world.consolidate()

    assert (run.state, run.metrics["llm_calls"], run.metrics["notes_processed"]) == ("done", 2, 1)


LONG = "x" * (prompt.SYNTHESIS_CHARACTERS + 1)


def test_a_synthesis_that_is_too_long_is_asked_for_again():
    world = space_with_notes("ann")
    world.llm.queue.append(citing(1, synthesis=LONG))
    world.llm.ends = '{"synthesis": "short"}'

    run = world.consolidate()

    assert "Your synthesis (JSON string) has 1501 characters." in world.llm.prompts[1][0]["content"]
    assert run.metrics["llm_calls"] == 2
    change = record_of(world).synthesis
    assert change is not None
    assert (change.after or "").endswith("\nshort\n")
    assert record_of(world).warnings == []


def test_a_synthesis_that_stays_too_long_is_taken_with_a_warning_in_record_and_history():
    world = space_with_notes("ann")
    world.llm.queue.extend([citing(1, synthesis=LONG)])

    assert world.consolidate().state == "done"

    text = "The synthesis has 1501 characters, but at most 1500 are wanted."
    assert record_of(world).warnings == [BankWarning(kind="long_synthesis", text=text)]
    assert record_of(world).metrics["warnings"] == 1
    assert history.read(world.process, "demo", 1).warnings == record_of(world).warnings
    assert world.live_ids() == []


def test_a_synthesis_of_the_wanted_length_is_not_asked_for_again():
    world = space_with_notes("ann")
    world.llm.queue.append(citing(1, synthesis="é" * prompt.SYNTHESIS_CHARACTERS))

    assert world.consolidate().metrics["llm_calls"] == 1

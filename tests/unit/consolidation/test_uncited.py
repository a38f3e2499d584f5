"""A note that an answer neither uses nor discards is asked for once, left live once, and then folded and marked."""

import json
from typing import Any

import pytest

from livemem.bank import history
from livemem.changes import commit
from livemem.consolidation import checks
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from tests.support.world import World, append_everything
from tests.unit.consolidation.test_pipeline_notes import prompted, record_of, space_with_notes


def citing(*numbers: int, **more: Any) -> Any:
    """A model that uses the notes of these numbers alone."""

    def answer(shown: dict[str, Any]) -> str:
        used = [note for note in shown["notes"] if note["number"] in numbers]
        return json.dumps({**json.loads(append_everything({**shown, "notes": used})), **more})

    return answer


def left_out(world: World) -> list[str]:
    return heads.load(world.process, "demo").meta.left_out


def test_the_one_retry_asks_for_uncited_notes_by_their_numbers_and_what_it_cites_is_folded():
    world = space_with_notes(*["ann"] * 6)
    world.llm.queue.extend([citing(2), append_everything])

    run = world.consolidate()

    assert "neither cited in `notes` nor listed in `discarded`: 1, 3-6." in world.llm.prompts[1][-1]["content"]
    assert (run.state, run.metrics["llm_calls"], run.metrics["notes_uncited"]) == ("ok", 2, 0)
    assert world.live_ids() == []
    assert (record_of(world).uncited, record_of(world).left_out, left_out(world)) == ([], [], [])


def test_what_is_uncited_still_stays_live_and_the_record_says_so():
    world = space_with_notes("ann", "bob", "cat")
    ids = world.live_ids()
    world.llm.queue.extend([citing(1)] * 2)

    run = world.consolidate()

    assert world.live_ids() == ids[1:] == left_out(world)
    assert (run.metrics["notes_processed"], run.metrics["notes_remaining"]) == (1, 2)
    assert (run.metrics["notes_uncited"], run.metrics["notes_left_out"]) == (0, 2)
    assert [source.note_id for source in record_of(world).notes] == ids[:1]
    assert (record_of(world).uncited, record_of(world).left_out) == ([], ids[1:])


def test_what_a_second_run_leaves_out_again_is_folded_and_marked_uncited_in_record_and_history():
    world = space_with_notes("ann", "bob", "cat")
    ids = world.live_ids()
    world.llm.queue.extend([citing(1)] * 4)
    world.consolidate()

    run = world.consolidate()

    assert prompted(world) == ["bob 2", "cat 3"]
    assert world.live_ids() == []
    assert (run.metrics["notes_uncited"], run.metrics["notes_left_out"]) == (1, 0)
    assert (record_of(world, 2).uncited, record_of(world, 2).left_out) == (ids[2:], [])
    assert left_out(world) == []
    shown = [history.read(world.process, "demo", number) for number in (1, 2)]
    assert [(detail.uncited, detail.left_out) for detail in shown] == [([], ids[1:]), (ids[2:], [])]
    assert [source.note_id for source in shown[1].sources] == ids[1:]


def test_a_note_that_was_left_out_by_nobody_yet_gets_its_own_second_chance():
    world = space_with_notes("ann", "bob")
    world.llm.queue.extend([citing(1)] * 2)
    world.consolidate()
    world.note("cat 3", agent="cat")
    late = world.live_ids()[-1]
    world.note("dan 4", agent="dan")
    world.llm.queue.extend([citing(3)] * 2)

    world.consolidate()

    # `bob 2` was left out twice, `cat 3` once.
    assert world.live_ids() == [late] == left_out(world)


def test_runs_of_other_agents_and_corrections_between_do_not_make_it_forget():
    world = space_with_notes("ann", "bob")
    bob = world.live_ids()[1]
    world.llm.queue.extend([citing(1)] * 2)
    world.consolidate()
    world.note("eve", agent="eve")
    world.consolidate(agent="eve")
    assert left_out(world) == [bob]
    world.note("ann again")
    world.llm.queue.extend([citing(2)] * 2)

    world.consolidate()

    assert world.live_ids() == []
    assert record_of(world, 3).uncited == [bob]


def test_an_undo_gives_every_note_its_two_chances_again():
    world = space_with_notes("ann", "bob")
    world.llm.queue.extend([citing(1)] * 2)
    world.consolidate()

    world.undo(1)

    assert left_out(world) == []


def test_a_run_that_dies_after_its_commit_is_finished_with_the_same_notes_left_out(monkeypatch: pytest.MonkeyPatch):
    world = space_with_notes("ann", "bob")
    bob = world.live_ids()[1]
    world.llm.queue.extend([citing(1)] * 2)

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
def test_a_retry_that_fails_does_not_cost_the_answer_that_can_be_used(retry: Any):
    world = space_with_notes("ann", "bob")
    world.llm.queue.extend([citing(1), retry])

    run = world.consolidate()

    assert (run.state, run.metrics["llm_calls"], run.metrics["notes_processed"]) == ("ok", 2, 1)


def test_of_two_answers_the_one_that_leaves_fewer_notes_out_is_taken():
    world = space_with_notes("ann", "bob", "cat")
    world.llm.queue.extend([citing(1, 2), citing(3)])

    world.consolidate()

    assert [source.note_id.split("_")[1] for source in record_of(world).notes] == ["ann", "bob"]


LONG = "x" * (checks.SYNTHESIS_CHARACTERS + 1)


def test_a_synthesis_that_is_too_long_is_asked_for_again():
    world = space_with_notes("ann")
    world.llm.queue.extend([citing(1, synthesis=LONG), citing(1, synthesis="short")])

    run = world.consolidate()

    assert "The synthesis has 1501 characters, but at most 1500 are wanted." in world.llm.prompts[1][-1]["content"]
    assert run.metrics["llm_calls"] == 2
    assert record_of(world).warnings == []


def test_a_synthesis_that_stays_too_long_is_taken_with_a_warning_in_record_and_history():
    world = space_with_notes("ann")
    world.llm.queue.extend([citing(1, synthesis=LONG)] * 2)

    assert world.consolidate().state == "ok"

    assert record_of(world).warnings == ["The synthesis has 1501 characters, but at most 1500 are wanted."]
    assert history.read(world.process, "demo", 1).warnings == record_of(world).warnings
    assert world.live_ids() == []


def test_a_synthesis_of_the_wanted_length_is_not_asked_for_again():
    world = space_with_notes("ann")
    world.llm.queue.append(citing(1, synthesis="é" * checks.SYNTHESIS_CHARACTERS))

    assert world.consolidate().metrics["llm_calls"] == 1


@pytest.mark.parametrize("count", [1, 3, 500])
def test_the_numbers_that_a_retry_asks_for_are_short_however_many_there_are(count: int):
    outcome = type("Outcome", (), {"uncited": frozenset(range(1, 2 * count, 2))})()

    (flaw,) = checks.flaws(outcome, "short")

    assert len(flaw.told) < 1_000
    assert flaw.told.startswith("These notes are neither cited in `notes` nor listed in `discarded`: 1")

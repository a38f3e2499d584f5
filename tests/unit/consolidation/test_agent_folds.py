"""An agent in the place of the model: its answer is checked and applied as any, once, and only in its time."""

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections
from livemem.changes import run_progress
from livemem.consolidation import agent_folds, collecting, space_change
from livemem.consolidation.agent_folds import Folding
from livemem.consolidation.space_change import SpaceUpdate
from livemem.erasure import erasure
from livemem.errors import Busy, Conflict, Forbidden, TooSoon
from livemem.jobs import next_run
from livemem.jobs.describable import job_id
from livemem.jobs.run import Run
from livemem.recall import start
from livemem.recall.start import StartRequest
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.store import timing
from livemem.store.bucket import BANK_FILE
from tests.support.audit import records_of
from tests.support.world import EVERYONE, INVOCATION, World, append_everything, read_prompt

SPACE = "demo"
ANN = Principal("ann", frozenset({"read", "write"}), frozenset(), token_hash="a" * 64)
BOB = Principal("bob", frozenset({"read", "write"}), frozenset(), token_hash="b" * 64)


@pytest.fixture
def world() -> World:
    found = World()
    found.create_space(SPACE)
    space_change.change(found.process, EVERYONE, SPACE, SpaceUpdate(agent_folds=True))
    for number in range(3):
        found.note(f"the port of server {number} is {4_000 + number}")
    return found


def _begin(world: World, principal: Principal = ANN) -> Folding:
    return agent_folds.begin(world.process, principal, SPACE)


def _answer(world: World, begun: Folding, text: str, principal: Principal = ANN) -> Folding:
    return agent_folds.answer(world.process, principal, job_id(SPACE, "consolidation", begun.run.job_id), text)


def _good(begun: Folding) -> str:
    assert begun.question
    return append_everything(read_prompt(begun.question.messages))


def _start(world: World) -> str:
    return start.start(world.process, SPACE, StartRequest()).markdown


def _live(world: World) -> int:
    return len(contents.live_notes(world.process, SPACE))


def _run(world: World, begun: Folding) -> Run:
    return run_progress.view(world.process, SPACE, begun.run.job_id)


def test_an_agent_gets_the_prompt_of_the_services_own_model_and_its_answer_becomes_the_bank(world: World):
    begun = _begin(world)
    assert begun.question
    assert "bank_files" in begun.question.form["properties"]

    ended = _answer(world, begun, _good(begun))

    assert (ended.run.state, ended.run.trigger, ended.question) == ("done", "agent", None)
    (record,) = records_of(world.inner.objects, SPACE)
    assert (record.model, record.trigger, len(record.notes), _live(world)) == ("agent ann", "agent", 3, 0)
    # The same prompt as that of a run by the model, byte for byte.
    world.undo(1)
    world.order(SPACE)
    world.settle()
    assert world.llm.prompts[-1] == begun.question.messages


def test_a_question_an_answer_and_its_repeat_cost_so_many_requests(world: World):
    world.new_process()
    begun = _begin(world)
    counted = [dict(world.client.counts)]
    for _ in range(2):
        world.new_process()
        _answer(world, begun, _good(begun))
        counted.append(dict(world.client.counts))

    # With 3 GET for the notes, 5 requests to apply the change, and 2 to count its use of the model.
    assert counted == [
        {"GET": 8, "PUT": 5, "LIST": 3},
        {"GET": 13, "PUT": 12, "LIST": 2, "DELETE": 2, "DeleteObjects": 1},
        {"GET": 4},
    ]


def test_an_answer_that_comes_again_is_applied_once_even_to_another_process(world: World):
    begun = _begin(world)
    text = _good(begun)
    _answer(world, begun, text)
    world.new_process()

    again = _answer(world, begun, text)

    assert (again.run.state, again.run.consolidation, len(records_of(world.inner.objects, SPACE))) == ("done", 1, 1)
    with pytest.raises(Conflict, match="has ended"):
        _answer(world, begun, f"{text} ")


def test_an_answer_that_comes_too_late_is_refused_and_nothing_is_lost(world: World):
    begun = _begin(world)
    world.clock.move(timing.AGENT.total_seconds() + 1)

    with pytest.raises(Conflict, match="too late"):
        _answer(world, begun, _good(begun))

    assert (_live(world), records_of(world.inner.objects, SPACE)) == (3, [])


def test_of_two_agents_one_gets_the_run_and_only_its_token_may_answer(world: World):
    begun = _begin(world)
    with pytest.raises(Busy):
        _begin(world, BOB)
    with pytest.raises(Forbidden, match="Only the token"):
        _answer(world, begun, _good(begun), BOB)
    assert _answer(world, begun, _good(begun)).run.state == "done"
    assert "Agents may fold the notes here" in _start(world)


def test_an_agent_that_lost_the_prompt_gets_it_again_in_the_same_time_and_until_it_has_answered(world: World):
    begun = _begin(world)
    world.clock.move(30)
    world.new_process()
    for _ in range(agent_folds.PER_HOUR):
        again = _begin(world)
        assert begun.question
        assert again.question
        assert again.run.job_id == begun.run.job_id
        assert (again.question.messages, again.question.until) == (begun.question.messages, begun.question.until)
    with pytest.raises(Busy):
        _begin(world, BOB)

    _answer(world, begun, _flawed(begun))
    with pytest.raises(Busy):
        _begin(world)
    ends = {"uncited": [{"note": number, "file": "log.md", "heading": "## Log"} for number in (2, 3)]}
    assert _answer(world, begun, json.dumps(ends)).run.state == "done"
    world.note("one more")
    assert _begin(world).question


def _edit(world: World) -> None:
    corrections.write_file(world.process, "admin", SPACE, "log.md", "# By hand\n", None)


def _erase(world: World) -> None:
    note = contents.note_name(contents.live_notes(world.process, SPACE)[0]).note_id
    erasure.erase(world.process, EVERYONE, SPACE, [note], world.clock() + INVOCATION)


def _order(world: World) -> None:
    world.order(SPACE)
    world.settle()


@pytest.mark.parametrize("work", [_edit, _erase, _order])
def test_an_edit_an_erasure_or_a_run_by_hand_ends_the_agents_run_at_once(world: World, work: Callable[[World], None]):
    begun = _begin(world)
    before = world.clock()

    work(world)

    assert world.clock() == before
    assert _run(world, begun).state == "superseded"
    with pytest.raises(Conflict, match="has ended"):
        _answer(world, begun, _good(begun))
    assert all(record.trigger != "agent" for record in records_of(world.inner.objects, SPACE))


def test_an_erasure_finds_what_an_answer_quotes_in_former_versions_too(world: World):
    world.inner.versioned = True
    secret = 'Alice said "two cats\\dogs" in Paris'
    note = world.note(secret)
    begun = _begin(world)
    _answer(world, begun, _good(begun)[:-1])
    stored = [version.stored.body for version in world.inner.versions if b"two cats" in version.stored.body]
    assert any(b'"answers"' in body for body in stored)

    erasure.erase(world.process, EVERYONE, SPACE, [note.note_id], world.clock() + INVOCATION)

    bodies = [version.stored.body for version in world.inner.versions] + [
        item.body for item in world.inner.objects.values()
    ]
    assert not [body for body in bodies if b"two cats" in body]


def test_an_automatic_run_waits_for_the_agent(world: World):
    begun = _begin(world)
    space_change.change(world.process, EVERYONE, SPACE, SpaceUpdate(threshold=3))
    assert world.count(SPACE).result == "busy"
    assert _answer(world, begun, _good(begun)).run.state == "done"


def test_what_is_no_json_is_asked_for_once_more_and_then_the_run_fails(world: World):
    begun = _begin(world)

    first = _answer(world, begun, "I would rather not.")
    assert first.question
    assert "JSON" in first.question.messages[-1]["content"]
    # Only what is new: the agent has the prompt.
    assert len(first.question.messages) == 1
    failed = _answer(world, begun, "No.")

    assert (failed.run.state, failed.run.error and failed.run.error.code) == ("failed", "llm_contract")
    assert (_live(world), records_of(world.inner.objects, SPACE)) == (3, [])


def _flawed(begun: Folding) -> str:
    """It cites one note alone."""
    document = json.loads(_good(begun))
    document["bank_files"][0]["notes"] = [1]
    return json.dumps(document)


def test_a_flaw_comes_back_as_the_small_question_and_the_corrected_answer_is_one(world: World):
    begun = _begin(world)
    text = _flawed(begun)

    asked = _answer(world, begun, text)
    assert asked.question
    assert "uncited" in asked.question.messages[0]["content"]
    # The lost answer of the service: the same question again, and no longer time.
    world.clock.move(30)
    again = _answer(world, begun, text)
    assert again.question
    told, *messages = again.question.messages
    assert "This answer came already. The run needs another one" in told["content"]
    assert (messages, again.question.until) == (asked.question.messages, asked.question.until)

    ends = {"uncited": [{"note": number, "file": "log.md", "heading": "## Log"} for number in (2, 3)]}
    ended = _answer(world, begun, json.dumps(ends))

    (record,) = records_of(world.inner.objects, SPACE)
    assert (ended.run.state, len(record.notes), record.usage.calls, ended.run.usage.calls) == ("done", 3, 2, 2)


def test_the_time_is_given_once_more_by_a_correction_and_then_no_more(world: World):
    begun = _begin(world)
    text = _flawed(begun)
    world.clock.move(timing.AGENT.total_seconds() - 30)
    asked = _answer(world, begun, text)
    assert asked.question
    assert datetime.fromisoformat(asked.question.until) == world.clock() + timing.AGENT
    world.clock.move(timing.AGENT.total_seconds() + 1)
    with pytest.raises(Conflict, match="too late"):
        _answer(world, begun, "{}")


def test_in_review_mode_the_plan_of_an_agent_waits_for_a_person(world: World):
    space_change.change(world.process, EVERYONE, SPACE, SpaceUpdate(consolidation_mode="review"))
    begun = _begin(world)

    ended = _answer(world, begun, _good(begun))

    assert (ended.run.state, _live(world)) == ("awaiting_approval", 3)
    with pytest.raises(Conflict, match="waited for approval"):
        _begin(world)
    world.approve(SPACE)
    (record,) = records_of(world.inner.objects, SPACE)
    assert (record.model, _live(world)) == ("agent ann", 0)


def test_agents_begin_at_most_twice_an_hour_and_a_begin_without_notes_does_not_count(world: World):
    for number in range(2):
        begun = _begin(world)
        _answer(world, begun, _good(begun))
        if not number:
            assert _begin(world).run.state == "nothing_to_do"
        world.note(f"note {number}")
    with pytest.raises(TooSoon) as caught:
        _begin(world)
    world.clock.move(caught.value.retry_after or 0)
    assert _begin(world).question


def test_without_the_setting_no_agent_folds_and_only_an_admin_switches_it_on(world: World):
    with pytest.raises(Forbidden, match="agent_folds"):
        space_change.change(world.process, ANN, SPACE, SpaceUpdate(agent_folds=False))
    space_change.change(world.process, EVERYONE, SPACE, SpaceUpdate(agent_folds=False))
    with pytest.raises(Forbidden, match="agent_folds"):
        _begin(world)


def test_a_bank_that_was_changed_in_the_bucket_meanwhile_makes_the_answer_void(world: World):
    begun = _begin(world)
    world.store.put(BANK_FILE.key(SPACE, "log.md"), b"# Another\n")

    ended = _answer(world, begun, _good(begun))

    assert (ended.run.state, ended.run.error and ended.run.error.code) == ("failed", "space_changed")
    assert (_live(world), records_of(world.inner.objects, SPACE)) == (3, [])


def test_notes_that_come_meanwhile_stay_live_and_are_counted(world: World):
    begun = _begin(world)
    world.note("later")

    ended = _answer(world, begun, _good(begun))

    assert (ended.run.state, ended.run.metrics["notes_remaining"], _live(world)) == ("done", 1, 1)


def test_a_prompt_for_an_agent_is_short_enough_for_its_client(world: World):
    for number in range(40):
        world.note(f"{number} {'x' * 4_000}")
    begun = _begin(world)
    assert begun.question
    size = sum(len(message["content"]) for message in begun.question.messages)
    assert size < 4 * collecting.AGENT_TOKENS
    ended = _answer(world, begun, _good(begun))
    assert ended.run.state == "done"
    assert _live(world) == ended.run.metrics["notes_remaining"] > 20


def test_the_answers_count_for_the_budget_of_the_day(world: World):
    world.settings = world.settings.model_copy(update={"llm_daily_token_budget_per_space": 100})
    world.new_process()
    begun = _begin(world)
    _answer(world, begun, _good(begun))
    world.note("one more")

    refused = _begin(world)

    assert (refused.run.state, refused.run.error and refused.run.error.code) == ("failed", "token_budget_exhausted")


def test_with_fixed_rules_in_the_place_of_a_model_the_notes_wait_for_an_agent(world: World):
    world.settings = world.settings.model_copy(update={"llmaas_model": "offline-rules"})
    world.new_process()
    space_change.change(world.process, EVERYONE, SPACE, SpaceUpdate(threshold=3))
    assert world.count(SPACE).result == "not_automatic"
    assert next_run.look(world.process, heads.load(world.process, SPACE).meta).next_run.why == "by_hand"
    assert "3 notes wait, and nobody folds. You can: `fold_begin`" in _start(world)
    begun = _begin(world)
    assert _answer(world, begun, _good(begun)).run.state == "done"

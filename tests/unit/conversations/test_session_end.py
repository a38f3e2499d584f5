"""Where the memory is one person's, the end of a session folds what it left, and nothing waits for more than a day."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from livemem.conversations import conversation as conversations
from livemem.conversations import log
from livemem.errors import StoreUnavailable
from livemem.jobs import counter
from livemem.spaces import head as heads
from tests.support.talk import Talk, captures, extract, look_at_due
from tests.support.world import INVOCATION, World, append_everything, read_prompt

NAMED = [{"category": "decision", "content": f"Decision {number}.", "turns": [1]} for number in range(3)]


def answering(named: list[dict[str, Any]]) -> Callable[[Any], str]:
    """A model that names notes of blocks, and folds notes."""
    summarise = captures(*named, of=extract)
    return lambda messages: (
        append_everything(read_prompt(messages)) if "# Live notes" in messages[1]["content"] else summarise(messages)
    )


def session(named: int = 3, threshold: int = 30, profile: str = "windows", *, own: bool = True) -> Talk:
    """Two turns of a session whose model names so many notes."""
    world = World(session_folds=own)
    world.create_space(threshold=threshold)
    talk = Talk(profile, world, capture="notes")
    talk.llm.default = answering(NAMED[:named])
    talk.say("Which store? " * 20, "S3 alone. " * 20)
    talk.say("Who watches it? " * 20, "Nobody yet. " * 20)
    return talk


def end(talk: Talk) -> list[str]:
    """Close the session and work off what follows. The triggers of the runs that were queued."""
    log.close(talk.process, "demo", talk.id)
    triggers: list[str] = []
    while talk.world.queued:
        if talk.world.queued[0].get("kind") == "consolidation":
            triggers.append(talk.world.view(talk.world.queued[0]["job_id"]).trigger)
        talk.world.work()
    return triggers


def test_the_end_of_a_session_folds_three_notes_once():
    talk = session()

    assert end(talk) == ["session_end"]
    assert talk.world.live_ids() == []
    assert [f"Decision {number}." in talk.world.bank()["log.md"] for number in range(3)] == [True] * 3
    assert end(talk) == []


@pytest.mark.parametrize(
    ("named", "threshold", "own", "paused"),
    [(2, 30, True, False), (3, 0, True, False), (3, 30, True, True), (3, 30, False, False)],
    ids=["two notes", "only by hand", "paused", "a team's"],
)
def test_nothing_is_folded_at_the_end_of_a_session(named: int, threshold: int, own: bool, paused: bool):
    talk = session(named, threshold, own=own)
    heads.patch(talk.process, "demo", auto_paused=paused)

    assert end(talk) == []
    assert len(talk.world.live_ids()) == named


def test_a_session_of_which_all_is_summarised_when_it_ends_is_folded_too():
    talk = session(profile="turns")
    talk.update()
    assert len(talk.world.live_ids()) >= 3

    assert end(talk) == ["session_end"]


def test_a_run_that_can_not_be_queued_costs_no_summary():
    talk = session()
    log.close(talk.process, "demo", talk.id)
    talk.world.queued.clear()
    enqueue = talk.world.enqueue

    def refuse(function: Any, payload: Any) -> None:
        if function == "consolidate":
            raise StoreUnavailable("The queue is full.")
        enqueue(function, payload)

    process = talk.world.with_parts(enqueue=refuse)
    talk.world.process = process

    assert talk.update().outcome == "done"
    assert len(talk.world.live_ids()) == 3


def test_a_session_that_nobody_closes_is_closed_after_its_pause_where_the_memory_is_one_persons():
    for own, closings in ((True, [2]), (False, [])):
        talk = session(own=own)
        talk.world.queued.clear()
        for minutes, wanted in ((5, []), (30, closings)):
            talk.world.clock.move(minutes * 60)
            look_at_due(talk.process, talk.world.clock() + INVOCATION)
            assert conversations.load(talk.process, "demo", talk.id).closings == wanted
        ends = [dict(one) for one in talk.world.queued]
        assert ends == [{"space_id": "demo", "conversation_id": talk.id}] * len(closings)


def test_a_session_that_goes_on_is_not_closed():
    talk = session()
    for _ in range(6):
        talk.say("And? ", "Nothing new.", after=600)
        look_at_due(talk.process, talk.world.clock() + INVOCATION)
    assert conversations.load(talk.process, "demo", talk.id).closings == []


def test_what_waits_for_a_day_is_folded_however_little_where_the_memory_is_one_persons():
    for own in (True, False):
        world = World(session_folds=own)
        world.create_space(threshold=30)
        world.note("one")
        world.count()
        world.clock.move(counter.LONGEST.total_seconds() - 60)
        world.sweep_all()
        assert not world.queued
        world.clock.moment += timedelta(minutes=20)
        world.sweep_all()
        assert [one["kind"] for one in world.queued] == ["consolidation"] * own

"""What an agent would have been given at an earlier moment."""

from datetime import timedelta

import pytest

from livemem import clock
from livemem.bank import summary, time_travel
from livemem.errors import InvalidRequest, NotFound
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import start
from livemem.recall.start import Start, StartRequest
from tests.support.world import World


def told(world: World, **wanted) -> Start:
    return start.start(world.process, "demo", StartRequest(**wanted))


def body(found: Start) -> str:
    """All but the guide, which names the moment."""
    return found.markdown[found.parts[0].chars :]


def test_at_each_change_the_start_is_the_one_that_was_given_then():
    world = World()
    world.create_space()
    given: dict[str, str] = {}

    def keep() -> None:
        world.new_process()
        given[clock.iso(world.clock())] = body(told(world, lang="en"))
        world.clock.move(60)

    for number in range(3):
        for each in range(2):
            world.note(f"note {number}.{each}")
            world.clock.move(60)
        assert world.consolidate().state == "done"
        keep()
        world.note(f"between {number}")
        world.clock.move(60)
        keep()
    world.undo(3)
    keep()
    assert world.consolidate().state == "done"
    keep()

    world.new_process()
    for moment, then in given.items():
        assert body(told(world, at=moment, lang="en")) == then, moment


def test_notes_of_an_undone_consolidation_were_no_live_notes_while_it_was_in_force():
    world = World()
    world.create_space()
    world.note("folded, then given back")
    world.clock.move(60)
    world.consolidate()
    world.clock.move(60)
    world.undo(1)
    world.clock.move(60)

    assert told(world, at="1").parts[-1].why != "live"
    assert "live" not in [part.why for part in told(world, at="1").parts]
    assert "live" in [part.why for part in told(world, at="2").parts]


def test_a_note_written_after_the_moment_is_not_in_it():
    world = World()
    world.create_space()
    world.note("first")
    world.consolidate()
    world.clock.move(3_600)
    world.note("later than the moment")
    world.clock.move(60)

    assert "later than" not in told(world, at="1").markdown
    assert "later than" in told(world, at=clock.iso(world.clock())).markdown


def test_the_guide_names_the_moment_and_what_is_left_out():
    world = World()
    world.create_space()
    world.note("first")
    world.consolidate()
    world.clock.move(60)
    storing.store(world.process, "demo", "ann", MemoryDraft(content="I am ann.", kind="self"))

    then = told(world, at="1", lang="en")

    assert "As it stood at 20" in then.markdown
    assert "after change 1. Memories" in then.markdown
    assert "I am ann." not in then.markdown
    assert then.then
    assert then.then.number == 1
    assert "I am ann." in told(world).markdown


def test_a_question_finds_what_was_there_then():
    world = World()
    world.create_space()
    world.note("the backup runs at two")
    world.consolidate()
    world.clock.move(3_600)
    world.note("the backup runs at four")
    world.clock.move(60)

    then = told(world, at="1", q="backup")

    assert "at two" in then.markdown
    assert "at four" not in then.markdown


def test_a_look_back_reads_each_later_record_once_and_no_folded_note():
    world = World()
    world.create_space()
    for number in range(4):
        for each in range(5):
            world.note(f"note {number}.{each}")
            world.clock.move(1)
        world.consolidate()
        world.clock.move(60)
    world.new_process()
    moment = time_travel.then(world.process, "demo", "1")
    world.client.reset()

    found = summary.live_at(world.process, "demo", moment, most=200)

    assert found.notes == []
    # The three later records, then no note, since all of them were written after change 1.
    assert world.client.counts["GET"] <= 3 + 1
    assert world.client.counts["LIST"] <= 3


@pytest.mark.parametrize("at", ["yesterday", "-1", ""])
def test_a_moment_that_is_none_is_refused(at: str):
    world = World()
    world.create_space()

    with pytest.raises(InvalidRequest) as wrong:
        told(world, at=at)
    assert wrong.value.fields[0].field == "at"


def test_before_the_first_change_there_is_nothing_to_tell():
    world = World()
    world.create_space()
    before = clock.iso(world.clock() - timedelta(days=1))
    world.note("first")
    world.consolidate()

    with pytest.raises(NotFound):
        told(world, at=before)

"""The answer to a note's PUT is lost, and the store's client sends it again when the note has been folded."""

from livemem.notes import pages
from tests.support.bucket import error
from tests.support.world import World


def space() -> World:
    world = World()
    world.create_space()
    return world


def test_a_note_that_was_folded_meanwhile_is_acknowledged_and_not_written_under_another_name():
    world = space()
    lost: list[int] = []

    def fold_and_lose(index: int, verb: str) -> None:
        if verb == "PUT" and not lost:
            lost.append(index)
            world.client.after = lambda index, verb: None
            world.consolidate()
            # What the second try of the client is told.
            raise error("PreconditionFailed", 412, verb)

    world.client.after = fold_and_lose
    note = world.note("once")

    assert pages.get(world.process, "demo", note.note_id).consolidation == 1
    assert world.live_ids() == []
    assert world.bank()["log.md"].count("once") == 1

"""The invariants of a space are looked at in the bucket: they hold while the service alone writes, and show damage."""

from collections import Counter

import pytest

from livemem.bank import corrections
from livemem.changes import records, rules_change
from livemem.changes.rules_change import NewRules
from livemem.erasure import erasure
from livemem.errors import NotFound
from livemem.store.bucket import BANK_FILE, HEAD, NOTE, RUN
from livemem.upkeep import invariants
from livemem.upkeep.invariants import Invariant, InvariantsPage
from tests.support.counting import Killed
from tests.support.world import EVERYONE, INVOCATION, World

RECORDS = "demo/_consolidations/"


@pytest.fixture
def world() -> World:
    """Change 1 a consolidation, 2 a correction, 3 a consolidation, 4 its undo, 5 new rules, 6 a consolidation; one note
    is live.
    """
    found = World()
    found.create_space()
    found.note("one")
    found.clock.move(60)
    found.consolidate()
    corrections.write_file(found.process, "bob", "demo", "other.md", "# Other\n\nBy hand.\n", None)
    found.note("two")
    found.clock.move(60)
    found.consolidate()
    found.undo(3)
    rules_change.change(found.process, "admin", "demo", NewRules("Keep two logs."))
    found.clock.move(60)
    found.consolidate()
    found.note("three")
    found.clock.move(60)
    found.new_process()
    return found


def look(world: World, *, limit: int = 50, before: int | None = None) -> InvariantsPage:
    return invariants.page(world.process, "demo", limit=limit, before=before)


def broken(page: InvariantsPage) -> dict[str, Invariant]:
    return {one.name: one for one in page.invariants if one.holds is False}


def record(world: World, number: int) -> str:
    (key,) = [key for key in world.keys(RECORDS) if f"/{number:06d}_" in key]
    return key


def test_in_a_space_that_the_service_alone_writes_all_of_them_hold(world: World):
    found = look(world)

    assert [(one.name, one.holds, one.evidence) for one in found.invariants if not one.holds] == []
    assert (found.holds, found.first, found.last, found.before) == (True, 1, 6, None)
    assert {one.name: one.looked_at for one in found.invariants} == {
        "records_numbered": 6,
        "notes_once": 3,
        "records_joined": 6,
        "head_agrees": 3,
        "bank_recorded": 4,
        "sources_exist": 2,
        "snapshots_agree": 0,
        "nothing_orphaned": 3,
        "all_readable": 6,
    }


def test_an_empty_space_holds_them_too():
    world = World()
    world.create_space()

    found = look(world)

    assert (found.holds, found.first, found.last) == (True, 0, 0)
    with pytest.raises(NotFound):
        invariants.page(world.process, "none", limit=5)


def test_they_still_hold_after_an_erasure(world: World):
    (source, *_) = world.live_ids()
    for note_id in (source, _folded(world)):
        erasure.erase(world.process, EVERYONE, "demo", [note_id], world.clock() + INVOCATION)

    assert broken(look(world)) == {}


def test_a_record_that_is_missing_in_between_leaves_a_gap_and_a_missing_oldest_one_does_not(world: World):
    world.store.delete(record(world, 1))

    # A rule of the bucket may have removed it.
    assert broken(look(world)) == {}
    world.store.delete(record(world, 4))
    assert broken(look(world))["records_numbered"].evidence == ("no record 4",)


def test_a_file_that_was_changed_in_the_bucket_is_named(world: World):
    world.store.put(BANK_FILE.key("demo", "log.md"), b"# Other\n")
    world.store.put(BANK_FILE.key("demo", "strange.md"), b"# Strange\n")

    found = broken(look(world))

    assert found.keys() == {"bank_recorded"}
    assert found["bank_recorded"].evidence == ("log.md is not as the last change left it", "strange.md has no record")


def test_a_change_over_a_file_that_was_changed_in_the_bucket_is_not_joined_to_the_one_before(world: World):
    world.store.put(BANK_FILE.key("demo", "log.md"), b"# Log\n\n## Log\n\nBy an editor.\n")
    world.new_process()
    world.consolidate()

    found = broken(look(world))

    assert found["records_joined"].evidence == ("log.md: change 7 does not begin with what change 6 left",)


def test_a_note_that_is_live_and_folded_is_named_once(world: World):
    note_id = _folded(world)
    world.store.put(NOTE.key("demo", note_id), b"again")

    found = broken(look(world))

    assert found["notes_once"].evidence == (f"{note_id} is live and folded",)


def test_a_head_that_counts_otherwise_is_named(world: World):
    text = world.text(HEAD.key("demo"))
    world.store.put(HEAD.key("demo"), text.replace('"total_notes_processed": 2', '"total_notes_processed": 9').encode())

    found = broken(look(world))

    assert found["head_agrees"].evidence == ("total_notes_processed: 9 in the head, 2 in the records",)


def test_an_unreadable_record_is_named_and_accuses_nobody_else(world: World):
    key = record(world, 3)
    world.store.put(key, b"{")

    found = broken(look(world))

    assert found.keys() == {"all_readable"}
    assert found["all_readable"].evidence == (key, "the record of change 3")


def test_a_run_that_never_came_is_named_when_its_time_is_over(world: World):
    run = world.order()
    world.queued.clear()
    assert broken(look(world)) == {}
    world.clock.move(7 * 3_600)

    found = broken(look(world))

    assert found["nothing_orphaned"].evidence == (f"run {run.job_id}",)


def test_beside_a_commit_that_is_not_applied_what_does_not_hold_is_not_told(world: World):
    world.order()
    commits = iter(range(2))

    def die_once_committed(index: int, verb: str) -> None:
        if world.client.requests[index] == ("PUT", HEAD.key("demo")) and next(commits) == 0:
            raise Killed

    world.client.after = die_once_committed
    with pytest.raises(Killed):
        world.work()
    world.new_process()

    found = look(world)

    assert (found.holds, broken(found)) == (None, {})
    assert {one.detail for one in found.invariants if one.holds is None} == {invariants.BUSY}


def test_pages_look_at_every_change_once_and_what_is_now_only_on_the_first(world: World):
    first = look(world, limit=4)
    second = look(world, limit=4, before=first.before)

    assert [(one.first, one.last, one.before) for one in (first, second)] == [(3, 6, 3), (1, 2, None)]
    assert (first.holds, second.holds) == (True, True)
    assert [one.name for one in second.invariants] == ["records_numbered", "notes_once", "records_joined"]


def test_a_note_folded_twice_is_found_across_an_undo_on_another_page(world: World):
    """Change 3 folds `two` and change 4 takes it back: a page that has 3 alone knows it from the head."""
    assert [one.evidence for one in look(world, limit=1, before=4).invariants if one.holds is False] == []


def test_the_requests_grow_with_the_page_and_not_with_the_history(world: World):
    look(world, limit=2)

    # The head twice, two records, rules and synthesis, two files and the records that wrote them; kinds of memories.
    assert world.client.counts == Counter(GET=10, LIST=6) + Counter(GET=_runs(world))


def test_more_evidence_than_is_shown_is_counted(world: World):
    for number in range(25):
        world.store.put(BANK_FILE.key("demo", f"strange{number:02}.md"), b"# Strange\n")

    (found,) = broken(look(world)).values()

    assert len(found.evidence) == 20
    assert (found.detail or "").endswith("5 more are not shown.")


def _folded(world: World) -> str:
    return records.get(world.process, "demo", 6).notes[0].note_id


def _runs(world: World) -> int:
    return len([key for key in world.keys("demo/_runs/") if RUN.last(key)])

"""Changes by hand get their turn beside folds that follow each other without a gap."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections
from livemem.changes import direct, rules_change
from livemem.changes.rules_change import NewRules
from livemem.erasure import erasure
from livemem.errors import Busy
from livemem.jobs import counter, lease, places
from livemem.jobs.lease import Hold, Lease
from livemem.markdown.edits import Edit
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.store import timing
from tests.support.cases import each
from tests.support.world import World

ADMIN = Principal("admin", frozenset({"read", "write", "admin"}), frozenset())
PLACE = places.of_space("demo")
WAITED = sum(lease.PAUSES)
BUSY_RETRY = Busy.retry_after


def append(process: Process, text: str = "- by hand", *, by: Principal = ADMIN) -> None:
    edits = [Edit("append_to_section", "## Log", text)]
    corrections.edit_sections(process, by, "demo", "log.md", edits, "it was missing")


class Folds:
    """Workers of runs that follow each other without a gap. `seconds`: how long each holds the space."""

    def __init__(self, world: World, seconds: float) -> None:
        self.world, self.seconds = world, seconds
        self.count = self.kept_out = 0
        self.held: Hold | None = None
        self.until = world.clock()
        self._begin()

    def _begin(self) -> None:
        try:
            run_id = self.world.process.new_id()
            self.held = lease.acquire(self.world.process, PLACE, run_id, "consolidation", worker=run_id)
        except Busy:
            self.kept_out += 1
            return
        self.count += 1
        self.until = self.world.clock() + timedelta(seconds=self.seconds)

    def pass_time(self, seconds: float) -> None:
        """Let time pass in small steps. A fold that ends is followed by the next one in the same moment."""
        for _ in range(round(seconds * 4)):
            self.world.clock.move(0.25)
            if self.held and self.world.clock() >= self.until:
                lease.release(self.world.process, self.held)
                self.held = None
            if not self.held:
                self._begin()


def space() -> World:
    world = World()
    world.create_space(threshold=1)
    world.note("one")
    world.consolidate()
    world.note("two")
    return world


def process_beside(world: World, folds: Folds) -> Process:
    process = world.new_process()
    return replace(process, store=replace(process.store, sleep=folds.pass_time))


def tries_of(act: Callable[[], Any], folds: Folds, *, most: int) -> int:
    """How often a client has to send a request that it sends again after `Retry-After`."""
    for number in range(1, most + 1):
        try:
            act()
        except Busy:
            folds.pass_time(BUSY_RETRY)
        else:
            return number
    raise AssertionError(f"still busy after {most} tries, and {folds.count} folds")


def _write(process: Process) -> object:
    return corrections.write_file(process, "admin", "demo", "new.md", "# New\n\ntext\n", None)


def _erase(process: Process) -> object:
    (note,) = contents.live_notes(process, "demo")
    note_id = note.key.rsplit("/", 1)[1].removesuffix(".md")
    return erasure.erase(process, ADMIN, "demo", [note_id], process.clock() + timing.REQUEST)


CHANGES: dict[str, Callable[[Process], object]] = {
    "edit of a section": append,
    "whole file": _write,
    "deletion of a file": lambda process: corrections.delete_file(process, "admin", "demo", "log.md", None),
    "undo": lambda process: corrections.undo(process, "admin", "demo", 1),
    "rules": lambda process: rules_change.change(process, "admin", "demo", NewRules("Keep all.")),
    "erasure": _erase,
}


@each(
    ("change", "seconds"),
    [(change, seconds) for change in CHANGES.values() for seconds in (0.5, 5, 45, 80)],
    ids=[f"{name}, {seconds} s" for name in CHANGES for seconds in (0.5, 5, 45, 80)],
)
def test_a_change_by_hand_beside_folds_without_a_gap_comes_after_the_fold_that_it_met(change: Any, seconds: float):
    world = space()
    folds = Folds(world, seconds)

    tries = tries_of(lambda: change(process_beside(world, folds)), folds, most=20)

    # It waits or comes again until that fold ends, and not for another one.
    assert tries <= 1 + seconds // WAITED
    assert folds.count <= 1
    # The folds go on afterwards.
    before = folds.count
    folds.pass_time(1)
    assert folds.count > before


def test_a_change_that_waits_answers_in_time_and_asks_little_of_the_store():
    world = space()
    folds = Folds(world, 80)
    begun = world.clock()
    process = process_beside(world, folds)
    world.client.reset()

    with pytest.raises(Busy, match="consolidation"):
        append(process)

    assert world.clock() - begun <= timedelta(seconds=WAITED)
    assert world.clock() - begun + timing.REQUEST <= timing.ANSWER
    # The head twice, and for each look the lease and the run that may have ended. The due index, and the wish.
    assert world.client.counts["GET"] <= 2 + 2 * (1 + len(lease.PAUSES))
    assert world.client.counts["PUT"] <= 2


def test_a_store_so_slow_that_the_looks_take_the_time_is_not_asked_for_longer():
    world = space()
    folds = Folds(world, 80)
    process = process_beside(world, folds)
    world.client.before = lambda index, verb: world.clock.move(3)
    begun = world.clock()

    with pytest.raises(Busy):
        append(process)

    assert world.clock() - begun < timedelta(seconds=WAITED + 4 * 3 + max(lease.PAUSES))


def shown(world: World) -> Lease | None:
    seen = lease.look(world.process, PLACE)
    return seen.lease if seen else None


def test_the_mark_of_a_change_that_waits_leaves_the_folds_life_and_its_renewal_as_they_were():
    world = space()
    held = lease.acquire(world.process, PLACE, "run", "consolidation", worker="w")
    world.clock.move(50)
    with pytest.raises(Busy):
        direct.take(world.process, "demo", "manual")
    marked = lease.look(world.process, PLACE)
    assert marked is not None
    assert (marked.lease.wanted, marked.lease.owner, marked.lease.seconds) == (True, "run", 40)

    lease.extend(world.process, held, timedelta(seconds=90))
    found = shown(world)
    assert found is not None
    assert (found.wanted, found.owner, found.seconds) == (True, "run", 90)
    assert lease.still_ours(world.process, held)
    # The wish is there already: nothing is written for the next one.
    puts = world.client.counts["PUT"]
    with pytest.raises(Busy):
        lease.acquire(world.process, PLACE, "edit", "manual", by_hand=True)
    assert world.client.counts["PUT"] == puts


def test_a_fold_that_nobody_waits_for_is_released_as_before():
    world = space()
    held = lease.acquire(world.process, PLACE, "run", "consolidation")
    world.client.reset()

    lease.release(world.process, held)

    assert world.client.counts == {"DELETE": 1}
    assert shown(world) is None


def test_a_place_that_nobody_comes_back_for_is_free_again_and_the_next_run_starts():
    world = space()
    held = lease.acquire(world.process, PLACE, "run", "consolidation")
    with pytest.raises(Busy):
        append(world.process)
    lease.release(world.process, held)
    assert counter.start_if_due(world.process, "demo", "threshold").result == "busy"
    with pytest.raises(Busy, match="comes before the next consolidation"):
        lease.acquire(world.process, PLACE, "other", "consolidation", by_hand=True)

    world.clock.move(lease.RESERVED.total_seconds())
    # The request that waited has left a word for the sweep.
    assert world.sweep().did("started") == ["demo"]
    world.work()
    assert shown(world) is None


def test_a_killed_change_that_waited_keeps_no_one_out_for_longer_than_its_place():
    world = space()
    folds = Folds(world, 5)

    def die(seconds: float) -> None:
        raise KeyboardInterrupt

    process = world.new_process()
    with pytest.raises(KeyboardInterrupt):
        append(replace(process, store=replace(process.store, sleep=die)))
    folds.pass_time(5 + lease.RESERVED.total_seconds() + 1)

    assert folds.count == 2
    assert world.bank()["log.md"].count("by hand") == 0


def test_a_lost_worker_of_a_marked_fold_is_followed_by_the_change_and_leaves_its_orphans_named():
    world = space()
    lease.acquire(world.process, PLACE, "01HZZZZZZZ0000000000000001", "consolidation", worker="w")
    with pytest.raises(Busy):
        append(world.process)
    world.clock.move(90)

    held = lease.acquire(world.process, PLACE, "edit", "manual", by_hand=True)

    assert held.lease.abandoned == ["01HZZZZZZZ0000000000000001"]
    assert not held.lease.wanted


def test_the_next_worker_of_the_same_run_keeps_the_wish():
    world = space()
    first = lease.acquire(world.process, PLACE, "run", "consolidation", worker="w")
    with pytest.raises(Busy):
        append(world.process)
    lease.let_go(world.process, first)
    again = lease.acquire(world.process, PLACE, "run", "consolidation", worker="v")
    lease.release(world.process, again)

    found = shown(world)
    assert found is not None
    assert found.kind == "reserved"


def test_a_request_that_is_sent_again_while_it_waits_is_carried_out_once():
    world = space()
    folds = Folds(world, 5)
    first = world.new_process()
    sent_again: list[None] = []

    def meanwhile(seconds: float) -> None:
        folds.pass_time(seconds)
        if not sent_again:
            sent_again.append(None)
            append(process_beside(world, folds))

    append(replace(first, store=replace(first.store, sleep=meanwhile)))

    assert world.bank()["log.md"].count("by hand") == 1
    assert heads.load(world.process, "demo").meta.changes == 2


@each("other", ["another text", "another author"])
def test_two_different_edits_that_wait_are_both_made(other: str):
    world = space()
    folds = Folds(world, 5)
    first = world.new_process()
    sent: list[None] = []

    def meanwhile(seconds: float) -> None:
        folds.pass_time(seconds)
        if not sent:
            sent.append(None)
            by = replace(ADMIN, name="ben") if other == "another author" else ADMIN
            append(process_beside(world, folds), "- by hand" if other == "another author" else "- by hand, too", by=by)

    append(replace(first, store=replace(first.store, sleep=meanwhile)))

    assert world.bank()["log.md"].count("by hand") == 2


def test_the_same_edit_later_is_another_edit():
    world = space()
    append(world.process)
    append(world.process)

    assert world.bank()["log.md"].count("by hand") == 2

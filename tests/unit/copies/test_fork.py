"""Another space as one stands now, or stood right after an earlier change."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livemem.access.principal import Principal
from livemem.bank import citations, corrections, files, history, time_travel
from livemem.changes import archive_notes, records, rules_change
from livemem.changes.rules_change import NewRules
from livemem.copies import catalog, fork, new_space, provisioning, restore, taking
from livemem.errors import Busy, Conflict, Forbidden, InvalidName, LiveMemoryError, NotFound, SpaceExists
from livemem.jobs import lease, places
from livemem.notes import idempotency
from livemem.notes.appending import NoteDraft
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import RECORD, RULES, RUN, SYNTHESIS_FILE
from tests.support.audit import audit, records_of
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.rest import check_alive, check_rest
from tests.support.space_fixtures import FOREIGN, differences, fill, objects, put, raw_note
from tests.support.world import EVERYONE, INVOCATION, World


def forked(world: World, target: str, at: int | None = None, source: str = "demo") -> Meta:
    head = order(world, target, at, source)
    meta = provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    assert meta
    return meta


def order(world: World, target: str, at: int | None = None, source: str = "demo", who: Principal = EVERYONE) -> Any:
    return fork.order(world.process, who, source, target, at, world.clock() + INVOCATION)


# As it stands now


def test_a_fork_is_the_space_as_it_stands_object_by_object():
    world = World()
    fill(world)
    before = objects(world, "demo")

    meta = forked(world, "other")

    assert differences(before, objects(world, "other"), "demo", "other") == []
    assert meta.uid != heads.load(world.process, "demo").meta.uid
    assert (meta.provisioning.kind, meta.provisioning.space_id, meta.provisioning.at) == ("fork", "demo", None)


def test_what_happens_in_a_fork_does_not_reach_its_source_nor_the_other_way_round():
    world = World()
    fill(world)
    forked(world, "other")
    source, other = objects(world, "demo"), objects(world, "other")

    world.note("in the fork", space_id="other")
    world.consolidate("other")
    assert objects(world, "demo") == source
    changed = objects(world, "other")
    world.note("in the source")
    world.consolidate("demo")

    assert objects(world, "other") == changed != other


def test_a_fork_takes_no_backup_where_nothing_has_changed_since_the_last_one():
    world = World()
    fill(world)
    backup_id = world.back_up().job_id
    forked(world, "one")
    forked(world, "two")
    assert catalog.ids(world.process, "demo") == [backup_id]

    world.note("changed")
    world.clock.move(1)
    forked(world, "three")

    newest = catalog.newest(world.process, "demo")
    assert newest
    assert newest.job_id != backup_id
    assert (newest.trigger, newest.transient) == ("fork", True)


# What is refused


def test_what_can_not_be_forked_is_refused_before_anything_is_written():
    world = World()
    fill(world)
    world.create_space("there")
    before = dict(world.inner.objects)
    refusals: list[tuple[type[LiveMemoryError], str, dict[str, Any]]] = [
        (NotFound, "other", {"source": "nowhere"}),
        (SpaceExists, "demo", {}),
        (SpaceExists, "there", {}),
        (InvalidName, "a/b", {}),
        (InvalidName, "other", {"source": "../demo"}),
        (NotFound, "other", {"at": 0}),
        (NotFound, "other", {"at": 6}),
        (NotFound, "other", {"at": -1}),
    ]

    for error, target, wanted in refusals:
        with pytest.raises(error):
            order(world, target, **wanted)

    assert world.inner.objects == before


def test_a_token_with_a_list_forks_what_is_on_it_and_learns_of_no_other():
    world = World()
    fill(world)
    world.create_space("secret")
    who = Principal("ann", frozenset(("read", "write", "admin")), frozenset({"mine"}))

    with pytest.raises(Forbidden):
        order(world, "other", who=who)
    world.create_space("mine")
    with pytest.raises(Forbidden):
        order(world, "secret", source="mine", who=who)


def test_a_fork_of_a_busy_space_is_told_to_wait():
    world = World()
    fill(world)
    lease.acquire(world.process, places.of_space("demo"), world.ids(), "consolidation")

    patient = world.with_parts(store=replace(world.store, sleep=world.clock.move))
    with pytest.raises(Busy):
        fork.order(patient, EVERYONE, "demo", "other", None, world.clock() + timedelta(seconds=20))

    assert world.keys("other") == []


def test_a_change_whose_successor_was_removed_by_a_lifecycle_rule_can_not_be_forked():
    world = World()
    fill(world)
    (second,) = [key for key in world.keys(RECORD.prefix("demo")) if "/000002_" in key]
    world.store.delete(second)

    with pytest.raises(Conflict) as refused:
        order(world, "other", 1)
    with pytest.raises(NotFound):
        order(world, "other", 2)

    assert "change 2 was removed" in refused.value.detail
    assert forked(world, "other", 3).changes == 3


@pytest.mark.parametrize("number", [1, 2])
def test_a_change_that_is_committed_but_not_written_out_is_finished_first(number: int):
    world = simple(1)
    world.note("x")
    world.order()

    def die(index: int, verb: str) -> None:
        if verb == "PUT" and "/_consolidations/" in world.client.requests[index][1]:
            raise Killed

    world.client.before = die
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    world.clock.move(120)
    assert heads.load(world.process, "demo").meta.committed_run

    with pytest.raises(NotFound):
        order(world, "other", 3)
    assert forked(world, "other", number).changes == number


def test_more_changes_than_can_be_taken_back_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("livemem.copies.fork.MOST_CHANGES", 3)
    world = World()
    fill(world)

    with pytest.raises(Conflict):
        order(world, "other", 1)

    assert forked(world, "other", 2).changes == 2


def test_a_head_that_tells_of_more_changes_than_there_can_be_costs_nothing():
    world = simple(2)
    heads.update(world.process, "demo", lambda meta: {"changes": 10**9 - 1, "undone": [(1, 10**9 - 1)]})

    with pytest.raises(Conflict):
        order(world, "other", 1)


# As it stood


def simple(count: int) -> World:
    """A space with so many consolidations of one note each."""
    world = World()
    world.create_space()
    for index in range(count):
        world.note(f"n{index}")
        world.clock.move(2)
        world.consolidate()
        world.clock.move(2)
    return world


def test_a_fork_at_a_change_reads_only_what_came_later_and_copies_no_more():
    world = simple(5)
    world.back_up()
    world.new_process()

    head = order(world, "other", 3)
    world.client.reset()
    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)

    read = [key.partition("/_consolidations/")[2][:6] for verb, key in world.client.requests if verb == "GET"]
    # Records of before are read to be written under the new id; the change's own is read besides.
    assert sorted(number for number in read if number) == ["000001", "000002", "000003", "000003", "000004", "000005"]


def test_only_what_was_there_then_is_in_the_fork():
    world = World()
    world.create_space()
    idempotency.append_once(world.process, "demo", "bob", NoteDraft("todo", "once"), "key-1")
    binary = raw_note(world, b"\xff\xfe")
    world.clock.move(2)
    early = world.consolidate(agent="bob").job_id
    world.clock.move(2)
    idempotency.append_once(world.process, "demo", "bob", NoteDraft("todo", "twice"), "key-2")
    world.clock.move(2)
    late = world.consolidate().job_id
    world.clock.move(2)
    assert world.consolidate().state == "nothing_to_do"
    for name, (content_type, body) in FOREIGN.items():
        put(world, name, body, content_type)

    meta = forked(world, "other", 1)

    names = set(objects(world, "other"))
    assert meta.provisioning
    assert meta.provisioning.objects == len(names)
    assert world.live_ids("other") == [binary]
    assert world.inner.objects[f"other/live/{binary}.md"].body == b"\xff\xfe"
    assert len([name for name in names if name.startswith("_idempotency/")]) == 1
    assert [name for name in names if name.startswith("_runs/") and ".displaced" not in name] == [f"_runs/{early}.json"]
    assert late != early
    # What no record tells of comes as it is now.
    assert {name for name in FOREIGN if not name.startswith("_runs/")} <= names


def test_a_run_that_ended_after_the_change_is_not_in_the_fork():
    world = simple(1)
    world.note("x")
    run = world.order()
    corrections.write_file(world.process, "ann", "demo", "a.md", "# A\n", None)
    world.clock.move(5)
    world.settle()

    forked(world, "other", 2)

    assert records.get(world.process, "demo", 3).run_id == run.job_id
    assert not world.store.get(RUN.key("other", run.job_id))
    assert audit(world.inner.objects, "other", world.live_ids("other")).clean()


def test_files_that_nobody_recorded_are_as_the_records_found_them_or_as_they_are():
    world = simple(1)
    put(world, "bank/by_hand.md", b"# Before\n", "text/markdown")
    put(world, "bank/untouched.md", b"# Untouched\n", "text/markdown")
    world.clock.move(2)
    corrections.write_file(world.process, "ann", "demo", "by_hand.md", "# After\n", None)
    world.clock.move(2)

    forked(world, "other", 1)

    assert world.bank("other") == {
        "by_hand.md": "# Before\n",
        "log.md": world.bank("demo")["log.md"],
        "untouched.md": "# Untouched\n",
    }
    assert objects(world, "other")["bank/by_hand.md"].metadata == {}


def test_a_hostile_record_writes_nothing_beside_the_fork():
    world = simple(2)
    (second,) = [key for key in world.keys(RECORD.prefix("demo")) if "/000002_" in key]
    record = json.loads(world.text(second))
    record["files"][0]["path"] = "../../demo/bank/log.md"
    world.inner.put_object(Bucket="b", Key=second, Body=json.dumps(record).encode())
    before = {key: stored for key, stored in world.inner.objects.items() if key.startswith("demo/")}

    with pytest.raises(LiveMemoryError):
        forked(world, "other", 1)

    assert {key: stored for key, stored in world.inner.objects.items() if key.startswith("demo/")}.items() >= {
        key: stored for key, stored in before.items() if key != "demo/_meta.json"
    }.items()
    assert world.keys("other/") == ["other/_meta.json"]
    assert new_space.load(world.process, "other").status == "failed"


# Every step of any history


def _note(world: World, text: str) -> bool:
    world.note(text, agent="bob" if len(text) % 2 else "ann")
    return False


def _consolidate(world: World, text: str) -> bool:
    return world.consolidate(max_notes=2).state == "done"


def _fold_one_agent(world: World, text: str) -> bool:
    return world.consolidate(agent="bob").state == "done"


def _correct(world: World, text: str) -> bool:
    corrections.write_file(world.process, "ann", "demo", f"{text[0]}/x.md", f"# {text}\n\nText.\n", None)
    return True


def _rewrite(world: World, text: str) -> bool:
    corrections.write_file(world.process, "ann", "demo", "log.md", f"# Log\n\n## Log\n\n{text}\n", None)
    return True


def _delete(world: World, text: str) -> bool:
    paths = sorted(world.bank())
    if paths:
        corrections.delete_file(world.process, "ann", "demo", paths[0], None)
    return bool(paths)


def _move(world: World, text: str) -> bool:
    try:
        archive_notes.move(world.process, "ann", "demo", until=keys.compact_time(world.clock()), reason="old")
    except archive_notes.NothingToMove:
        return False
    return True


def _rules(world: World, text: str) -> bool:
    rules_change.change(world.process, "ann", "demo", NewRules(f"Rules {text}."))
    return True


def _undo(world: World, text: str) -> bool:
    meta = heads.load(world.process, "demo").meta
    gone = {number for first, last in meta.undone or [] for number in range(first, last + 1)}
    standing = [number for number in range(1, meta.changes + 1) if number not in gone]
    if standing:
        world.undo(standing[-1])
    return bool(standing)


STEPS = (_note, _note, _consolidate, _fold_one_agent, _correct, _rewrite, _delete, _move, _rules, _undo, _undo)


@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=9))
@example([2, 0, 7, 0, 2])
@example([4, 2, 9])
@example([8, 2, 4, 9, 0, 2, 9])
@example([4, 4, 9, 10, 8, 9])
def test_a_fork_at_any_change_is_the_space_as_it_was_copied_right_after_it(choices: list[int]):
    world = World()
    world.create_space()
    _note(world, "first")
    world.clock.move(2)
    taken: dict[int, str] = {}
    for index, choice in enumerate(choices):
        changed = STEPS[choice](world, f"{'ab'[index % 2]}{index}")
        world.clock.move(2)
        if changed:
            number = heads.load(world.process, "demo").meta.changes
            taken[number] = f"copy{number}"
            forked(world, taken[number])
            world.clock.move(2)

    for number, copy in taken.items():
        at = f"fork{number}"
        forked(world, at, number)
        there, then = told(world, at, number), told(world, copy, number)
        # The whole of both is more than a report of the difference can take.
        assert [name for name in then if there[name] != then[name]] == [], number
        found = audit(world.inner.objects, at, world.live_ids(copy), unique=False)
        assert found.clean(), str(found)


def told(world: World, space_id: str, number: int) -> dict[str, Any]:
    """All that a space as it stood after a change is, but for what is told of its runs."""
    meta = heads.load(world.process, space_id).meta
    numbers = ("changes", "consolidation_count", "total_notes_processed", "undone", "last_consolidation")
    bank = {name: kept for name, kept in objects(world, space_id).items() if name.startswith(("bank/", "live/"))}
    return {
        "objects": {name: (kept.body.replace(space_id.encode(), b"ID"), kept.metadata) for name, kept in bank.items()},
        "texts": [
            world.store.get(key) and world.text(key) for key in (SYNTHESIS_FILE.key(space_id), RULES.key(space_id))
        ],
        "records": [record.model_dump(exclude={"notes"}) for record in records_of(world.inner.objects, space_id)],
        "head": {name: getattr(meta, name) for name in (*numbers, "rules_changed_at", "last_run", "prompt_cut")},
        "cited": {
            file.path: citations.citations(world.process, space_id, file).sections
            for file in files.listing(world.process, space_id, content=True)
        },
        "then": [
            time_travel.bank_at(world.process, space_id, time_travel.then(world.process, space_id, "1"), content=True)
        ]
        if number
        else [],
    }


@each("number", range(1, 6))
def test_a_fork_at_a_change_works_as_any_space(number: int):
    world = World()
    fill(world)

    heads.update(world.process, "demo", lambda meta: {"auto_paused": True, "left_out": world.live_ids()})
    meta = forked(world, "other", number)
    assert (meta.auto_paused, meta.left_out, meta.committed_run) == (False, [], None)
    assert meta.folded_until == max((name.last for name in records.names(world.process, "other")), default="")
    live = world.live_ids("other")

    newest = history.read(world.process, "other", number).summary
    if newest.kind != "undo":
        world.undo(number, "other")
    assert world.consolidate("other").state in ("done", "nothing_to_do")
    world.clock.move(3 * 3_600)
    world.sweep_all()
    found = check_rest(world, "other", live, unique=False) + check_alive(world, "other")
    # `fill` has put it there.
    displaced = [key for key in found.left_behind if ".displaced/" in key]
    assert (found.left_behind, found.lost, found.wrong_files, found.wrong_numbers) == (displaced, [], [], [])
    assert (found.blocked, found.wrong_reads, found.wrong_runs) == ([], [], [])


# What takes longer


def test_a_fork_whose_backup_takes_longer_goes_on_by_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(taking, "BATCH", 5)
    monkeypatch.setattr(restore, "BATCH", 5)
    world = World()
    fill(world)
    before = objects(world, "demo")
    soon = world.clock() + restore.MARGIN / 2

    head = fork.order(world.process, EVERYONE, "demo", "other", None, soon)
    assert provisioning.carry_on(world.process, head, soon) is None
    assert heads.find(world.process, "other") is None
    again = fork.order(world.process, EVERYONE, "demo", "other", None, soon)
    assert again.meta.uid == head.meta.uid
    assert len(catalog.ids(world.process, "demo")) == 1
    world.settle()

    assert differences(before, objects(world, "other"), "demo", "other") == []


def test_a_fork_whose_source_and_backup_are_gone_half_way_is_given_up():
    world = World()
    fill(world)
    head = order(world, "other", 2)
    lifecycle.delete(world.process, "demo", "demo")
    catalog.remove(world.process, "demo", head.meta.provisioning.backup_id)

    with pytest.raises(NotFound):
        provisioning.carry_on(world.process, head, world.clock() + INVOCATION)

    assert world.keys("other/") == ["other/_meta.json"]

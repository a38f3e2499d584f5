"""A space's changes and its end: compare-and-swap, marked before it is emptied, nothing left behind."""

import json
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem.access.principal import Principal
from livemem.bank import summary
from livemem.errors import Busy, Conflict, InvalidRequest, NotFound, SpaceBroken, TooLarge
from livemem.notes import pages
from livemem.spaces import directory, lifecycle, rules
from livemem.spaces import head as heads
from livemem.store import due_keys
from livemem.store.bucket import HEAD, NOTE, TOTALS
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World

ADMIN = Principal("admin", frozenset(("read", "write", "admin")), frozenset())
LATER = lifecycle.TOMBSTONE_LIFE.total_seconds()
TOMBSTONE = ["demo/_meta.json"]


def space_in_use() -> World:
    world = World()
    world.create_space(threshold=2)
    for number in range(2):
        world.note(f"note {number}")
    world.consolidate()
    world.note("live")
    world.new_process()
    return world


def test_a_patch_changes_what_it_names_and_bumps_the_revision():
    world = World()
    before = world.create_space(threshold=5)

    heads.patch(world.process, "demo", description="new", owner="bob")
    after = heads.patch(world.process, "demo", threshold=0, auto_paused=True)

    assert after.model_dump() == before.model_dump() | {
        "description": "new", "owner": "bob", "consolidation_threshold": 0, "auto_paused": True, "rev": 3,
        "pause_reason": "somebody paused it", "write_id": after.write_id,
    }  # fmt: skip
    assert heads.load(world.process, "demo").meta == after


@each("chars", [0, 2_000, 500_000])
def test_the_length_of_a_bank_may_be_none_or_within_its_bounds(chars: int):
    world = World()
    world.create_space()

    assert heads.patch(world.process, "demo", bank_chars=chars).bank_chars == chars


def test_a_space_from_before_the_length_of_a_bank_has_none():
    world = World()
    head = json.loads(world.create_space().to_bytes())
    del head["bank_chars"]
    world.process.store.put(HEAD.key("demo"), json.dumps(head).encode())

    assert heads.load(world.process, "demo").meta.bank_chars == 0
    assert heads.patch(world.process, "demo", description="new").bank_chars == 0


def test_an_empty_patch_writes_nothing():
    world = World()
    before = world.create_space()
    world.new_process()

    assert heads.patch(world.process, "demo") == before
    assert world.client.counts == {"GET": 1}


@each("change", [{"description": "x" * 501}, {"owner": "x" * 201}, {"owner": ""}, {"bank_chars": 1_999}])
def test_a_bad_patch_is_refused_before_anything_is_read(change: dict[str, Any]):
    world = World()
    world.create_space()
    world.new_process()

    with pytest.raises((TooLarge, InvalidRequest)) as refused:
        heads.patch(world.process, "demo", **change)

    assert [field.field for field in refused.value.fields] == list(change)
    assert world.client.counts == {}


def test_patches_that_race_are_both_kept():
    world = World()
    world.create_space()

    def other_patch(index: int, verb: str) -> None:
        world.client.after = lambda index, verb: None
        heads.patch(world.process, "demo", owner="bob")

    world.client.after = other_patch
    heads.patch(world.process, "demo", description="new")

    found = heads.load(world.process, "demo").meta
    assert (found.description, found.owner, found.rev) == ("new", "bob", 3)


def test_fields_that_a_newer_version_added_survive_a_change():
    world = World()
    world.create_space()
    body = world.text("demo/_meta.json").replace('"version": 1', '"version": 1, "colour": "blue"')
    world.inner.put_object(Bucket="b", Key="demo/_meta.json", Body=body.encode())

    heads.patch(world.process, "demo", owner="bob")

    assert '"colour": "blue"' in world.text("demo/_meta.json")


def test_a_deleted_space_takes_no_more_notes_after_thirty_seconds():
    world = World()
    world.create_space()
    world.new_process()
    world.note("known")
    # Another process deletes it: this one has no way to know at once.
    world.inner.objects = {key: stored for key, stored in world.inner.objects.items() if not key.startswith("demo/")}
    world.clock.move(29)
    heads.load_recent(world.process, "demo")

    world.clock.move(1)

    with pytest.raises(NotFound):
        world.note("late")
    assert world.keys("demo/") == []


def test_a_change_of_this_process_is_seen_by_it_at_once():
    world = World()
    world.create_space()
    heads.load_recent(world.process, "demo")

    heads.patch(world.process, "demo", description="new")

    assert heads.load_recent(world.process, "demo").meta.description == "new"


def test_a_head_that_can_not_be_read_is_an_error_and_not_an_unknown_space():
    world = World()
    world.create_space()
    world.inner.put_object(Bucket="b", Key="demo/_meta.json", Body=b"{")

    with pytest.raises(SpaceBroken):
        heads.load(world.process, "demo")


@each("space_id", ["nowhere", "demo2", "dem"])
def test_an_unknown_space_is_not_found(space_id: str):
    world = World()
    world.create_space()

    for ask in (
        lambda: heads.load(world.process, space_id),
        lambda: summary.info(world.process, space_id),
        lambda: heads.patch(world.process, space_id, owner="x"),
        lambda: lifecycle.delete(world.process, space_id, space_id),
        lambda: summary.summary(world.process, space_id),
        lambda: rules.read(world.process, space_id),
    ):
        with pytest.raises(NotFound) as missing:
            ask()
        assert missing.value.code == "space_not_found"


def test_the_info_of_a_space_counts_notes_and_files_and_nothing_else():
    world = space_in_use()
    world.inner.put_object(Bucket="b", Key="demo/live/stranger.md", Body=b"x")
    world.inner.put_object(Bucket="b", Key="demo/bank/stranger.txt", Body=b"x")

    found = summary.info(world.process, "demo")

    assert [entry.key for entry in found.live] == [NOTE.key("demo", note_id) for note_id in world.live_ids()]
    assert [entry.key for entry in found.bank] == ["demo/bank/log.md"]
    assert found.synthesis_exists
    assert found.meta.consolidation_count == 1


def test_a_deleted_space_is_gone_with_everything_and_its_neighbour_is_not():
    world = space_in_use()
    world.create_space("demo-2")
    world.note("x", space_id="demo-2")
    ours = ("demo/", due_keys.DUE)
    neighbour = {key: stored for key, stored in world.inner.objects.items() if not key.startswith(ours)}

    lifecycle.delete(world.process, "demo", "demo")

    tombstone = world.inner.objects.pop("demo/_meta.json")
    assert world.due("space") == ["demo"]
    world.store.delete_many(world.keys(due_keys.DUE))
    # That there were runs, and what they cost, is kept for the account.
    assert world.inner.objects.keys() == neighbour.keys()
    assert all(world.inner.objects[key] == neighbour[key] for key in neighbour)
    assert world.keys(TOTALS.prefix())
    assert json.loads(tombstone.body)["description"] == ""
    assert json.loads(tombstone.body)["deleted_at"] == "2026-02-20T14:00:00Z"
    with pytest.raises(NotFound):
        pages.get(world.process, "demo", "20260220T140000_ann_progress_00000001")


def test_a_deletion_costs_what_the_budget_says():
    world = space_in_use()
    for number in range(1_200):
        world.inner.put_object(Bucket="b", Key=f"demo/_idempotency/{number:064d}.json", Body=b"{}")

    lifecycle.delete(world.process, "demo", "demo")

    # ceil(A / 1000) LIST and DeleteObjects each, 1 GET and 1 PUT for the head, 1 PUT for the sweep, 1 GET for the
    # tokens; and 1 GET for each run of the last day: what one has asked that has not ended is counted.
    assert world.client.counts == {"GET": 2 + 1, "LIST": 2, "PUT": 2, "DeleteObjects": 2}


def test_a_space_is_not_deleted_while_a_commit_is_written():
    world = space_in_use()
    heads.update(world.process, "demo", lambda meta: {"committed_run": "01HZZZZZZZ0000000000000099"})
    before = dict(world.inner.objects)

    with pytest.raises(Busy):
        lifecycle.delete(world.process, "demo", "demo")

    assert world.inner.objects == before


@each("done", [False, True])
@each("point", range(5))
def test_a_deletion_that_died_at_any_request_is_finished_by_repetition_or_by_the_sweep(point: int, done: bool):
    world = space_in_use()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "demo", "demo")
    world.new_process()

    marked = heads.find(world.process, "demo") is None
    if marked:
        with pytest.raises(NotFound):
            lifecycle.delete(world.process, "demo", "demo")
        with pytest.raises(NotFound):
            world.note("into a deleted space")
        world.clock.move(LATER)
        world.sweep()
    else:
        assert len(world.live_ids()) == 1
        lifecycle.delete(world.process, "demo", "demo")

    assert world.keys("demo/") == TOMBSTONE


@pytest.mark.parametrize("point", [3, 4])
def test_a_creation_over_an_interrupted_deletion_waits_and_then_finishes_it(point: int):
    world = space_in_use()
    world.client.kill_at(point, done=False)
    with pytest.raises(Killed):
        lifecycle.delete(world.process, "demo", "demo")
    world.new_process()

    with pytest.raises(Conflict):
        world.create_space()

    world.clock.move(LATER)
    # What is removed now could be removed once more, by a repeated request: so the id rests again.
    with pytest.raises(Conflict):
        world.create_space()
    assert world.keys("demo/") == TOMBSTONE
    world.clock.move(LATER)
    world.create_space()
    assert len(world.keys("demo/")) == 4
    assert world.live_ids() == []


def test_an_id_is_free_again_21_minutes_after_the_deletion_and_the_refusal_says_when():
    world = space_in_use()
    old = heads.load(world.process, "demo").meta.uid
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(LATER - 0.5)

    with pytest.raises(Conflict) as refused:
        world.create_space()

    assert refused.value.retry_after == 1
    assert "2026-02-20T14:21:00Z" in refused.value.detail
    world.clock.move(0.5)
    assert world.create_space().uid != old
    assert heads.load(world.process, "demo").meta.rev == 1


def test_a_request_of_a_deletion_that_is_repeated_later_can_not_hit_the_next_space():
    world = space_in_use()
    repeats: list[tuple[str, dict[str, Any]]] = []
    for name in ("put_object", "delete_objects", "delete_object"):
        whole = getattr(world.inner, name)

        def noted(_name: str = name, _whole: Any = whole, **arguments: Any) -> Any:
            repeats.append((_name, arguments))
            return _whole(**arguments)

        setattr(world.inner, name, noted)
    lifecycle.delete(world.process, "demo", "demo")
    sent = list(repeats)
    assert {name for name, _ in sent} == {"put_object", "delete_objects"}

    # As late as the store's client ever does, and then the space is created as early as it can be.
    world.clock.move(LATER - 1)
    for name, arguments in sent:
        with suppress(ClientError):
            getattr(world.inner, name)(**arguments)
    world.clock.move(1)
    meta = world.create_space()

    assert heads.load(world.process, "demo").meta == meta
    assert len(world.keys("demo/")) == 4


def test_a_note_that_came_after_the_deletion_is_not_the_next_spaces():
    world = space_in_use()
    note = next(key for key in world.inner.objects if NOTE.parse(key))
    late = world.inner.objects[note]
    lifecycle.delete(world.process, "demo", "demo")
    world.inner.objects[note] = late
    world.clock.move(LATER)

    assert world.sweep().did("cleaned") == ["demo"]
    assert world.sweep().did("cleaned") == []
    world.clock.move(LATER)
    world.create_space()
    assert world.live_ids() == []


def test_a_deletion_by_request_wants_the_id_twice():
    world = space_in_use()
    before = dict(world.inner.objects)

    for confirm in (None, "", "Demo", "demo "):
        with pytest.raises(InvalidRequest) as refused:
            lifecycle.delete(world.process, "demo", confirm)
        assert [field.field for field in refused.value.fields] == ["confirm"]

    assert world.inner.objects == before
    lifecycle.delete(world.process, "demo", "demo")
    assert world.keys("demo/") == TOMBSTONE


def test_the_list_of_spaces_shows_what_the_token_may_see_page_by_page():
    world = World()
    for space_id in ("alpha", "beta", "beta-2", "delta"):
        world.create_space(space_id)
    lifecycle.delete(world.process, "beta", "beta")
    limited = Principal("ann", frozenset(("read",)), frozenset(("delta", "beta", "alpha", "gone")))

    def listed(principal: Principal, limit: int, after: str | None = None) -> tuple[list[str], str | None]:
        found, more = directory.page(world.process, principal, limit=limit, after=after)
        return [meta.space_id for meta in found], more

    assert listed(ADMIN, 50) == (["alpha", "beta-2", "delta"], None)
    assert listed(ADMIN, 3) == (["alpha", "beta-2", "delta"], None)
    assert listed(ADMIN, 2) == (["alpha", "beta-2"], "beta-2")
    assert listed(ADMIN, 2, "beta-2") == (["delta"], None)
    assert listed(limited, 50) == (["alpha", "delta"], None)
    assert listed(limited, 1) == (["alpha"], "alpha")
    assert listed(limited, 2, "alpha") == (["delta"], None)
    assert listed(limited, 2, "delta") == ([], None)


def test_the_summary_is_all_that_an_agent_loads():
    world = space_in_use()

    found = summary.summary(world.process, "demo")

    assert found.rules == "Keep a log."
    assert [(file.path, file.content) for file in found.bank] == list(world.bank().items())
    assert found.synthesis is not None
    assert found.synthesis.content.strip() == "2 notes."
    assert found.meta.consolidation_count == 1


def test_the_summary_of_a_new_space_has_no_synthesis_and_no_files():
    world = World()
    world.create_space()

    found = summary.summary(world.process, "demo")

    assert (found.synthesis, found.bank) == (None, [])

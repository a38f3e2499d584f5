"""The life of what is brought here: claimed once, seen when it is whole, given up where it can't be."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.bank import corrections
from livemem.copies import catalog, new_space, provisioning, restore
from livemem.copies import manifest as manifests
from livemem.copies.manifest import BackupObject
from livemem.errors import (
    BackupDamaged,
    Conflict,
    Forbidden,
    InvalidName,
    LiveMemoryError,
    NotFound,
    PreconditionLost,
    SpaceExists,
    StoreUnavailable,
)
from livemem.jobs import job as jobs
from livemem.jobs.job import Failure
from livemem.process import Process
from livemem.spaces import directory, lifecycle
from livemem.spaces import head as heads
from livemem.store import due_keys, keys, timing
from livemem.store.bucket import TOKENS
from livemem.upkeep import health
from tests.support.actors import Actor
from tests.support.cases import each
from tests.support.counting import Request
from tests.support.part import part
from tests.support.space_fixtures import Kept, differences, objects, put
from tests.support.world import EVERYONE, INVOCATION, World
from tests.unit.access.test_access import enter, token

FREE_AGAIN = lifecycle.TOMBSTONE_LIFE.total_seconds()
ALONE = timing.BY_HAND.total_seconds() + 1
DAY = 24 * 3_600


def backed_up(notes: int = 3) -> tuple[World, str]:
    """A world with a small space and a backup of it."""
    world = World()
    world.create_space()
    for index in range(notes):
        world.note(f"n{index}")
    world.consolidate()
    world.note("live")
    backup_id = world.back_up().job_id
    world.clock.move(60)
    world.new_process()
    return world, backup_id


def order(world: World, backup_id: str, target: str | None = "copy", who: Principal = EVERYONE) -> heads.Head:
    return restore.order(world.process, who, "demo", backup_id, target)


def carry_on(world: World, head: heads.Head, process: Process | None = None) -> heads.Meta | None:
    return provisioning.carry_on(process or world.process, head, world.clock() + INVOCATION)


def payload(head: heads.Head) -> dict[str, Any]:
    """Of an invocation that goes on with it."""
    job = new_space.of_head(head).value
    return provisioning.KINDS[job.kind].payload(job.space_id, job.job_id)


def worker(world: World, head: heads.Head) -> Actor:
    """Somebody who brings it, request by request."""
    return Actor("worker", world, lambda actor: carry_on(world, head, actor.process), world.clock() + INVOCATION)


def whole(world: World, before: dict[str, Kept], target: str = "copy") -> bool:
    return heads.find(world.process, target) is not None and not differences(
        before, objects(world, target), "demo", target
    )


# The claim


def test_a_restore_over_an_existing_space_is_refused_and_nothing_is_written():
    world, backup_id = backed_up()
    world.create_space("copy")
    before = dict(world.inner.objects)

    for target in (None, "demo", "copy"):
        with pytest.raises(SpaceExists):
            order(world, backup_id, target)

    assert world.inner.objects == before


@each(
    ("backup_id", "error"),
    [
        ("2026-02-20T02-00-00", NotFound),
        ("2026-02-30T02-00-00", InvalidName),
        ("../2026-02-20T02-00-00", InvalidName),
        ("", InvalidName),
        ("2026-02-20T02:00:00", InvalidName),
    ],
)
def test_an_unknown_or_malformed_backup_is_refused_and_nothing_is_written(backup_id: str, error: type[Exception]):
    world, _ = backed_up()
    before = dict(world.inner.objects)

    with pytest.raises(error):
        order(world, backup_id)

    assert world.inner.objects == before


@each("target", ["_system", "a/b", "..", "x" * 65])
def test_a_malformed_target_is_refused_and_nothing_is_written(target: str):
    world, backup_id = backed_up()
    before = dict(world.inner.objects)

    with pytest.raises(InvalidName):
        order(world, backup_id, target)

    assert world.inner.objects == before


@each("state", [{"status": "running"}, {"status": "failed"}, {"status": "cancelled"}])
def test_a_backup_that_is_not_complete_is_never_restored(state: dict[str, Any]):
    world, backup_id = backed_up()
    saved = manifests.load(world.process, "demo", backup_id)
    jobs.change(world.process, saved, **state)

    with pytest.raises(NotFound):
        order(world, backup_id)


def test_the_same_request_again_goes_on_and_another_one_is_told_to_wait():
    world, backup_id = backed_up()
    head = order(world, backup_id)
    world.clock.move(1)

    again = order(world, backup_id)
    with pytest.raises(Conflict) as refused:
        order(world, backup_id, who=replace(EVERYONE, name="bob"))
    with pytest.raises(Conflict):
        world.create_space("copy")

    assert again.meta.uid == head.meta.uid
    assert refused.value.retry_after == 60
    activated = carry_on(world, head)
    # A twin that has begun earlier finds it done.
    assert carry_on(world, again) == activated


def test_a_claim_whose_answer_got_lost_is_found_by_the_same_request():
    world, backup_id = backed_up()
    world.client.break_at(6, "InternalError", 500, done=True)
    with pytest.raises(StoreUnavailable):
        order(world, backup_id)
    world.new_process()

    assert carry_on(world, order(world, backup_id))


def test_nobody_sees_a_space_before_all_of_it_is_there():
    world, backup_id = backed_up()
    before = objects(world, "demo")
    head = order(world, backup_id)
    seen = []
    # No LLM is asked whether it is there: that would leave the world.
    settings = world.settings.model_copy(update={"llmaas_api_url": ""})

    def look(index: int, verb: str) -> None:
        reader = world.process_on(world.inner, settings=settings)
        present = heads.find(reader, "copy") is not None
        seen.append(present)
        if not present:
            with pytest.raises(NotFound):
                heads.load(reader, "copy")
            with pytest.raises(NotFound):
                lifecycle.delete(reader, "copy", "copy")
            assert "copy" not in [meta.space_id for meta in directory.page(reader, EVERYONE, limit=9, after=None)[0]]
            assert not health.deep(reader, EVERYONE).problems

    world.client.before = look
    carry_on(world, head)

    # The last request is the swap that makes it visible.
    assert world.client.requests[-1] == ("PUT", "copy/_meta.json")
    assert not any(seen)
    assert whole(world, before)


# Damaged backups


def change_manifest(world: World, backup_id: str, change: Callable[[list[BackupObject]], list[BackupObject]]) -> None:
    saved = manifests.load(world.process, "demo", backup_id)
    jobs.change(world.process, saved, items=tuple(change(list(saved.value.items or ()))))


def of_kind(items: list[BackupObject], part: str) -> BackupObject:
    return next(item for item in items if part in item.name)


@each(
    "name",
    [
        "../x",
        "/etc/passwd",
        "..",
        "bank/../../other/_meta.json",
        "live/./x",
        "bank/a\nb.md",
        "bank/" + "x" * 896,
        "bank/log.md",
    ],
)
def test_a_manifest_with_a_name_that_no_space_can_hold_is_refused_and_nothing_is_written(name: str):
    world, backup_id = backed_up()
    change_manifest(world, backup_id, lambda items: [*items, replace(items[0], name=name)])
    before = dict(world.inner.objects)

    with pytest.raises(BackupDamaged):
        order(world, backup_id)

    assert world.inner.objects == before


@each("name", ["_lease.json", "_runs/01KHXNKFM80000000000000005.plan.json", "_manifest.json"])
def test_a_manifest_brings_no_lease_no_plan_and_no_manifest_into_a_space(name: str):
    world, backup_id = backed_up()
    before = objects(world, "demo")
    world.inner.put_object(Bucket="b", Key=f"_backups/demo/{backup_id}/{name}x", Body=b"{}")
    change_manifest(world, backup_id, lambda items: [*items, replace(items[0], name=name)])

    carry_on(world, order(world, backup_id))

    assert whole(world, before)


DAMAGES: dict[str, Callable[[World, str], object]] = {
    "a note is missing": lambda world, folder: world.inner.objects.pop(
        next(key for key in world.inner.objects if key.startswith(f"{folder}live/2026"))
    ),
    "a bank file was changed": lambda world, folder: world.inner.put_object(
        Bucket="b", Key=f"{folder}bank/log.md", Body=b"#" * len(world.text(f"{folder}bank/log.md").encode())
    ),
    "the head was changed": lambda world, folder: world.inner.put_object(
        Bucket="b",
        Key=f"{folder}_meta.json",
        Body=world.text(f"{folder}_meta.json").replace("ann", "bob").encode() + b" ",
    ),
    "the head is missing": lambda world, folder: world.inner.objects.pop(f"{folder}_meta.json"),
    "the manifest says another size": lambda world, folder: change_manifest(
        world,
        folder.split("/")[2],
        lambda items: [replace(item, size=item.size + 1) if "/2026" in item.name else item for item in items],
    ),
    "the manifest has no head": lambda world, folder: change_manifest(
        world, folder.split("/")[2], lambda items: [item for item in items if item.name != "_meta.json"]
    ),
}


@each("damage", DAMAGES)
def test_a_damaged_backup_is_refused_before_anything_is_brought_and_the_tombstone_tells(damage: str):
    world, backup_id = backed_up()
    DAMAGES[damage](world, f"_backups/demo/{backup_id}/")
    world.client.reset()
    head = order(world, backup_id)

    with pytest.raises(BackupDamaged):
        carry_on(world, head)

    assert world.keys("copy/") == ["copy/_meta.json"]
    assert {key for verb, key in world.client.requests if verb in ("PUT", "COPY")} <= {
        "copy/_meta.json",
        *(key for key in world.keys(due_keys.DUE) if key.endswith("-copy/space")),
    }
    told = new_space.load(world.process, "copy")
    assert told.error
    assert (told.status, told.error.code) == ("failed", "backup_damaged")
    with pytest.raises(Conflict):
        world.create_space("copy")
    world.clock.move(FREE_AGAIN)
    assert world.create_space("copy").provisioning is None


def rewrite_head(world: World, backup_id: str, **changes: Any) -> None:
    """Put another head into a backup, which the manifest knows of."""
    key = f"_backups/demo/{backup_id}/_meta.json"
    body = json.dumps(json.loads(world.text(key)) | changes).encode()
    etag = world.inner.put_object(Bucket="b", Key=key, Body=body)["ETag"]
    change_manifest(
        world,
        backup_id,
        lambda items: [replace(item, etag=etag, size=len(body)) if item.name == keys.META else item for item in items],
    )


@each("changes", [{"space_id": "emod"}, {"rev": "many"}, {"uid": None}])
def test_a_backup_with_a_head_of_another_space_or_of_none_is_refused(changes: dict[str, Any]):
    world, backup_id = backed_up()
    rewrite_head(world, backup_id, **changes)

    with pytest.raises(BackupDamaged):
        carry_on(world, order(world, backup_id))


def test_what_was_under_way_in_a_head_holds_the_restored_space_in_nothing():
    world, backup_id = backed_up()
    (live,) = world.live_ids()
    under_way = {"committed_run": world.ids(), "late_duplicates": [live], "erasing": {"at_work": world.ids()}}
    rewrite_head(world, backup_id, **under_way, deleted_at="2026-01-01T00:00:00Z")

    carry_on(world, order(world, backup_id))

    assert world.live_ids("copy") == [live]
    meta = heads.load(world.process, "copy").meta
    assert (meta.committed_run, meta.erasing) == (None, None)
    assert world.consolidate("copy").state == "done"


def change_while_copying(world: World, backup_id: str, change: Callable[[], None]) -> None:
    """Let something happen just before the first object is copied, after the backup was found whole."""

    def carry(request: Request) -> Any:
        if request.verb in ("COPY", "PUT") and request.key.startswith("copy/"):
            world.client.carry = lambda other: other.send(world.inner)
            change()
        return request.send(world.inner)

    world.client.carry = carry


def test_an_object_that_is_changed_while_it_is_copied_is_noticed():
    world = World()
    world.create_space()
    world.note("x")
    backup_id = world.back_up().job_id
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(FREE_AGAIN)
    head = order(world, backup_id, None)
    (note,) = [key for key in world.keys("_backups/") if "/live/2026" in key]

    def carry(request: Request) -> Any:
        if request.verb == "COPY":
            world.inner.put_object(Bucket="b", Key=note, Body=b"something else")
        return request.send(world.inner)

    world.client.carry = carry
    with pytest.raises(BackupDamaged):
        carry_on(world, head)

    assert world.keys("demo/") == ["demo/_meta.json"]


def test_a_backup_that_is_removed_half_way_ends_the_restore_and_nothing_is_left():
    world, backup_id = backed_up()
    head = order(world, backup_id)
    other = world.process_on(world.inner)
    change_while_copying(world, backup_id, lambda: catalog.remove(other, "demo", backup_id))

    with pytest.raises(NotFound) as refused:
        carry_on(world, head)

    assert refused.value.code == "backup_not_found"
    assert world.keys("copy/") == ["copy/_meta.json"]
    told = new_space.load(world.process, "copy").error
    assert told == Failure(code="backup_not_found", detail=refused.value.detail)


def test_a_backup_that_is_changed_half_way_is_tried_again_as_it_is_then():
    """An erasure takes a note's text out of a backup, and tells its manifest."""
    world, backup_id = backed_up()
    head = order(world, backup_id)
    key = f"_backups/demo/{backup_id}/_synthesis.md"

    def erase() -> None:
        etag = world.inner.put_object(Bucket="b", Key=key, Body=b"erased", ContentType="text/markdown")["ETag"]
        saved = manifests.load(world.with_parts(store=world.process_on(world.inner).store), "demo", backup_id)
        known = saved.value.items or ()
        items = tuple(replace(i, etag=etag, size=6) if i.name == "_synthesis.md" else i for i in known)
        jobs.change(world.process_on(world.inner), saved, items=items)

    change_while_copying(world, backup_id, erase)
    with pytest.raises(PreconditionLost):
        carry_on(world, head)
    carry_on(world, order(world, backup_id))

    assert world.text("copy/_synthesis.md") == "erased"


# Tokens


def restricted(world: World, *space_ids: str) -> Principal:
    world.inner.put_object(
        Bucket="b", Key=TOKENS, Body=registries.Registry(tokens=[token(space_ids=list(space_ids))]).to_bytes()
    )
    world.new_process()
    return enter(world)


def spaces_of_the_token(world: World) -> list[str] | None:
    return registries.Registry.from_bytes(world.text(TOKENS).encode()).tokens[0].space_ids


def test_a_token_with_a_list_gets_the_restored_space_added_and_taken_off_if_it_is_given_up():
    world, backup_id = backed_up()
    who = restricted(world, "demo")

    head = order(world, backup_id, "copy", who)
    assert spaces_of_the_token(world) == ["demo", "copy"]
    catalog.remove(world.process, "demo", backup_id)
    with pytest.raises(NotFound):
        carry_on(world, head)

    assert spaces_of_the_token(world) == ["demo"]


def test_a_token_with_a_list_can_restore_nothing_that_is_not_on_it_nor_learn_of_it():
    world, backup_id = backed_up()
    world.create_space("secret")
    world.create_space("mine")
    who = restricted(world, "mine")
    before = dict(world.inner.objects)

    with pytest.raises(Forbidden):
        order(world, backup_id, "copy", who)
    with pytest.raises(Forbidden):
        restore.order(world.process, replace(who, space_ids=frozenset({"demo"})), "demo", backup_id, "secret")

    # Beside that it tried, and has its place back.
    assert {key: one for key, one in world.inner.objects.items() if not key.startswith("_system/caps/")} == before


# Who goes on, and who does not


def test_a_restore_whose_store_failed_is_finished_by_the_same_request():
    world, backup_id = backed_up()
    before = objects(world, "demo")
    head = order(world, backup_id)
    world.client.break_at(len(world.client.requests) + 9, "InternalError", 500, done=False)
    with pytest.raises(StoreUnavailable):
        carry_on(world, head)
    assert heads.find(world.process, "copy") is None
    world.new_process()

    carry_on(world, order(world, backup_id))

    assert whole(world, before)


def test_the_sweep_hands_over_what_nobody_works_on_any_more_and_not_before():
    world, backup_id = backed_up()
    before = objects(world, "demo")
    order(world, backup_id)

    world.clock.move(ALONE - 2)
    world.sweep()
    assert not world.queued
    world.clock.move(2)
    report = world.sweep()
    assert report.did("handed_over") == ["copy"]
    world.settle()

    assert whole(world, before)
    assert new_space.load(world.process, "copy").status == "done"


def test_the_sweep_gives_up_after_a_day_what_nobody_could_finish():
    world, backup_id = backed_up()
    order(world, backup_id)
    put(world, "bank/half.md", b"# Half\n", "text/markdown", "copy")
    for _ in range(100):
        world.clock.move(900)
        world.sweep()
        # Every invocation is lost.
        world.queued.clear()

    told = new_space.load(world.process, "copy")
    assert told.error
    assert (told.status, told.error.code) == ("failed", "not_finished")
    assert world.keys("copy/") == ["copy/_meta.json"]
    assert "copy" not in world.due("space")


def test_an_invocation_that_comes_after_a_day_gives_up_what_it_should_bring():
    world, backup_id = backed_up()
    head = order(world, backup_id)
    world.clock.move(DAY + 1)

    assert world.work(payload(head)) == {"status": "failed"}
    told = new_space.load(world.process, "copy")
    assert told.error
    assert told.error.code == "not_finished"
    # A second delivery removes nothing once more: by then the id may be another space's.
    world.client.reset()
    assert world.work(payload(head)) == {"status": "failed"}
    assert world.client.counts == {"GET": 1}
    assert world.keys("copy/") == ["copy/_meta.json"]


def test_an_invocation_of_a_provisioning_that_has_ended_or_is_another_one_does_nothing():
    world, backup_id = backed_up()
    head = order(world, backup_id)
    ours = payload(head)
    before = dict(world.inner.objects)

    assert world.work({**ours, "job_id": "other"}) == {"status": "gone"}
    assert world.work({**ours, "job_id": ""}) == {"status": "gone"}
    assert world.work({**ours, "space_id": "demo"}) == {"status": "gone"}
    assert world.work({**ours, "space_id": "nowhere"}) == {"status": "gone"}
    assert world.inner.objects == before
    assert world.work(ours) == {"status": "done"}
    before = dict(world.inner.objects)
    assert world.work(ours) == {"status": "done"}
    assert world.inner.objects == before


def test_who_was_overtaken_activates_nothing_and_gives_nothing_up():
    world, backup_id = backed_up()
    before = objects(world, "demo")
    first = order(world, backup_id)
    second = new_space.head_of(jobs.change(world.process, new_space.of_head(first), held_seconds=900))

    with pytest.raises(PreconditionLost):
        carry_on(world, first)
    assert heads.find(world.process, "copy") is None
    without = world.fork()
    catalog.remove(without.process, "demo", backup_id)
    with pytest.raises(PreconditionLost):
        carry_on(without, first)
    assert new_space.load(without.process, "copy").status == "running"

    assert carry_on(world, second)
    assert whole(world, before)


def test_a_restored_space_that_was_deleted_is_not_being_provisioned_any_more():
    world, backup_id = backed_up()
    carry_on(world, order(world, backup_id))
    lifecycle.delete(world.process, "copy", "copy")

    with pytest.raises(NotFound):
        new_space.load(world.process, "copy")
    with pytest.raises(NotFound):
        new_space.load(world.process, "demo")


def test_the_answer_to_the_last_swap_may_get_lost():
    world, backup_id = backed_up()
    head = order(world, backup_id)

    def carry(request: Request) -> Any:
        answer = request.send(world.inner)
        if request.verb == "PUT" and request.key == "copy/_meta.json":
            raise StoreUnavailable("lost")
        return answer

    world.client.carry = carry

    assert carry_on(world, head) == heads.load(world.process, "copy").meta


def test_what_a_creation_that_lost_the_race_has_written_does_not_stay():
    world, backup_id = backed_up()
    before = objects(world, "demo")
    world.store.delete(f"_backups/demo/{backup_id}/live/.keep")
    change_manifest(world, backup_id, lambda items: [item for item in items if item.name != "live/.keep"])
    del before["live/.keep"]
    wanted = lifecycle.SpaceRequest("copy", rules="Other rules.")
    creation = Actor(
        "creation", world, lambda actor: lifecycle.create(actor.process, EVERYONE, wanted), world.clock() + INVOCATION
    )
    creation.step(2)

    head = order(world, backup_id)
    creation.finish()
    carry_on(world, head)

    assert isinstance(creation.error, SpaceExists)
    assert whole(world, before)


# Late workers and late requests


def changed_since(world: World) -> None:
    """What users do in a restored space at once: every kind of object changes or goes."""
    corrections.write_file(world.process, "ann", "copy", "late.md", "# Late\n", None)
    world.consolidate("copy")
    corrections.delete_file(world.process, "ann", "copy", "log.md", None)
    world.note("new", space_id="copy")
    put(world, "conversations/c.json", b"[2]", "application/json", "copy")


def settled(world: World) -> dict[str, Kept]:
    """What users see of the space: bank, records and live notes."""
    world.settle()
    world.sweep_all()
    names = ("bank/", "live/", "_consolidations/", "_rules", "_synthesis", "conversations/")
    return {name: kept for name, kept in objects(world, "copy").items() if name.startswith(names)}


def noted_since(world: World) -> None:
    """Somebody has just written a note."""
    world.note("new", space_id="copy")


@pytest.mark.slow
@pytest.mark.parametrize(("change", "last"), [(changed_since, 30), (noted_since, 5)])
def test_a_worker_that_wakes_up_after_the_activation_changes_nothing_that_changed_since(
    change: Callable[[World], None], last: int
):
    ready, _ = backed_up()
    put(ready, "conversations/c.json", b"[1]", "application/json")
    backup_id = ready.back_up().job_id
    head = order(ready, backup_id)
    for standing in part(range(1, last), 5):
        world = ready.fork()
        late = worker(world, head)
        late.step(standing)
        carry_on(world, head)
        change(world)
        before = settled(world.fork())

        late.finish()

        assert late.error is None or isinstance(late.error, LiveMemoryError)
        assert settled(world) == before, f"stood before request {standing}"


def test_a_request_of_a_restore_that_comes_late_changes_nothing_that_changed_since():
    world, backup_id = backed_up()
    put(world, "conversations/c.json", b"[1]", "application/json")
    backup_id = world.back_up().job_id
    first = worker(world, order(world, backup_id))
    first.finish()
    assert first.error is None
    changed_since(world)
    before = settled(world.fork())

    repeated = world.repeatable()
    assert len(repeated) > 8
    for sent in repeated:
        later = world.fork()
        later.repeat(next(one for one in later.sent if one == sent))
        assert settled(later) == before, sent.request


def test_a_given_up_provisioning_is_an_ordinary_tombstone():
    world, backup_id = backed_up()
    head = order(world, backup_id)
    late = worker(world, head)
    late.step(12)
    failed = Failure(code="backup_damaged", detail="x")
    read = provisioning.KINDS["restore"].read(world.process)
    jobs.finish(world.process, new_space.of_head(head), "failed", read=read, error=failed)
    new_space.clear(world.process, "copy")
    late.finish()
    assert isinstance(late.error, PreconditionLost)
    assert len(world.keys("copy/")) > 1

    for _ in range(6):
        world.clock.move(900)
        world.sweep()

    assert world.keys("copy/") == ["copy/_meta.json"]
    assert world.create_space("copy").rev == 1
    assert json.loads(world.text("copy/_meta.json"))["provisioning"] is None

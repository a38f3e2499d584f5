"""What a restored space is: the space that was backed up, object by object, and alive."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws

from livemem.bank import citations, files, history, time_travel
from livemem.changes import records, run_progress
from livemem.copies import new_space, provisioning, restore
from livemem.errors import BackupDamaged, Conflict
from livemem.jobs import job as jobs
from livemem.jobs import lease, places
from livemem.notes import idempotency, pages
from livemem.notes.appending import NoteDraft
from livemem.notes.pages import NotesFilter
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import LEASE, RUN, TOTALS
from livemem.store.capability_check import require_conditional_writes
from tests.support.bucket import FakeS3
from tests.support.cases import each
from tests.support.counting import CountingClient, Killed
from tests.support.rest import check_alive, check_rest
from tests.support.space_fixtures import DERIVED, differences, fill, objects, put
from tests.support.world import EVERYONE, INVOCATION, World

FREE_AGAIN = lifecycle.TOMBSTONE_LIFE.total_seconds()


def backed_up(world: World) -> str:
    fill(world)
    return world.back_up().job_id


def gone(world: World) -> None:
    """Delete the space, and wait until its id is free."""
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(FREE_AGAIN)
    world.new_process()


@each("target", ["demo", "copy"])
@each("threads", [1, 16])
def test_a_restored_space_is_what_was_backed_up_object_by_object(target: str, threads: int):
    world = World(threads=threads)
    backup_id = backed_up(world)
    before = objects(world, "demo")
    gone(world)

    meta = world.restore("demo", backup_id, target)

    assert meta
    after = objects(world, target)
    assert differences(before, after, "demo", target) == []
    assert len(after) == meta.provisioning.objects == len(before) - len(DERIVED)
    assert {name.partition("/")[0] for name in after} >= {"live", "bank", "_runs", "_consolidations", "_idempotency"}


@mock_aws
def test_on_another_store_as_well(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    client = boto3.client("s3", region_name="us-east-1")
    client.create_bucket(Bucket="bucket")
    made, world = World(), World(client)
    fill(made)
    for key, stored in made.inner.objects.items():
        client.put_object(Bucket="bucket", Key=key, Body=stored.body, Metadata=stored.metadata)
    world.clock.moment, world.ids.count = made.clock(), made.ids.count
    backup_id = world.back_up().job_id
    before = objects(world, "demo")

    world.restore("demo", backup_id, "copy")

    assert differences(before, objects(world, "copy"), "demo", "copy") == []


class OwnEtags(FakeS3):
    """A store that gives each object an ETag of its own, as S3 does with keys of KMS."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(clock)
        self.written = 0

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        return self._renamed(arguments["Key"], super().put_object(**arguments))

    def copy_object(self, **arguments: Any) -> dict[str, Any]:
        super().copy_object(**arguments)
        return {"CopyObjectResult": self._renamed(arguments["Key"], {})}

    def _renamed(self, key: str, answer: dict[str, Any]) -> dict[str, Any]:
        self.written += 1
        etag = f'"{self.written:032x}"'
        self.objects[key] = replace(self.objects[key], etag=etag)
        return {**answer, "ETag": etag}


def on_own_etags() -> World:
    world = World()
    world.inner = OwnEtags(world.clock)
    world.client = CountingClient(world.inner)
    world.new_process()
    return world


@pytest.mark.parametrize("target", ["demo", "copy"])
def test_where_each_copy_has_an_etag_of_its_own_too(target: str):
    world = on_own_etags()
    backup_id = backed_up(world)
    before = objects(world, "demo")
    gone(world)
    head = restore.order(world.process, EVERYONE, "demo", backup_id, target)
    world.client.kill_at(len(world.client.requests) + 40, done=True)
    with pytest.raises(Killed):
        provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    copied = {key for verb, key in world.client.requests if verb == "COPY"}
    assert bool(copied) == (target == "demo")
    world.new_process()

    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)

    assert differences(before, objects(world, target), "demo", target) == []
    assert not copied & {key for verb, key in world.client.requests if verb == "COPY"}


def test_there_too_a_changed_object_is_noticed():
    world = on_own_etags()
    backup_id = backed_up(world)
    note = next(key for key in world.keys(f"_backups/demo/{backup_id}/live/2026"))
    world.inner.put_object(Bucket="b", Key=note, Body=b"x" * len(world.inner.objects[note].body))

    with pytest.raises(BackupDamaged):
        world.restore("demo", backup_id, "copy")


def test_the_head_follows_but_for_what_was_under_way():
    world = World()
    backup_id = backed_up(world)
    before = heads.load(world.process, "demo").meta
    gone(world)
    rev = heads.find_any(world.process, "demo").meta.rev

    after = world.restore("demo", backup_id)

    own = {"uid", "rev", "write_id", "provisioning", "late_write_repair"}
    assert after.model_dump(exclude=own) == before.model_dump(exclude=own)
    assert after.uid != before.uid
    assert after.rev > rev
    assert (after.committed_run, after.late_duplicates, after.erasing, after.deleted_at) == (None, [], None, None)
    assert (after.provisioning.kind, after.provisioning.space_id, after.provisioning.backup_id) == (
        "restore",
        "demo",
        backup_id,
    )
    assert not list(lease_of(world, "demo"))
    assert not world.queued


def lease_of(world: World, space_id: str) -> list[str]:
    return [key for key in world.keys(space_id) if key == LEASE.key(space_id)]


@pytest.mark.parametrize("target", ["demo", "copy"])
def test_a_restored_space_reads_and_works_as_before(target: str):
    world = World()
    backup_id = backed_up(world)
    read = {
        "notes": [note.content for note in pages.page(world.process, "demo", NotesFilter(), limit=50).items],
        "bank": world.bank("demo"),
        "history": [one.number for one in history.page(world.process, "demo", limit=50, before=None)[0]],
        "then": [file.content for file in bank_then(world, "demo")],
        "cited": cited(world, "demo"),
    }
    gone(world)

    world.restore("demo", backup_id, target)

    assert read == {
        "notes": [note.content for note in pages.page(world.process, target, NotesFilter(), limit=50).items],
        "bank": world.bank(target),
        "history": [one.number for one in history.page(world.process, target, limit=50, before=None)[0]],
        "then": [file.content for file in bank_then(world, target)],
        "cited": cited(world, target),
    }
    again, is_new = idempotency.append_once(world.process, target, "bob", NoteDraft("todo", "twice"), "key-2")
    assert (again.content, again.space_id, is_new) == ("twice", target, False)
    run = records.get(world.process, target, 1).run_id
    assert run_progress.view(world.process, target, run).consolidation == 1
    world.undo(3, target)
    assert world.consolidate(target).state == "done"
    assert world.live_ids(target) == []
    world.clock.move(3_600 * 3)
    world.sweep_all()
    # `fill` has changed a bank file behind the service's back, and its displaced text lies there for good.
    world.store.delete_many([key for key in world.keys(target) if ".displaced/" in key])
    found = check_rest(world, target, [], unique=False) + check_alive(world, target)
    assert found.clean(), str(found)


def bank_then(world: World, space_id: str) -> list[files.File]:
    moment = time_travel.then(world.process, space_id, "1")
    return time_travel.bank_at(world.process, space_id, moment, content=True)


def cited(world: World, space_id: str) -> list[object]:
    file = files.read(world.process, space_id, "log.md")
    found = citations.citations(world.process, space_id, file)
    return [(section.path, section.sources) for section in found.sections]


def test_a_restored_space_shows_its_notes_under_its_own_id():
    world = World()
    backup_id = backed_up(world)

    world.restore("demo", backup_id, "copy")

    texts = [world.text(key) for key in world.keys("copy/live/") if "_progress_" in key]
    assert texts
    assert all('\nspace_id: "copy"\n---\n' in text for text in texts)
    # What a note says below its front matter is its own business.
    assert any(text.endswith('third\n---\nspace_id: "demo"') for text in texts)


def test_a_run_that_was_queued_or_at_work_does_not_hold_the_restored_space():
    world = World()
    world.create_space()
    world.note("one")
    queued = world.order()
    dead = queued.model_copy(update={"job_id": world.ids(), "status": "running"})
    jobs.create(world.process, RUN.key(dead.space_id, dead.job_id), dead)
    backup_id = world.back_up().job_id

    world.restore("demo", backup_id, "copy")

    assert lease.look(world.process, places.of_space("copy")) is None
    assert world.consolidate("copy").state == "done"
    world.clock.move(3_700)
    world.sweep_all()
    ended = {run_id: world.view(run_id, "copy") for run_id in (queued.job_id, dead.job_id)}
    assert {run.state for run in ended.values()} == {"failed"}
    assert {run.space_id for run in ended.values()} == {"copy"}


def test_a_restore_starts_no_consolidation_but_the_sweep_may():
    world = World()
    world.create_space(threshold=2)
    world.note("one")
    world.note("two")
    backup_id = world.back_up().job_id
    world.queued.clear()

    world.restore("demo", backup_id, "copy")
    assert not world.queued
    world.sweep()

    assert [waiting["space_id"] for waiting in world.queued if "job_id" in waiting] == ["copy"]


def test_what_the_restored_runs_cost_is_not_counted_twice_when_the_copy_is_deleted():
    world = World()
    backup_id = backed_up(world)
    world.restore("demo", backup_id, "copy")

    lifecycle.delete(world.process, "copy", "copy")

    assert not [key for key in world.keys(TOTALS.prefix()) if "/copy/" in key]


def test_before_its_id_is_free_a_space_is_restored_under_another_one_at_once():
    world = World()
    backup_id = backed_up(world)
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(60)

    with pytest.raises(Conflict) as refused:
        world.restore("demo", backup_id)

    assert refused.value.retry_after == FREE_AGAIN - 60
    assert "send another `space_id`" in refused.value.detail
    assert world.restore("demo", backup_id, "copy")


def test_a_restore_costs_a_copy_for_what_never_changes_and_a_read_and_a_write_for_the_rest():
    world = World()
    world.create_space()
    for _ in range(30):
        world.note("x")
    backup_id = world.back_up().job_id
    gone(world)

    head = restore.order(world.process, EVERYONE, "demo", backup_id, None)
    claimed = dict(world.client.counts)
    job = new_space.of_head(head).value
    later = world.fork()
    require_conditional_writes(later.store)
    later.client.reset()
    world.client.reset()
    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    later.work(provisioning.KINDS["restore"].payload("demo", job.job_id))

    # Manifest, head of the source, head of the target before and after the claim, and the registry as of a deletion.
    assert claimed == {"GET": 6, "LIST": 1, "PUT": 2}
    # Manifest, both heads, and rules and two `.keep`, which are read and written.
    assert world.client.counts == {"LIST": 2, "GET": 6, "COPY": 30, "PUT": 4}
    # An invocation reads the head and takes the job besides.
    assert later.client.counts == {"LIST": 2, "GET": 7, "COPY": 30, "PUT": 5}


def test_what_does_not_fit_into_the_time_goes_on_later_with_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    world = World()
    backup_id = backed_up(world)
    before = objects(world, "demo")
    monkeypatch.setattr(restore, "BATCH", 5)
    head = restore.order(world.process, EVERYONE, "demo", backup_id, "copy")

    assert provisioning.carry_on(world.process, head, world.clock() + restore.MARGIN / 2) is None
    brought = set(world.keys("copy/")) - {"copy/_meta.json"}
    assert len(brought) == 5
    assert heads.find(world.process, "copy") is None
    world.client.reset()
    (invocation,) = world.queued
    world.work()

    assert differences(before, objects(world, "copy"), "demo", "copy") == []
    assert not brought & {key for verb, key in world.client.requests if verb in ("PUT", "COPY")}
    assert world.work(invocation) == {"status": "done"}


def test_a_large_object_that_the_service_does_not_know_is_copied_by_the_store(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(restore, "LARGEST_READ", 10)
    world = World()
    world.create_space()
    put(world, "conversations/long.jsonl", b"x" * 11, "application/x-ndjson")
    before = objects(world, "demo")
    backup_id = world.back_up().job_id

    world.restore("demo", backup_id, "copy")

    assert differences(before, objects(world, "copy"), "demo", "copy") == []
    assert ("COPY", "copy/conversations/long.jsonl") in world.client.requests


def test_a_head_may_hold_fields_of_any_name():
    world = World()
    world.create_space()
    meta = json.loads(world.text("demo/_meta.json")) | {"head": 1, "process": 2, "later": [3]}
    put(world, "_meta.json", json.dumps(meta).encode(), "application/json")
    world.new_process()
    backup_id = world.back_up().job_id

    world.restore("demo", backup_id, "copy")

    assert {"head": 1, "process": 2, "later": [3]}.items() <= json.loads(world.text("copy/_meta.json")).items()

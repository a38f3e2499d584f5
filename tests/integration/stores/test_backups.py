"""Backups on stores over HTTP: what they hold is what the space was, whatever changes meanwhile and comes late."""

import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem.copies import catalog, export, importing, provisioning
from livemem.copies.new_space import SpaceCopy
from livemem.erasure import erasure
from livemem.spaces import head as heads
from livemem.store import bucket, keys
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT
from livemem.store.objects import Store
from tests.support import backups, space_fixtures
from tests.support.counting import Request
from tests.support.remote import RemoteBucket
from tests.support.world import EVERYONE, INVOCATION, World

STORES = ("files", "moto", "minio", "versitygw")


@pytest.fixture(name="world")
def _world(request: pytest.FixtureRequest, open_bucket: Callable[..., Store]) -> World:
    store = open_bucket(request.param)
    return RemoteBucket(store.v4, store.bucket).world()


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_a_backup_holds_each_object_as_it_was_and_the_next_one_finds_it_unchanged(world: World):
    space_fixtures.fill(world)
    heads.patch(world.process, "demo", description="before")
    changed: list[str] = []

    def change(request: Request) -> Any:
        if request.verb == "COPY" and not changed:
            changed.append(request.key)
            heads.patch(world.with_parts(), "demo", description="meanwhile")
        return request.send(world.inner)

    world.client.carry = change
    made = world.back_up()
    world.client.carry = lambda request: request.send(world.inner)

    objects = world.inner.objects
    assert changed
    assert backups.broken(objects) == []
    prefix = BACKUP_OBJECT.prefix("demo", made.job_id)
    for key, stored in objects.items():
        if key.startswith("demo/") and not bucket.is_derived(key.removeprefix("demo/")):
            copy = objects[prefix + key.removeprefix("demo/")]
            assert (copy.body, copy.metadata) == (stored.body, stored.metadata), key
    world.new_process()
    again = world.back_up()
    assert (again.job_id, bool(again.unchanged_at), world.client.counts["COPY"]) == (made.job_id, True, 0)
    catalog.remove(world.process, "demo", made.job_id)
    assert world.keys(prefix) == [BACKUP_MANIFEST.key("demo", made.job_id)]


@pytest.mark.parametrize("world", ["minio"], indirect=True)
def test_a_copy_that_comes_late_changes_nothing_in_a_backup(world: World):
    space_fixtures.fill(world)
    late: list[Request] = []
    world.client.carry = lambda request: late.append(request) or request.send(world.inner)
    world.back_up()
    heads.patch(world.with_parts(), "demo", description="later")

    for request in late:
        if request.verb == "COPY" and request.key.endswith(keys.META):
            with pytest.raises(ClientError) as refused:
                request.send(world.inner)
            assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412

    assert backups.broken(world.inner.objects) == []


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_a_restored_space_is_what_was_backed_up_object_by_object(world: World):
    space_fixtures.fill(world)
    before = space_fixtures.objects(world, "demo")
    backup_id = world.back_up().job_id

    assert world.restore("demo", backup_id, "copy")

    assert space_fixtures.differences(before, space_fixtures.objects(world, "copy"), "demo", "copy") == []


# moto answers within the process: a URL of it leads nowhere.
@pytest.mark.parametrize("world", ["embedded", "minio", "versitygw"], indirect=True)
def test_an_archive_is_downloaded_by_its_url_and_imported_by_another_one(world: World):
    space_fixtures.fill(world)
    before = space_fixtures.objects(world, "demo")
    soon = world.clock() + INVOCATION
    made = export.description(world.process, export.export(world.process, EVERYONE, "demo", soon)).result
    (one,) = made.archives
    with urllib.request.urlopen(one.url, timeout=30) as answer:
        archive = answer.read()
    assert len(archive) == one.bytes
    upload = importing.begin_upload(world.process, EVERYONE, one.bytes)
    with urllib.request.urlopen(urllib.request.Request(upload.url, data=archive, method="PUT"), timeout=30) as answer:
        assert answer.status == 200

    head = importing.order(world.process, EVERYONE, SpaceCopy("copy", upload_ids=[upload.upload_id]), soon)
    assert provisioning.carry_on(world.process, head, soon)

    after = space_fixtures.objects(world, "copy")
    assert made.left_out == 0
    assert before.keys() - after.keys() <= {name for name in before if bucket.is_derived(name)}
    assert {name for name in after if name.startswith(("live/", "bank/", "_consolidations/"))} == {
        name for name in before if name.startswith(("live/", "bank/", "_consolidations/"))
    }


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_the_words_of_an_erased_note_are_nowhere_in_the_bucket(world: World):
    space_fixtures.fill(world)
    note = world.note("The door code is 4711 at night.")
    world.back_up()

    told = erasure.erase(world.process, EVERYONE, "demo", [note.note_id], world.clock() + INVOCATION)

    assert told.status == "done"
    assert [key for key, stored in world.inner.objects.items() if b"4711" in stored.body] == []
    assert backups.broken(world.inner.objects) == []

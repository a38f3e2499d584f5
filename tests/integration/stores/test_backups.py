"""Backups on stores over HTTP: what they hold is what the space was, whatever changes meanwhile and comes late."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem.backups import catalog
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.objects import Store
from tests.support import backups, whole
from tests.support.counting import Request
from tests.support.remote import RemoteBucket
from tests.support.world import World

STORES = ("moto", "minio", "versitygw")


@pytest.fixture(name="world")
def _world(request: pytest.FixtureRequest, open_bucket: Callable[..., Store]) -> World:
    store = open_bucket(request.param)
    return RemoteBucket(store.v4, store.bucket).world()


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_a_backup_holds_each_object_as_it_was_and_the_next_one_finds_it_unchanged(world: World):
    whole.fill(world)
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
    prefix = keys.backup_prefix("demo", made.backup_id)
    for key, stored in objects.items():
        if key.startswith("demo/") and not keys.is_derived(key.removeprefix("demo/")):
            copy = objects[prefix + key.removeprefix("demo/")]
            assert (copy.body, copy.metadata) == (stored.body, stored.metadata), key
    world.new_process()
    again = world.back_up()
    assert (again.backup_id, bool(again.unchanged_at), world.client.counts["COPY"]) == (made.backup_id, True, 0)
    catalog.remove(world.process, "demo", made.backup_id)
    assert world.keys(prefix) == [keys.manifest("demo", made.backup_id)]


@pytest.mark.parametrize("world", ["minio"], indirect=True)
def test_a_copy_that_comes_late_changes_nothing_in_a_backup(world: World):
    whole.fill(world)
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

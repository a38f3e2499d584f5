"""Which backups are shown, and that a removed one is gone for everybody at once."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.access.principal import PERMISSIONS, Principal
from livemem.copies import catalog, export, restore, retention, taking
from livemem.copies import manifest as manifests
from livemem.copies.manifest import BackupObject, Manifest
from livemem.copies.taking import BackupRequest
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.spaces import lifecycle
from livemem.store import keys
from livemem.store.bucket import BACKUP_MANIFEST, BACKUP_OBJECT
from tests.support import backups
from tests.support.cases import each
from tests.support.world import EVERYONE, INVOCATION, World

SPACE = "demo"


def with_backups(count: int) -> World:
    world = World()
    world.create_space(SPACE)
    for number in range(count):
        world.note(f"note {number}")
        world.back_up()
        world.clock.move(60)
    world.new_process()
    return world


def shown(world: World, **more: Any) -> list[str]:
    found, _ = catalog.page_of(world.process, SPACE, **{"limit": 50, **more})
    return [manifest.job_id for manifest in found]


def test_backups_are_listed_newest_first_in_pages_with_1_list_and_1_get_each():
    world = with_backups(5)
    ids = catalog.ids(world.process, SPACE)
    world.client.reset()

    first, after = catalog.page_of(world.process, SPACE, limit=2)
    second, rest = catalog.page_of(world.process, SPACE, limit=3, before=after)

    assert [manifest.job_id for manifest in (*first, *second)] == ids[::-1]
    assert (after, rest) == (ids[3], None)
    assert world.client.counts == {"LIST": 2, "GET": 5}


def test_a_cursor_of_another_space_is_refused_and_ends_no_list():
    world = with_backups(2)
    world.create_space("zz")
    world.note("there too", space_id="zz")
    world.back_up("zz")
    world.clock.move(60)
    (newest, *_), after = catalog.page(world.process, EVERYONE, SPACE, limit=1)
    assert after == (SPACE, newest.job_id)
    for other in ("aa", "zz"):
        with pytest.raises(InvalidRequest, match="cursor: is of the list of another space"):
            catalog.page(world.process, EVERYONE, SPACE, limit=1, after=(other, newest.job_id))
    (oldest,), rest = catalog.page(world.process, EVERYONE, SPACE, limit=1, after=after)
    assert (oldest.job_id < newest.job_id, rest) == (True, None)
    # Of all spaces the list goes on with those behind it.
    assert [one.space_id for one in catalog.page(world.process, EVERYONE, limit=9, after=after)[0]] == [SPACE, "zz"]


def test_a_list_reads_the_first_bytes_of_a_manifest_of_a_million_objects_alone():
    world = with_backups(1)
    (backup_id,) = catalog.ids(world.process, SPACE)
    saved = manifests.load(world.process, SPACE, backup_id)
    line = b'    {"name": "live/x", "size": 1, "etag": "y"},\n'
    body = saved.value.to_bytes().replace(b"[\n", b"[\n" + line * 1_000_000, 1)
    world.inner.put_object(Bucket="b", Key=BACKUP_MANIFEST.key(SPACE, backup_id), Body=body)
    world.client.carry = lambda request: read.append(request.arguments.get("Range")) or request.send(world.inner)
    read: list[str | None] = []

    assert shown(world) == [backup_id]
    assert read == [None, "bytes=0-8191"]


def hostile(manifest: Manifest) -> dict[str, bytes]:
    good = json.loads(manifest.to_bytes())

    def changed(**fields: Any) -> bytes:
        whole = good | fields
        return b"%s" % json.dumps(whole, indent=2).encode()

    return {
        "nothing": b"",
        "no JSON": b"\x00\xff{",
        "another JSON": b"[]",
        "nested": b"[" * 100_000,
        "nested below a field": b'{"a": ' + b"[" * 100_000 + b',\n  "objects": [',
        "another space's": changed(space_id="other"),
        "another backup's": changed(job_id="2020-01-01T00-00-00"),
        "a number of 5,000 digits": json.dumps(good, indent=2)
        .encode()
        .replace(b'"version": 1', b'"version": ' + b"9" * 5_000),
        "held for ever": changed(held_seconds="1e999"),
        "a moment that is none": changed(created_at="yesterday"),
        "a moment out of time": changed(created_at="0001-01-01T00:00:00+14:00"),
        "another trigger": changed(trigger="x"),
        "half a surrogate pair": json.dumps(good | {"description": "\ud800"}, indent=2).encode(),
        "no objects": json.dumps({k: v for k, v in good.items() if k != "objects"}, indent=2).encode(),
    }


@each("name", hostile(Manifest(job_id="", space_id="", trigger="api", created_at="2026-01-01")))
def test_a_hostile_manifest_breaks_neither_the_list_nor_the_next_backup_nor_retention(name: str):
    world = with_backups(2)
    first, second = catalog.ids(world.process, SPACE)
    saved = manifests.load(world.process, SPACE, second)
    body = hostile(saved.value)[name]
    world.inner.put_object(Bucket="b", Key=BACKUP_MANIFEST.key(SPACE, second), Body=body)

    assert shown(world) == [first]
    with pytest.raises(NotFound):
        manifests.load(world.process, SPACE, second)
    assert world.back_up().job_id > second
    report = retention.apply(world.process, SPACE, dry_run=False)
    assert (report.removed, report.unreadable) == ([], [second])
    world.clock.move(86_400)
    assert world.sweep_all().failed == []
    assert BACKUP_MANIFEST.key(SPACE, second) in world.inner.objects
    # Who asks for it by name removes it.
    catalog.remove(world.process, SPACE, second)
    assert world.keys(BACKUP_OBJECT.prefix(SPACE, second)) == [BACKUP_MANIFEST.key(SPACE, second)]


@each(
    "wrong",
    [
        {"size": -1},
        {"size": True},
        {"size": "1"},
        {"size": 1.5},
        {"name": ""},
        {"name": "\ud800"},
        {"name": None},
        {"etag": 7},
        {"sha256": 7},
        {"copy_etag": []},
    ],
)
def test_a_manifest_with_an_object_that_can_be_none_is_not_loaded(wrong: dict[str, Any]):
    world = with_backups(1)
    (backup_id,) = catalog.ids(world.process, SPACE)
    key = BACKUP_MANIFEST.key(SPACE, backup_id)
    document = json.loads(world.inner.objects[key].body)
    document["objects"][0] |= wrong
    world.inner.put_object(Bucket="b", Key=key, Body=json.dumps(document, indent=2).encode())

    with pytest.raises(NotFound):
        manifests.load(world.process, SPACE, backup_id)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
items = st.builds(BackupObject, texts, st.integers(0), texts, st.none() | texts, st.none() | texts)


@given(st.lists(items, max_size=5), texts)
def test_a_manifest_is_read_as_it_was_written_whole_and_by_its_first_bytes(held: list[BackupObject], description: str):
    manifest = Manifest(
        job_id="2026-02-20T14-00-00", space_id=SPACE, uid="u", trigger="api", items=tuple(held),
        description=description, created_at="2026-02-20T14:00:00.000Z", counts={"notes": 1},
    )  # fmt: skip

    body = manifest.to_bytes()

    assert Manifest.from_bytes(body) == manifest
    assert Manifest.of_first(body) == manifest.model_copy(update={"items": None})
    assert json.loads(body)["objects"] is not None


@each("backup_id", ["", "x", "..", "2026-02-30T00-00-00", "2026-02-20T14-00-00/x", "2026-02-20t14-00-00"])
def test_a_malformed_id_is_an_invalid_name_and_an_unknown_one_is_not_found(backup_id: str):
    world = with_backups(1)
    before = dict(world.inner.objects)

    for act in (catalog.get, catalog.remove, manifests.load):
        with pytest.raises(InvalidName):
            act(world.process, SPACE, backup_id)
        with pytest.raises(NotFound):
            act(world.process, SPACE, "2020-01-01T00-00-00")

    assert world.inner.objects == before


@each("name", ["notes.txt", "2026-02-30T00-00-00", "20260220", "latest"])
def test_folders_that_can_be_no_backup_are_no_backup_and_stay(name: str):
    world = with_backups(1)
    key = f"{BACKUP_OBJECT.prefix(SPACE)}{name}/x"
    world.inner.put_object(Bucket="b", Key=key, Body=b"x")
    world.inner.put_object(Bucket="b", Key=f"{BACKUP_OBJECT.prefix()}.hidden/2026-02-20T14-00-00/x", Body=b"x")
    world.clock.move(10 * 86_400)
    world.sweep_all()

    assert len(catalog.ids(world.process, SPACE)) == 1
    assert list(catalog.spaces(world.process)) == [SPACE]
    assert key in world.inner.objects


def test_a_removed_backup_is_gone_and_only_a_tombstone_is_left():
    world = with_backups(2)
    first, second = catalog.ids(world.process, SPACE)
    objects = len(world.keys(BACKUP_OBJECT.prefix(SPACE, first)))
    world.client.reset()

    catalog.remove(world.process, SPACE, first)

    assert world.client.counts == {"GET": 1, "PUT": 1, "LIST": 1, "DeleteObjects": 1}
    assert world.keys(BACKUP_OBJECT.prefix(SPACE, first)) == [BACKUP_MANIFEST.key(SPACE, first)]
    assert objects > 5
    assert shown(world) == [second]
    for act in (catalog.get, catalog.remove, manifests.load):
        with pytest.raises(NotFound):
            act(world.process, SPACE, first)


def test_a_tombstone_keeps_its_id_from_being_claimed_and_goes_when_nothing_can_come_late():
    world = with_backups(1)
    world.clock.move(-60)
    (backup_id,) = catalog.ids(world.process, SPACE)
    catalog.remove(world.process, SPACE, backup_id)
    later = keys.backup_id(world.clock() + timedelta(seconds=1))

    assert world.back_up().job_id == later

    late = BACKUP_OBJECT.key(SPACE, backup_id, "live/late.md")
    world.clock.move(catalog.NOBODY_COMES.total_seconds() - 60)
    world.inner.put_object(Bucket="b", Key=late, Body=b"x")
    world.sweep_all()
    assert world.keys(BACKUP_OBJECT.prefix(SPACE, backup_id)) == [BACKUP_MANIFEST.key(SPACE, backup_id)]
    world.clock.move(61)
    world.sweep_all()
    assert catalog.ids(world.process, SPACE) == [later]


def test_an_unfinished_backup_is_removed_while_it_is_taken_and_never_becomes_complete():
    world = with_backups(0)
    world.note("one")

    def remove(index: int, verb: str) -> None:
        if verb == "COPY" and (there := catalog.ids(world.with_parts(), SPACE)):
            world.client.before = lambda index, verb: None
            catalog.remove(world.with_parts(), SPACE, there[0])

    world.client.before = remove
    with pytest.raises(NotFound):
        taking.take(world.process, SPACE, BackupRequest("api"), deadline=world.clock() + INVOCATION)

    assert backups.complete(world.inner.objects) == []
    assert shown(world) == []
    for _ in range(2):
        world.clock.move(86_400)
        world.sweep_all()
    assert world.keys(BACKUP_OBJECT.prefix()) == []


def test_what_lies_where_a_manifest_should_be_is_told_from_there_being_none():
    world = with_backups(1)
    (backup_id,) = catalog.ids(world.process, SPACE)
    world.inner.put_object(Bucket="b", Key=BACKUP_MANIFEST.key(SPACE, backup_id), Body=b"x")

    assert manifests.peek(world.process, SPACE, backup_id).value is None
    assert manifests.peek(world.process, SPACE, "2020-01-01T00-00-00") is None


ONE_SPACE = Principal("ann", frozenset(PERMISSIONS), frozenset({SPACE}))


def test_a_token_for_some_spaces_does_not_see_the_backups_of_a_deleted_namesake():
    world = World()
    world.create_space(SPACE)
    world.note("of the first life", space_id=SPACE)
    old = world.back_up(SPACE).job_id
    lifecycle.delete(world.process, SPACE, SPACE)
    world.clock.move(3_600)
    world.create_space(SPACE)
    new = world.back_up(SPACE).job_id

    def ids(caller: Principal) -> list[str]:
        one, _ = catalog.page_of(world.process, SPACE, limit=9, caller=caller)
        every, _ = catalog.page(world.process, caller, limit=9)
        assert one == every
        return [manifest.job_id for manifest in one]

    assert ids(EVERYONE) == [new, old]
    assert ids(ONE_SPACE) == [new]
    soon = world.clock() + INVOCATION
    for reach in (
        lambda backup_id: catalog.get(world.process, SPACE, backup_id, ONE_SPACE),
        lambda backup_id: export.export_backup(world.process, ONE_SPACE, SPACE, backup_id, soon),
        lambda backup_id: restore.order(world.process, ONE_SPACE, SPACE, backup_id, "other"),
        lambda backup_id: catalog.remove(world.process, SPACE, backup_id, ONE_SPACE),
    ):
        with pytest.raises(NotFound):
            reach(old)
    assert catalog.get(world.process, SPACE, new, ONE_SPACE).value.job_id == new
    assert catalog.get(world.process, SPACE, old, EVERYONE).value.complete

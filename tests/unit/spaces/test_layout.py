"""A space in a layout that a newer version of the service wrote is refused, and left as it is. One of an earlier layout
is read, and gets the present one with its next change.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256

import pytest

from livemem.access.principal import Principal
from livemem.bank import summary
from livemem.copies import catalog, fork, nightly
from livemem.errors import InvalidRequest, LiveMemoryError, SpaceTooNew
from livemem.spaces import directory
from livemem.spaces import head as heads
from livemem.spaces.head import LAYOUT
from livemem.upkeep import health
from tests.support.archives import exported, refusal, targz, unpack
from tests.support.cases import each
from tests.support.world import EVERYONE, INVOCATION, World

NEWER: dict[str, dict[str, object]] = {
    "the next layout": {"layout": LAYOUT + 1},
    "a far one": {"layout": 10**12},
    "beyond what can be a number of ours": {"layout": 10**20},
    "in another shape": {"layout": LAYOUT + 1, "rev": "in another way", "uid": None},
    "a newer contract": {"version": 2},
    "a newer contract in another shape": {"version": 2, "rev": []},
}


def rewritten(world: World, **changes: object) -> None:
    key = "demo/_meta.json"
    meta = json.loads(world.text(key)) | changes
    world.inner.put_object(Bucket="b", Key=key, Body=json.dumps(meta).encode())
    world.new_process()


def space() -> World:
    world = World()
    world.create_space(threshold=1)
    world.note("x")
    return world


def named(world: World) -> object:
    return json.loads(world.text("demo/_meta.json")).get("layout")


def state(world: World) -> dict[str, bytes]:
    return {key: stored.body for key, stored in world.inner.objects.items() if "demo/" in key and "_due/" not in key}


@each("changes", NEWER.values(), ids=NEWER)
def test_a_newer_space_is_refused_with_what_to_do_and_nothing_of_it_is_changed(changes: dict[str, object]):
    world = space()
    world.back_up()
    rewritten(world, **changes)
    before = state(world)
    acts: dict[str, Callable[[], object]] = {
        "read": lambda: summary.info(world.process, "demo"),
        "append": lambda: heads.refresh(world.process, "demo"),
        "change": lambda: heads.patch(world.process, "demo", description="x"),
        "run": lambda: heads.update(world.process, "demo", lambda meta: {"changes": 1}),
        "backup": world.back_up,
        "fork": lambda: fork.order(world.process, EVERYONE, "demo", "other", None, world.clock() + INVOCATION),
    }
    for act in acts.values():
        with pytest.raises(SpaceTooNew, match="Update the service"):
            act()

    assert state(world) == before
    assert not world.keys("other/")
    # It is in no list of spaces, as one that can't be read.
    assert directory.page(world.process, EVERYONE, limit=10, after=None) == ([], None)


@each("changes", NEWER.values(), ids=NEWER)
def test_sweep_health_and_nightly_backups_name_a_newer_space_and_leave_it_alone(changes: dict[str, object]):
    world = space()
    world.back_up()
    world.note("y")
    rewritten(world, **changes)
    before = state(world)

    # A run was queued before the newer service changed the space.
    with pytest.raises(SpaceTooNew):
        world.work()
    assert world.sweep_all().failed == ["demo"]
    found = health.deep(world.process, Principal("admin", frozenset(("read", "admin")), frozenset()))
    night = nightly.fan_out(world.process, deadline=world.clock() + timedelta(minutes=5))

    assert [(one.space_id, one.code) for one in found.problems] == [("demo", "space_too_new")]
    assert (found.status, "Update the service" in found.problems[0].detail) == ("degraded", True)
    assert (night.failed, night.backups, night.retained) == (["demo"], 0, 0)
    assert list(world.queued) == []
    assert state(world) == before


@each("missing", [True, False], ids=["without a layout", "the first"])
def test_a_space_of_the_first_layout_is_read_and_its_first_change_writes_the_present_one(missing: bool):
    world = space()
    meta = {name: value for name, value in json.loads(world.text("demo/_meta.json")).items() if name != "layout"}
    old = meta if missing else meta | {"layout": 1}
    world.inner.put_object(Bucket="b", Key="demo/_meta.json", Body=json.dumps(old).encode())
    world.new_process()
    before = world.text("demo/_meta.json")

    assert summary.info(world.process, "demo").meta.layout == 1
    assert world.text("demo/_meta.json") == before

    heads.patch(world.process, "demo", description="Now it is changed.")
    assert (named(world), json.loads(world.text("demo/_meta.json"))["version"]) == (LAYOUT, 1)
    world.consolidate()
    assert (named(world), sorted(world.bank())) == (LAYOUT, ["log.md"])


def test_a_new_space_has_the_present_layout_and_the_version_of_the_contract():
    world = space()

    assert named(world) == LAYOUT == 2
    assert json.loads(world.text("demo/_meta.json"))["version"] == 1


@each("layout", ["many", None, [], 1.5, -1])
def test_a_layout_that_is_no_number_is_a_head_that_can_not_be_read(layout: object):
    world = space()
    rewritten(world, layout=layout)

    with pytest.raises(LiveMemoryError) as refused:
        heads.load(world.process, "demo")

    assert refused.value.code == "space_broken"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which a newer service has made a space."""
    with monkeypatch.context() as patched:
        patched.setattr(heads, "LAYOUT", LAYOUT + 1)
        world = space()
        world.back_up()
    world.new_process()
    return world


def test_a_backup_of_a_newer_layout_is_not_restored_and_the_job_says_why(newer: World):
    ((kept,), _) = catalog.page_of(newer.process, "demo", limit=1)

    with pytest.raises(InvalidRequest, match="Update the service"):
        newer.restore("demo", kept.job_id, "other")

    failed = heads.find_any(newer.process, "other")
    assert failed is not None
    assert failed.meta.provisioning is not None
    assert "Update the service" in str(failed.meta.provisioning.error)
    assert heads.find(newer.process, "other") is None


@each("changes", NEWER.values(), ids=NEWER)
def test_an_archive_of_a_newer_layout_is_refused_before_anything_is_written(changes: dict[str, object]):
    world = space()
    files = unpack(exported(world))
    head = files["demo/_meta.json"]
    changed = json.dumps(json.loads(head) | changes).encode()
    sizes = f'"size": {len(head)}'.encode(), f'"size": {len(changed)}'.encode()
    digests = sha256(head).hexdigest().encode(), sha256(changed).hexdigest().encode()
    manifest = files["demo/_manifest.json"].replace(*digests).replace(*sizes)
    # Such a layout may have objects that this version does not know.
    files |= {"demo/_meta.json": changed, "demo/_plots/1.bin": b"?", "demo/_manifest.json": manifest}

    assert "Update the service" in refusal(world, targz(files.items())).detail


def test_a_backup_from_before_brings_a_space_back_that_a_newer_service_has_changed():
    world = space()
    kept = world.back_up()
    rewritten(world, layout=LAYOUT + 1)

    assert world.restore("demo", kept.job_id, "other") is not None

"""What was exported can be imported under another id, and is then what a restore would have made of it."""

import gzip
import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemem.access.principal import Principal
from livemem.copies import importing, new_space, provisioning, unpacking
from livemem.copies.new_space import SpaceCopy
from livemem.errors import (
    Conflict,
    Forbidden,
    InvalidArchive,
    InvalidName,
    InvalidRequest,
    NotFound,
    SpaceExists,
    TooLarge,
)
from livemem.spaces import head as heads
from livemem.store.bucket import NOTE, TOKEN_CAPS, UPLOAD
from tests.support.archives import exported, import_it, lived_in, objects, tar, targz, unpack, upload
from tests.support.world import EVERYONE, INVOCATION, World

SOON = timedelta(seconds=20)


@pytest.fixture
def world():
    return lived_in()


def order(world: World, upload_id: str, space_id: str = "copy", principal: Principal = EVERYONE, **options):
    wanted = SpaceCopy(space_id, upload_ids=[upload_id], **options)
    return importing.order(world.process, principal, wanted, world.clock() + SOON)


def test_an_imported_space_is_the_one_that_was_exported(world):
    meta = import_it(world, exported(world))
    assert meta
    assert (meta.space_id, meta.changes, meta.consolidation_count) == ("copy", 1, 1)
    assert world.bank("copy") == world.bank("demo")
    assert world.live_ids("copy") == world.live_ids("demo")
    assert 'space_id: "copy"' in world.text(NOTE.key("copy", world.live_ids("copy")[0]))
    assert (meta.provisioning.kind, meta.provisioning.space_id, meta.provisioning.objects) == ("import", "demo", 9)


def test_the_imported_space_lives_on(world):
    import_it(world, exported(world))
    world.note("new", space_id="copy")
    run = world.consolidate("copy")
    assert (run.status, run.consolidation) == ("done", 2)
    world.undo(2, "copy")
    world.undo(1, "copy")
    assert world.bank("copy") == {}
    assert len(world.live_ids("copy")) == 5


NAMES = st.sampled_from(["a", "b.md", "ü x", "y" * 120, "1"])
FOLDERS = st.sampled_from(["conversations", "memories", "live", "bank"])
CONTENT = st.binary(max_size=200) | st.text(max_size=60).map(str.encode)


@settings(max_examples=8)
@given(
    st.dictionaries(st.tuples(FOLDERS, NAMES), CONTENT, max_size=5),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40), max_size=3),
    st.dictionaries(st.sampled_from(["consolidation", "record", "x-y"]), st.sampled_from(["1", "a b", "ö", ""])),
)
def test_an_import_brings_what_a_restore_brings_object_by_object(foreign, notes, metadata):
    world = World()
    world.create_space()
    for text in notes:
        if text.strip():
            world.note(text)
    if world.live_ids():
        world.consolidate()
    for (folder, name), body in foreign.items():
        # In live/ and bank/ other names of Markdown files would be left out.
        if not (folder in ("live", "bank") and name.endswith(".md")) or (folder, name) == ("bank", "b.md"):
            world.store.put(f"demo/{folder}/{name}", body, metadata={k: v for k, v in metadata.items() if v})
    body = exported(world)
    backup = world.back_up()
    twin = world.fork()
    twin.restore("demo", backup.job_id, "copy")
    import_it(world, body)
    restored, imported = objects(twin, "copy"), objects(world, "copy")
    assert imported.keys() == restored.keys()
    for name in restored:
        if not name.startswith("_runs/"):
            # The documents of runs name the life that the space has now.
            assert imported[name][0] == restored[name][0], name
        # An object's metadata that no header can hold is left out.
        assert imported[name][1].items() <= restored[name][1].items()
        assert {k: v for k, v in restored[name][1].items() if v.isascii() and k != "consolidation"}.items() <= imported[
            name
        ][1].items()
    first, second = heads.find(twin.process, "copy").meta, heads.find(world.process, "copy").meta
    own = {"uid", "provisioning", "rev", "write_id", "late_write_repair"}
    assert first.model_dump(exclude=own) == second.model_dump(exclude=own)


def test_the_upload_goes_when_the_space_is_there(world):
    import_it(world, exported(world))
    assert world.keys("_uploads/") == []


def test_a_description_replaces_that_of_the_archive_and_rules_are_refused(world):
    body = exported(world)
    assert import_it(world, body, space_id="one", description="A copy.").description == "A copy."
    assert import_it(world, body, space_id="two", description="").description == ""
    with pytest.raises(InvalidRequest, match="has its own"):
        import_it(world, body, space_id="three", rules="Others.")
    assert world.keys("three/") == []


@pytest.mark.parametrize("pack", [tar, targz])
def test_a_plain_tar_and_one_that_was_packed_again_are_taken(world, pack):
    files = unpack(exported(world))
    assert import_it(world, pack([(f"./{name}", body) for name, body in reversed(files.items())]))
    assert world.bank("copy") == world.bank("demo")


def test_it_counts_its_requests(world):
    body = exported(world)
    upload_id = upload(world, body)
    world.client.reset()
    head = order(world, upload_id)
    assert world.client.counts == {"HEAD": 1, "GET": 4, "LIST": 1, "PUT": 2}
    world.client.reset()
    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    # 8 objects and the head.
    assert world.client.counts == {"GET": 2, "LIST": 1, "PUT": 9, "DELETE": 1}


def test_whoever_begins_again_does_not_write_what_is_there(world, monkeypatch):
    monkeypatch.setattr(importing, "WINDOW_OBJECTS", 2)
    head = order(world, upload(world, exported(world)))
    world.client.after = lambda index, verb: world.clock.move(2)
    assert provisioning.carry_on(world.process, head, world.clock() + timedelta(seconds=18)) is None
    assert heads.find(world.process, "copy") is None
    world.new_process()
    there = set(objects(world, "copy"))
    assert len(there) > 2
    world.settle()
    written = {key for verb, key in world.client.requests if verb == "PUT"}
    assert not written & {f"copy/{name}" for name in there}
    assert world.bank("copy") == world.bank("demo")


def test_a_large_archive_is_checked_before_anything_is_written_but_after_the_answer(world, monkeypatch):
    monkeypatch.setattr(importing, "CHECKED_AT_ONCE", 10)
    files = unpack(exported(world))
    files["demo/_rules.md"] = b"changed"
    head = order(world, upload(world, targz(files.items())))
    world.client.reset()
    with pytest.raises(InvalidArchive):
        provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    # Its head alone: that it was given up.
    assert {key for verb, key in world.client.requests if verb == "PUT"} == {"copy/_meta.json"}
    job = new_space.load(world.process, "copy")
    assert (job.status, job.error.code) == ("failed", "invalid_archive")
    assert "_rules.md" in job.error.detail


def test_what_there_is_no_time_to_check_is_checked_later(world):
    body = exported(world)
    wanted = SpaceCopy("copy", upload_ids=[upload(world, body)])
    head = importing.order(world.process, EVERYONE, wanted, world.clock() + timedelta(seconds=4))
    assert head.meta.provisioning.space_id is None
    # The same order again goes on with it, although it knows by now where the archive comes from.
    again = importing.order(world.process, EVERYONE, wanted, world.clock() + INVOCATION)
    assert again.meta.provisioning.provisioning_id == head.meta.provisioning.provisioning_id
    assert provisioning.carry_on(world.process, head, world.clock() + timedelta(seconds=4)) is None
    world.settle()
    assert world.bank("copy") == world.bank("demo")


def test_an_upload_that_is_replaced_after_the_check_is_not_taken(world):
    body = exported(world)
    upload_id = upload(world, body)
    head = order(world, upload_id)
    world.store.put(UPLOAD.key(upload_id), body + bytes(512))
    with pytest.raises(InvalidArchive, match="replaced"):
        provisioning.carry_on(world.process, head, world.clock() + INVOCATION)
    assert objects(world, "copy") == {}


def test_bad_orders_are_refused_and_leave_nothing(world, monkeypatch):
    upload_id = upload(world, exported(world))
    before = set(world.keys())
    with pytest.raises(NotFound) as missing:
        order(world, world.ids())
    assert missing.value.code == "upload_not_found"
    with pytest.raises(InvalidName):
        order(world, "../x")
    with pytest.raises(InvalidName):
        order(world, upload_id, "no/space")
    with pytest.raises(SpaceExists):
        order(world, upload_id, "demo")
    with pytest.raises(Forbidden):
        order(world, upload_id, "demo", Principal("eve", frozenset({"admin"}), frozenset({"eves"})))
    with pytest.raises(TooLarge):
        order(world, upload_id, description="x" * 501)
    with pytest.raises(InvalidRequest):
        order(world, upload_id, rules="x", rules_template="standard")
    monkeypatch.setattr(unpacking, "ARCHIVE_BYTES", 100)
    with pytest.raises(TooLarge):
        order(world, upload_id)
    assert set(world.keys()) - before <= {TOKEN_CAPS.key("admin")}


def test_an_id_that_is_being_brought_is_not_given_to_another_import(world):
    body = exported(world)
    first = upload(world, body)
    order(world, first)
    with pytest.raises(Conflict):
        order(world, upload(world, body))


def test_the_head_does_not_keep_what_was_asked_for(world):
    meta = import_it(world, targz([("a.md", b"# A\n")]), rules="Long rules. " * 100)
    assert meta.provisioning.options == {}
    assert json.loads(world.text("copy/_meta.json"))["provisioning"]["options"] == {}


def test_an_archive_of_the_version_before_is_taken(world):
    """Its manifest has no number, and each of its parts is a member of gzip."""
    files = unpack(exported(world))
    manifest = files.pop("demo/_manifest.json")
    numbers = (b'  "archive"', b'  "archives"')
    former = b"".join(line for line in manifest.splitlines(True) if not line.startswith(numbers))
    assert former.count(b"\n") == manifest.count(b"\n") - 2
    packed = tar([*files.items(), ("demo/_manifest.json", former)])

    assert import_it(world, gzip.compress(packed[:5_000]) + gzip.compress(packed[5_000:]))

    assert world.bank("copy") == world.bank("demo")

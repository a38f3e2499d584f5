"""A space, or a backup of it, becomes one archive, whoever makes which part of it."""

import gzip
import io
import json
import shutil
import subprocess
import tarfile
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256

import pytest

from livemem.access import registry
from livemem.copies import archive, archive_expiry, catalog, export, export_job, packing, taking
from livemem.copies.archiving import KIND
from livemem.copies.export import Archive, Working
from livemem.copies.export_job import ExportJob
from livemem.erasure import former_versions
from livemem.errors import BackupDamaged, Busy, InvalidName, NotFound
from livemem.jobs import job as jobs
from livemem.jobs import lease, places
from livemem.store import bucket, keys
from livemem.store.bucket import BACKUP_OBJECT, EXPORT, TOKENS, UPLOAD
from livemem.store.stored import Stored
from tests.support.archives import download, export_now, exported, import_it, lived_in, unpack
from tests.support.bucket import error
from tests.support.counting import Killed
from tests.support.world import BOOTSTRAP_KEY, EVERYONE, World

SOON = timedelta(seconds=20)
"""What a request has."""


@pytest.fixture
def world():
    return lived_in()


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of a few objects, so that archives of small spaces have several."""
    monkeypatch.setattr(packing, "PART_BYTES", 10_000)

    def use(world: World) -> World:
        world.inner.smallest_part = 10_000
        return world

    return use


def in_pieces(world: World, count: int = 4) -> World:
    """A space whose archive has several small parts."""
    world.create_space()
    for number in range(count):
        # Hex digits of hashes compress to a half, so each note is more than a part.
        world.note("".join(sha256(b"%d %d" % (number, index)).hexdigest() for index in range(600)))
    return world


def test_an_archive_holds_the_space_as_it_is_in_the_bucket_and_its_manifest_last(world):
    in_bucket = {
        key: stored.body
        for key, stored in world.inner.objects.items()
        if key.startswith("demo/") and not bucket.is_derived(key.removeprefix("demo/"))
    }
    files = unpack(exported(world))
    assert list(files)[-1] == "demo/_manifest.json"
    manifest = json.loads(files.pop("demo/_manifest.json"))
    assert files == in_bucket
    assert {f"demo/{item['name']}" for item in manifest["objects"]} == set(in_bucket)
    assert (manifest["format"], manifest["space_id"], manifest["objects_count"]) == (archive.FORMAT, "demo", len(files))


def test_its_members_are_plain_files_of_the_time_of_the_backup(world):
    answer = export_now(world)
    with tarfile.open(fileobj=io.BytesIO(download(world, answer))) as opened:
        members = opened.getmembers()
    assert {(member.mode, member.mtime, member.uname, member.isfile()) for member in members} == {
        (0o644, int(keys.backup_moment(answer.backup_id).timestamp()), "", True)
    }


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("tar"), reason="no tar on this machine")
def test_the_systems_tar_reads_names_of_any_length(world, tmp_path):
    name = f"conversations/{'x' * 200}/{'ü' * 60}.json"
    world.store.put(f"demo/{name}", b"{}")
    (tmp_path / "a.tar.gz").write_bytes(exported(world))
    subprocess.run(["tar", "xzf", "a.tar.gz"], cwd=tmp_path, check=True, timeout=20)
    assert (tmp_path / "demo" / name).read_bytes() == b"{}"
    assert (tmp_path / "demo" / "bank" / "log.md").read_text() == world.text("demo/bank/log.md")


def test_no_token_no_key_and_nothing_of_another_space_is_in_it(world):
    world.create_space("other")
    world.note("of another space", space_id="other")
    world.store.put(TOKENS, registry.Registry(tokens=[]).to_bytes() + b"sha256:feedfeed")
    files = unpack(exported(world))
    text = b"".join(files.values())
    assert all(name.startswith("demo/") for name in files)
    assert not any(secret in text for secret in (BOOTSTRAP_KEY.encode(), b"feedfeed", b"of another space"))


def test_what_no_import_would_take_is_left_out_and_named(world):
    for name in ("live/readme.md", "bank/active context.md", "a/../b", "folder/", "_manifest.json.d/x\n"):
        world.store.put(f"demo/{name}", b"text")
    answer = export_now(world)
    files = unpack(download(world, answer))
    manifest = json.loads(files["demo/_manifest.json"])
    assert answer.left_out == manifest["left_out_count"] == 5
    assert "'bank/active context.md'" in manifest["left_out"]
    assert len(files) == answer.objects + 1


def test_a_url_of_a_quarter_of_an_hour_is_the_answer(world):
    answer = export_now(world)
    assert f"{EXPORT.key('demo', answer.backup_id)}?get_object&expires=900" in answer.url
    assert answer.expires_at == "2026-02-20T14:15:00Z"


def test_an_archive_that_is_there_is_answered_at_once(world):
    backup_id = world.back_up().job_id
    first = export.download(world.process, "demo", backup_id, world.clock() + SOON)
    world.client.reset()
    assert export.download(world.process, "demo", backup_id, world.clock() + SOON) == first
    assert world.client.counts == {"GET": 2, "HEAD": 1}


def test_an_archive_that_has_gone_is_made_anew(world):
    first = export_now(world)
    world.store.delete(EXPORT.key("demo", first.backup_id))
    assert download(world, export_now(world))


def test_an_unchanged_space_is_exported_from_the_backup_that_there_is(world):
    backup_id = world.back_up().job_id
    world.clock.move(60)
    first = export_now(world)
    world.clock.move(60)
    assert (first.backup_id, export_now(world).backup_id) == (backup_id, backup_id)
    world.note("something new")
    assert b"something new" in b"".join(unpack(exported(world)).values())
    assert len(catalog.ids(world.process, "demo")) == 2


def test_a_small_archive_is_one_put_and_no_upload_in_parts(world):
    world.back_up()
    backup_id = catalog.ids(world.process, "demo")[0]
    world.client.reset()
    export.download(world.process, "demo", backup_id, world.clock() + SOON)
    # Two states, and that it was delivered; and that it was asked for.
    assert world.client.counts["PUT"] == 1 + 3 + 1
    assert not {"CreateUpload", "PART"} & set(world.client.counts)


def test_parts_make_the_same_archive_as_one_piece_would(small_parts):
    world = small_parts(in_pieces(World()))
    body = exported(world)
    assert world.client.counts["PART"] == 3
    assert not world.inner.uploads
    assert unpack(body)["demo/_rules.md"] == b"Keep a log."
    # Each part is whole members of gzip.
    assert gzip.decompress(body)[:5] == b"demo/"


def test_an_object_larger_than_a_part_is_read_in_pieces(small_parts, monkeypatch):
    world = small_parts(in_pieces(World()))
    monkeypatch.setattr(packing, "WINDOW_BYTES", 2_000)
    blob = b"".join(str(number**9).encode() for number in range(3_000))
    world.store.put("demo/conversations/blob.json", blob, metadata={"kind": "blob"})
    files = unpack(exported(world))
    assert files["demo/conversations/blob.json"] == blob
    assert b'"metadata": {"kind": "blob"}' in files["demo/_manifest.json"]


def queued(world: World, backup_id: str) -> Stored[ExportJob]:
    job = export_job.new(world.process, "demo", backup_id, "download")
    return jobs.create(world.process, KIND.key("demo", backup_id), job)


def slow(world: World, seconds: float) -> None:
    """Each request takes so long from now on."""
    world.client.after = lambda index, verb: world.clock.move(seconds)


def test_what_does_not_fit_into_the_time_goes_on_in_the_next_invocation(small_parts, monkeypatch):
    world = small_parts(in_pieces(World(), 12))
    backup_id = world.back_up().job_id
    whole = download(world, export.download(world.process, "demo", backup_id, world.clock() + SOON))
    former_versions.clear_archives(world.process, "demo")
    monkeypatch.setattr(packing, "WINDOW_OBJECTS", 2)
    slow(world, 4)
    answer = export.download(world.process, "demo", backup_id, world.clock() + timedelta(seconds=48))
    assert isinstance(answer, Working)
    assert 0 < answer.done < answer.total
    world.new_process()
    (payload,) = world.queued
    assert payload == KIND.payload("demo", backup_id, backup_id)
    assert isinstance(export.download(world.process, "demo", backup_id, world.clock() + SOON), Working)
    world.client.reset()
    world.settle()
    # What is in whole parts was not read again.
    assert world.client.counts["GET"] == 2 + answer.total - answer.done
    answer = export.download(world.process, "demo", backup_id, world.clock() + SOON)
    assert download(world, answer) == whole
    assert not world.inner.uploads


def test_a_backup_that_takes_too_long_goes_on_first_and_then_its_archive(world, monkeypatch):
    monkeypatch.setattr(taking, "BATCH", 2)
    slow(world, 2)
    answer = export.export(world.process, EVERYONE, "demo", world.clock() + timedelta(seconds=30))
    assert answer == Working("demo", answer.backup_id, "queued", 0, 0)
    world.new_process()
    # The space changes on; who asks again is not put off by that.
    world.note("later")
    assert export_now(world) == answer
    world.settle()
    world.note("later still")
    made = export_now(world)
    assert isinstance(made, Archive)
    assert made.backup_id == answer.backup_id
    # Once: the next one who asks wants the space as it is then.
    world.clock.move(1)
    assert export_now(world).backup_id > made.backup_id


def test_one_invocation_at_a_time_goes_on_with_an_export_and_its_backup(world, monkeypatch):
    monkeypatch.setattr(taking, "BATCH", 2)
    slow(world, 4)
    export.export(world.process, EVERYONE, "demo", world.clock() + timedelta(seconds=30))
    for _ in range(2):
        assert [payload["kind"] for payload in world.queued] == ["export"]
        assert world.work(until=world.clock() + timedelta(seconds=30)) == {"status": "unfinished"}
    assert [one.value.complete for one in catalog.looks(world.process, "demo", catalog.ids(world.process, "demo"))] == [
        False
    ]


def test_who_asks_meanwhile_is_told_how_far_it_is_and_does_nothing(small_parts):
    world = small_parts(in_pieces(World()))
    backup_id = world.back_up().job_id
    world.client.kill_at(len(world.client.requests) + 9, done=True)
    with suppress(Killed):
        export.download(world.process, "demo", backup_id, world.clock() + SOON)
    world.new_process()
    answer = export.download(world.process, "demo", backup_id, world.clock() + SOON)
    assert isinstance(answer, Working)
    assert not {"PUT", "PART"} & set(world.client.counts)
    # Nobody is at it any more after the time of a request.
    world.clock.move(26)
    assert isinstance(export.download(world.process, "demo", backup_id, world.clock() + SOON), Archive)


def test_of_two_deliveries_of_one_invocation_one_makes_the_archive(small_parts):
    world = small_parts(in_pieces(World()))
    backup_id = world.back_up().job_id
    whole = download(world, export.download(world.process, "demo", backup_id, world.clock() + SOON))
    former_versions.clear_archives(world.process, "demo")
    queued(world, backup_id)
    payload = KIND.payload("demo", backup_id)
    process = world.process
    outcomes = []

    def between(index, verb):
        if verb == "PART" and not outcomes:
            outcomes.append(None)
            world.process = world.process_on(world.inner)
            outcomes[0] = world.work(payload)["status"]
            world.process = process

    world.client.after = between
    outcomes.append(world.work(payload)["status"])
    assert outcomes == ["done", "overtaken"]
    assert world.inner.objects[EXPORT.key("demo", backup_id)].body == whole
    assert not world.inner.uploads
    assert world.work(payload) == {"status": "done"}


def test_an_upload_that_the_store_lost_is_begun_anew(small_parts):
    world = small_parts(in_pieces(World()))

    def lose(index, verb):
        if verb == "PART" and world.client.counts["PART"] == 3:
            world.inner.abort_multipart_upload(Bucket="bucket", Key="", UploadId=next(iter(world.inner.uploads)))

    world.client.after = lose
    assert unpack(exported(world))["demo/_rules.md"] == b"Keep a log."
    assert world.client.counts["CreateUpload"] == 2


def test_parts_that_are_not_those_that_were_put_are_given_up_and_put_anew(small_parts):
    world = small_parts(in_pieces(World()))

    def spoil(index, verb):
        if verb == "PART" and world.client.counts["PART"] == 3:
            world.inner.uploads["upload-0"][1] = b"other"

    world.client.after = spoil
    assert unpack(exported(world))["demo/_rules.md"] == b"Keep a log."
    assert world.client.counts["CreateUpload"] == 2
    assert not world.inner.uploads


def test_a_lost_answer_to_the_end_of_an_upload_is_looked_for(small_parts):
    world = small_parts(in_pieces(World()))
    # The store's client asks again: the upload is not there any more.
    world.client.carry = lambda request: (
        (request.send(world.inner), request.send(world.inner))[1]
        if request.verb == "CompleteUpload"
        else request.send(world.inner)
    )
    assert unpack(exported(world))
    assert world.client.counts["CreateUpload"] == 1


def test_a_damaged_backup_is_told_once_and_then_tried_anew(world):
    manifest = world.back_up()
    broken = BACKUP_OBJECT.key("demo", manifest.job_id, "bank/log.md")
    whole = world.inner.objects[broken]
    # Its size is the same.
    world.store.put(broken, whole.body[::-1])
    with pytest.raises(BackupDamaged, match=r"bank/log\.md"):
        export.download(world.process, "demo", manifest.job_id, world.clock() + SOON)
    world.inner.objects[broken] = whole
    assert isinstance(export.download(world.process, "demo", manifest.job_id, world.clock() + SOON), Archive)


def test_what_failed_unseen_is_told_to_the_next_who_asks(world):
    manifest = world.back_up()
    queued(world, manifest.job_id)
    world.store.delete(BACKUP_OBJECT.key("demo", manifest.job_id, "bank/log.md"))
    payload = KIND.payload("demo", manifest.job_id)
    assert world.work(payload)["status"] == "failed"
    with pytest.raises(BackupDamaged):
        export.download(world.process, "demo", manifest.job_id, world.clock() + SOON)


def test_a_busy_space_and_unknown_backups_are_told(world):
    lease.acquire(world.process, places.of_space("demo"), world.ids(), "consolidation", by_hand=True)
    with pytest.raises(Busy):
        # There is no time to wait for it.
        export.export(world.process, EVERYONE, "demo", world.clock() + timedelta(seconds=5))
    with pytest.raises(NotFound) as error:
        export.download(world.process, "demo", "2026-01-01T00-00-00", world.clock() + SOON)
    assert error.value.code == "backup_not_found"
    with pytest.raises(InvalidName):
        export.download(world.process, "demo", "../x", world.clock() + SOON)
    with pytest.raises(NotFound):
        export_now(world, "nobody")


def test_archives_and_uploads_are_kept_for_a_day(world, small_parts):
    small_parts(world)
    exported(world)
    world.store.put(UPLOAD.key(world.ids()), b"archive")
    world.clock.move(24 * 3_600 - 1)
    assert archive_expiry.expire(world.process).bytes == 0
    world.clock.move(3)
    there = world.keys("_exports/") + world.keys("_uploads/")
    assert len(there) == 3
    planned = archive_expiry.expire(world.process, dry_run=True)
    assert planned.exports + planned.uploads == there
    assert world.keys("_exports/") + world.keys("_uploads/") == there
    assert archive_expiry.expire(world.process) == planned
    assert world.keys("_exports/") + world.keys("_uploads/") == []


def test_an_upload_in_parts_that_somebody_goes_on_with_is_left_alone(small_parts):
    world = small_parts(in_pieces(World()))
    backup_id = world.back_up().job_id
    saved = queued(world, backup_id)
    key = EXPORT.key("demo", backup_id)
    known, unknown = (world.inner.create_multipart_upload(Bucket="bucket", Key=key)["UploadId"] for _ in range(2))
    world.clock.move(25 * 3_600)
    jobs.change(world.process, saved, upload_id=known)
    assert archive_expiry.expire(world.process).parts == 1
    assert set(world.inner.uploads) == {known}
    assert unknown in world.inner.ended_uploads


def test_the_daily_sweep_removes_them(world):
    exported(world)
    world.clock.move(25 * 3_600)
    world.sweep()
    assert len(world.keys("_exports/")) == 2
    world.sweep_all()
    assert world.keys("_exports/") == []


def test_where_the_store_can_not_tell_of_uploads_in_parts_those_that_are_known_are_given_up(small_parts):
    world = small_parts(in_pieces(World()))
    backup_id = world.back_up().job_id
    saved = queued(world, backup_id)
    upload = world.inner.create_multipart_upload(Bucket="bucket", Key=EXPORT.key("demo", backup_id))
    jobs.change(world.process, saved, upload_id=upload["UploadId"])
    world.clock.move(25 * 3_600)

    def refuse(index, verb):
        if verb == "LIST uploads":
            raise error("NotImplemented", 501, verb)

    world.client.before = refuse
    world.sweep_all()
    assert world.keys("_exports/") == []
    assert not world.inner.uploads


def test_archives_that_can_not_be_removed_do_not_stop_the_sweep(world):
    exported(world)
    world.clock.move(25 * 3_600)

    def refuse(index, verb):
        if verb == "LIST uploads":
            raise error("AccessDenied", 403, verb)

    world.client.before = refuse
    assert world.sweep_all().failed == []
    assert len(world.keys("_exports/")) == 2


def test_a_document_that_no_import_would_take_is_left_out_and_named_and_the_rest_can_be_imported():
    world = lived_in()
    name = "memories/facts/log/00000001.json"
    world.store.put(f"demo/{name}", b'{"number": 100000000}')

    body = exported(world)

    manifest = json.loads(unpack(body)["demo/_manifest.json"])
    assert (manifest["left_out"], manifest["left_out_count"]) == ([f"'{name}'"], 1)
    assert f"demo/{name}" not in unpack(body)
    assert manifest["objects_count"] == len(unpack(body)) - 1
    assert import_it(world, body)

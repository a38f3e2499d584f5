"""A space, or a backup of it, becomes one archive, whoever makes which part of it."""

import io
import json
import shutil
import subprocess
import tarfile
from contextlib import suppress
from datetime import timedelta

import pytest

from livemem import clock
from livemem.access import registry
from livemem.copies import archive, catalog, export, taking
from livemem.copies import manifest as manifests
from livemem.copies.export import KIND, ExportJob, ExportResult
from livemem.erasure import steps
from livemem.errors import BackupDamaged, Busy, InvalidName, NotFound, PreconditionLost
from livemem.jobs import job as jobs
from livemem.jobs import lease, places
from livemem.store import bucket, keys
from livemem.store.bucket import BACKUP_OBJECT, EXPORT, EXPORT_STATE, TOKENS, UPLOAD
from livemem.store.objects import Store
from livemem.store.stored import Stored
from tests.support.archives import download, downloads, export_now, exported, import_it, lived_in, unpack
from tests.support.bucket import error
from tests.support.counting import Killed
from tests.support.world import BOOTSTRAP_KEY, EVERYONE, World


@pytest.fixture
def world():
    return lived_in()


@pytest.fixture
def small_archives(monkeypatch):
    """Archives of a few objects, so that a small space needs several."""
    monkeypatch.setattr(archive, "ARCHIVE_OBJECTS", 4)


def export_backup(world: World, backup_id: str, seconds: float = 20) -> Stored[ExportJob]:
    return export.export_backup(world.process, EVERYONE, "demo", backup_id, world.clock() + timedelta(seconds=seconds))


def result(world: World, current: Stored[ExportJob]) -> ExportResult:
    """The result as the job shows it."""
    described = export.description(world.process, current).result
    assert isinstance(described, ExportResult)
    return described


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
    made = export_now(world)
    with tarfile.open(fileobj=io.BytesIO(download(world, made))) as opened:
        members = opened.getmembers()
    assert {(member.mode, member.mtime, member.uname, member.isfile()) for member in members} == {
        (0o644, int(keys.backup_moment(made.value.job_id).timestamp()), "", True)
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
    made = export_now(world)
    files = unpack(download(world, made))
    manifest = json.loads(files["demo/_manifest.json"])
    answer = result(world, made)
    assert answer.left_out == manifest["left_out_count"] == 5
    assert "'bank/active context.md'" in manifest["left_out"]
    assert len(files) == answer.objects + 1


def test_an_object_that_is_larger_than_an_import_takes_is_left_out_and_named(world, monkeypatch):
    monkeypatch.setattr(archive, "OBJECT_BYTES", 100_000)
    world.store.put("demo/conversations/blob.json", bytes(100_001))
    world.store.put("demo/conversations/blob2.json", bytes(100_000))
    files = unpack(exported(world))
    assert json.loads(files["demo/_manifest.json"])["left_out"] == ["'conversations/blob.json'"]
    assert len(files["demo/conversations/blob2.json"]) == 100_000


def test_a_url_of_a_quarter_of_an_hour_is_the_result(world):
    made = export_now(world)
    answer = result(world, made)
    (one,) = answer.archives
    assert f"{EXPORT.key('demo', answer.backup_id, 1)}?get_object&expires=900" in one.url
    assert (one.bytes, answer.expires_at) == (len(download(world, made)), "2026-02-20T14:15:00Z")


def test_an_archive_that_is_there_is_answered_at_once(world):
    backup_id = world.back_up().job_id
    first = export_backup(world, backup_id)
    world.client.reset()
    assert export_backup(world, backup_id).value == first.value
    assert world.client.counts == {"GET": 2, "HEAD": 1}


def test_an_archive_that_has_gone_is_made_anew(world):
    first = export_now(world).value.job_id
    world.store.delete(EXPORT.key("demo", first, 1))
    assert download(world, export_now(world))


def test_an_unchanged_space_is_exported_from_the_backup_that_there_is(world):
    backup_id = world.back_up().job_id
    world.clock.move(60)
    first = export_now(world)
    world.clock.move(60)
    assert (first.value.job_id, export_now(world).value.job_id) == (backup_id, backup_id)
    world.note("something new")
    assert b"something new" in b"".join(unpack(exported(world)).values())
    assert len(catalog.ids(world.process, "demo")) == 2


def test_an_archive_is_one_put(world):
    backup_id = world.back_up().job_id
    world.client.reset()
    export_backup(world, backup_id)
    # Two states of the job, and one that it was asked for.
    assert world.client.counts["PUT"] == 1 + 2 + 1


def test_a_large_space_comes_in_numbered_archives_one_an_invocation_and_is_imported_whole(world, small_archives):
    made = export_now(world)
    assert (made.value.status, len(made.value.archives)) == ("running", 1)
    while world.queued:
        assert world.work()["status"] in ("unfinished", "done")
    made = export_now(world)

    bodies = downloads(world, made)

    assert len(bodies) == 3
    answer = result(world, made)
    assert [one.url.partition("?")[0].rpartition("/")[2] for one in answer.archives] == [
        f"{answer.backup_id}{number}.tar.gz" for number in ("", ".2", ".3")
    ]
    manifests = [json.loads(unpack(body)["demo/_manifest.json"]) for body in bodies]
    assert [(manifest["archive"], manifest["archives"]) for manifest in manifests] == [(1, 3), (2, 3), (3, 3)]
    assert sum(manifest["objects_count"] for manifest in manifests) == answer.objects == made.value.progress.total
    assert import_it(world, *bodies)
    assert world.bank("copy") == world.bank("demo")
    assert world.live_ids("copy") == world.live_ids("demo")


def test_the_bytes_of_an_archive_are_bounded_too(world, monkeypatch):
    backup = world.back_up()
    monkeypatch.setattr(archive, "ARCHIVE_BYTES", 1_000)
    groups = archive.ArchiveContents.of(manifests.load(world.process, "demo", backup.job_id).value).archives
    assert len(groups) > 2
    assert all(len(group) == 1 or sum(item.size for item in group) <= 1_000 for group in groups)


def queued(world: World, backup_id: str) -> Stored[ExportJob]:
    now = clock.iso_millis(world.clock())
    job = ExportJob(job_id=backup_id, space_id="demo", subject=backup_id, asked="download", created_at=now)
    return jobs.create(world.process, KIND.key("demo", backup_id), job)


def slow(world: World, seconds: float) -> None:
    """Each request takes so long from now on."""
    world.client.after = lambda index, verb: world.clock.move(seconds)


def test_what_does_not_fit_into_the_time_is_made_by_the_next_invocation(world, monkeypatch):
    backup_id = world.back_up().job_id
    whole = download(world, export_backup(world, backup_id))
    steps.clear_archives(world.process, "demo")
    monkeypatch.setattr(archive, "WINDOW_OBJECTS", 2)
    slow(world, 4)
    first = export_backup(world, backup_id, 48)
    assert first.value.status == "running"
    world.new_process()
    (payload,) = world.queued
    assert payload == KIND.payload("demo", backup_id, backup_id)
    assert export_backup(world, backup_id).value.status == "running"
    world.settle()
    assert download(world, export_backup(world, backup_id)) == whole


def test_a_backup_that_takes_too_long_goes_on_first_and_then_its_archive(world, monkeypatch):
    monkeypatch.setattr(taking, "BATCH", 2)
    slow(world, 2)
    first = export.export(world.process, EVERYONE, "demo", world.clock() + timedelta(seconds=30)).value
    assert (first.stage, first.ended()) == ("backup", False)
    world.new_process()
    # The space changes on; a repeat finds the job that is under way.
    world.note("later")
    assert export_now(world).value == first
    world.settle()
    made = KIND.find(world.process, "demo", first.job_id)
    assert made
    assert download(world, made)
    # The next request wants the space as it is then.
    world.note("later still")
    world.clock.move(1)
    assert export_now(world).value.job_id > first.job_id


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


def test_a_request_meanwhile_is_answered_with_the_job_and_does_nothing(world):
    backup_id = world.back_up().job_id
    world.client.kill_at(len(world.client.requests) + 9, done=True)
    with suppress(Killed):
        export_backup(world, backup_id)
    world.new_process()
    assert export_backup(world, backup_id).value.status == "running"
    assert "PUT" not in world.client.counts
    # Nobody is at it any more after the time of a request.
    world.clock.move(26)
    assert download(world, export_backup(world, backup_id))


def test_two_deliveries_of_one_invocation_make_the_same_archive(world):
    backup_id = world.back_up().job_id
    whole = download(world, export_backup(world, backup_id))
    steps.clear_archives(world.process, "demo")
    queued(world, backup_id)
    payload = KIND.payload("demo", backup_id)
    process = world.process
    outcomes = []

    def between(index, verb):
        if verb == "PUT" and len(world.client.requests) > 5 and not outcomes:
            outcomes.append(None)
            world.process = world.process_on(world.inner)
            outcomes[0] = world.work(payload)["status"]
            world.process = process

    world.client.reset()
    world.client.after = between
    outcomes.append(world.work(payload)["status"])
    assert outcomes == ["done", "done"]
    assert world.inner.objects[EXPORT.key("demo", backup_id, 1)].body == whole
    assert world.work(payload) == {"status": "done"}


@pytest.mark.parametrize("objects", [4, 1_000], ids=["the first of several", "the only one"])
def test_an_archive_that_is_made_while_an_erasure_clears_them_goes_too(world, monkeypatch, objects):
    backup_id = world.back_up().job_id
    monkeypatch.setattr(archive, "ARCHIVE_OBJECTS", objects)
    pack = archive.pack

    def meanwhile(*arguments):
        packed = pack(*arguments)
        steps.clear_archives(world.process, "demo")
        return packed

    monkeypatch.setattr(archive, "pack", meanwhile)
    with pytest.raises(PreconditionLost, match="was removed in the meantime"):
        export_backup(world, backup_id)
    assert world.keys("_exports/") == []
    assert not world.queued


def test_an_archive_of_before_an_erasure_does_not_replace_that_of_a_new_job(world, monkeypatch):
    backup_id = world.back_up().job_id
    pack = archive.pack

    def meanwhile(*arguments):
        packed = pack(*arguments)
        monkeypatch.setattr(archive, "pack", pack)
        steps.clear_archives(world.process, "demo")
        world.clock.move(1)
        export_backup(world, backup_id)
        packed.body = b"erased words"
        return packed

    monkeypatch.setattr(archive, "pack", meanwhile)
    export_backup(world, backup_id)
    assert world.keys("_exports/") == [EXPORT_STATE.key("demo", backup_id)]
    # What is gone is made anew.
    assert download(world, export_backup(world, backup_id))


def test_the_archive_of_a_new_job_stays_though_the_worker_of_before_removes_its_own_late(world, monkeypatch):
    backup_id = world.back_up().job_id
    pack, put = archive.pack, Store.put

    def of_before(*arguments):
        packed = pack(*arguments)
        packed.body = b"erased words"
        monkeypatch.setattr(archive, "pack", pack)
        return packed

    def then_a_new_job(store, key, body, **how):
        etag = put(store, key, body, **how)
        if body == b"erased words":
            steps.clear_archives(world.process, "demo")
            world.clock.move(1)
            assert export_backup(world, backup_id).value.status == "done"
        return etag

    monkeypatch.setattr(archive, "pack", of_before)
    monkeypatch.setattr(Store, "put", then_a_new_job)
    export_backup(world, backup_id)
    assert world.keys("_exports/") == [EXPORT_STATE.key("demo", backup_id), EXPORT.key("demo", backup_id, 1)]


def test_a_damaged_backup_ends_the_job_and_a_further_request_tries_anew(world):
    manifest = world.back_up()
    broken = BACKUP_OBJECT.key("demo", manifest.job_id, "bank/log.md")
    whole = world.inner.objects[broken]
    # Its size is the same.
    world.store.put(broken, whole.body[::-1])
    failed = export_backup(world, manifest.job_id).value
    assert (failed.status, failed.error.code) == ("failed", BackupDamaged.code)
    assert "bank/log.md" in failed.error.detail
    world.inner.objects[broken] = whole
    assert download(world, export_backup(world, manifest.job_id))


def test_an_export_of_the_version_before_is_made_anew(world):
    """Its state named uploaded parts, or one archive."""
    backup_id = world.back_up().job_id
    whole = download(world, export_backup(world, backup_id))
    for status in ("running", "done"):
        steps.clear_archives(world.process, "demo")
        former = {"job_id": backup_id, "space_id": "demo", "kind": "export", "asked": "export", "status": status}
        former |= {"created_at": "2026-02-20T13:00:00.000Z", "subject": backup_id, "upload_id": "u", "etags": ["1"]}
        former |= {"digests": ["x"], "bytes": 5, "objects": 1, "delivered": True}
        world.store.put(EXPORT_STATE.key("demo", backup_id), json.dumps(former).encode())
        assert download(world, export_backup(world, backup_id)) == whole


def test_a_busy_space_and_unknown_backups_are_told(world):
    lease.acquire(world.process, places.of_space("demo"), world.ids(), "consolidation", by_hand=True)
    with pytest.raises(Busy):
        # There is no time to wait for it.
        export.export(world.process, EVERYONE, "demo", world.clock() + timedelta(seconds=5))
    with pytest.raises(NotFound) as error:
        export_backup(world, "2026-01-01T00-00-00")
    assert error.value.code == "backup_not_found"
    with pytest.raises(InvalidName):
        export_backup(world, "../x")
    with pytest.raises(NotFound):
        export_now(world, "nobody")


def test_archives_and_uploads_are_kept_for_a_day(world):
    exported(world)
    world.store.put(UPLOAD.key(world.ids()), b"archive")
    world.clock.move(24 * 3_600 - 1)
    assert export.expire(world.process).bytes == 0
    world.clock.move(3)
    there = world.keys("_exports/") + world.keys("_uploads/")
    assert len(there) == 3
    planned = export.expire(world.process, dry_run=True)
    assert planned.exports + planned.uploads == there
    assert world.keys("_exports/") + world.keys("_uploads/") == there
    assert export.expire(world.process) == planned
    assert world.keys("_exports/") + world.keys("_uploads/") == []


def test_the_daily_sweep_removes_them(world):
    exported(world)
    world.clock.move(25 * 3_600)
    world.sweep()
    assert len(world.keys("_exports/")) == 2
    world.sweep_all()
    assert world.keys("_exports/") == []


def test_archives_that_can_not_be_removed_do_not_stop_the_sweep(world):
    exported(world)
    world.clock.move(25 * 3_600)

    def carry(request):
        if request.verb.startswith("LIST") and "_exports/" in str(request):
            raise error("AccessDenied", 403, request.verb)
        return request.send(world.inner)

    carried, world.client.carry = world.client.carry, carry
    assert world.sweep_all().failed == []
    world.client.carry = carried
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

import errno
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.front.httpd import Response
from local.s3.application import S3Application
from local.s3.backend import MotoBackend
from local.s3.disk import Disk
from local.s3.events import Notifier
from tests.unit.local.s3.support import checker, sign

_numbers = itertools.count()


class Rig:
    """A server without its sockets: moto, and a disk that can be made to fail."""

    def __init__(self, root: Path, backend: MotoBackend | None = None) -> None:
        # moto's buckets belong to the process, so each test has its own.
        self.bucket = f"unit-bucket-{next(_numbers)}"
        self.disk = Disk(root)
        self.told: list[str] = []
        self.notifier = Notifier([], root / "outbox", lambda *_: 202)
        self.notifier.announce = lambda put: self.told.append(put.key)  # type: ignore[method-assign]
        self.application = S3Application(backend or MotoBackend(), self.disk, self.notifier, checker())
        self.application.ensure_bucket(self.bucket, "us-east-1")

    def call(self, method: str, key: str, body: bytes = b"", **headers: str) -> Response:
        given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return self.application.answer(sign(method, f"/{self.bucket}/{key}", body, headers=given))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def fail(*_args, **_kwargs):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("number", "status", "code"),
    [
        (errno.ENOSPC, 507, b"InsufficientStorage"),
        (errno.EDQUOT, 507, b"InsufficientStorage"),
        (errno.EIO, 500, b"InternalError"),
        (errno.EROFS, 500, b"InternalError"),
    ],
)
def test_a_full_disk_is_told_from_a_broken_one_before_and_while_an_object_is_kept(
    rig, monkeypatch, number, status, code
):
    def refuse(*_args, **_kwargs):
        raise OSError(number, "no")

    for method in ("prepared", "store"):
        with monkeypatch.context() as patch:
            patch.setattr(rig.disk, method, refuse)
            response = rig.call("PUT", "k.md", b"new")
        assert (response.status, code in response.body) == (status, True)
    # It heals by itself.
    assert rig.call("PUT", "k.md", b"new").status == 200


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_put_that_the_disk_refuses_did_not_happen(rig, monkeypatch, before):
    if before is not None:
        rig.call("PUT", "k.md", before, Content_Type="x/y")
    told = list(rig.told)
    with monkeypatch.context() as patch:
        patch.setattr(rig.disk, "store", fail)
        response = rig.call("PUT", "k.md", b"new")
    assert (response.status, b"InsufficientStorage" in response.body) == (507, True)
    got = rig.call("GET", "k.md")
    assert (got.status, got.body if got.status == 200 else None) == ((200, before) if before else (404, None))
    assert (b"k.md" in rig.call("GET", "?list-type=2").body) is (before is not None)
    assert rig.told == told
    if before:
        assert dict(got.headers)["content-type"] == "x/y"


def test_a_deletion_that_the_disk_refuses_did_not_happen(rig, monkeypatch):
    rig.call("PUT", "k.md", b"old")
    with monkeypatch.context() as patch:
        patch.setattr(rig.disk, "remove", fail)
        assert rig.call("DELETE", "k.md").status == 507
        many = rig.call("POST", "?delete", b"<Delete><Object><Key>k.md</Key></Object></Delete>")
    assert b"<Error><Key>k.md</Key>" in many.body
    assert rig.call("GET", "k.md").body == b"old"
    assert b"k.md" in rig.call("GET", "?list-type=2").body


def test_what_changes_something_runs_alone_and_reads_run_together(tmp_path):
    class Watched(MotoBackend):
        def __init__(self) -> None:
            super().__init__()
            self.lock, self.inside, self.seen = threading.Lock(), [], []
            self.both_read = threading.Barrier(2)

        def dispatch(self, request, target, operation):
            with self.lock:
                self.inside.append(operation.changes)
                self.seen.append(list(self.inside))
            if target.key == "meet":
                self.both_read.wait(5)  # passes only if two reads are inside at once
            try:
                return super().dispatch(request, target, operation)
            finally:
                with self.lock:
                    self.inside.remove(operation.changes)

    backend = Watched()
    rig = Rig(tmp_path, backend)
    with ThreadPoolExecutor(8) as executor:
        meetings = [executor.submit(rig.call, "GET", "meet") for _ in range(2)]
        assert [meeting.result().status for meeting in meetings] == [404, 404]
        answers = list(executor.map(lambda n: rig.call("PUT" if n % 2 else "GET", f"k{n % 3}"), range(80)))
    assert {a.status for a in answers} <= {200, 404}
    assert all(len(inside) == 1 for inside in backend.seen if True in inside)


def test_moto_remembers_nothing_of_versions_and_keys_that_are_no_more(rig):
    from moto.core.model_instances import model_data
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    tags = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].tagger.tags
    for number in range(20):
        rig.call("PUT", f"k{number}.md", str(number).encode())
        rig.call("PUT", f"k{number}.md", b"again")
        rig.call("DELETE", f"k{number}.md")
    assert not any(getattr(model, "instances_tracked") for model in model_data["s3"].values())  # noqa: B009
    assert not [name for name in tags if f":::{rig.bucket}/" in name]


def test_what_moto_trips_over_is_a_500_document(rig, monkeypatch):
    from moto.s3.responses import S3Response

    monkeypatch.setattr(S3Response, "key_dispatch", fail)
    response = rig.call("GET", "k.md")
    assert (response.status, b"<Code>InternalError</Code>" in response.body) == (500, True)


def test_a_bucket_whose_folder_holds_a_foreign_file_is_not_deleted(rig, tmp_path):
    foreign = tmp_path / "s3" / rig.bucket / "my notes"
    foreign.write_text("x")
    assert rig.call("DELETE", "").status == 409
    assert foreign.exists()
    foreign.unlink()
    (foreign.parent / "left" / "over").mkdir(parents=True)
    assert rig.call("DELETE", "").status == 204
    assert not foreign.parent.exists()


def test_a_bucket_created_twice_is_as_old_as_it_was(rig, tmp_path):
    known = (tmp_path / "s3-metadata" / rig.bucket / ".bucket").read_bytes()
    assert rig.call("PUT", "").status == 200
    assert (tmp_path / "s3-metadata" / rig.bucket / ".bucket").read_bytes() == known


def test_an_event_that_cannot_be_kept_does_not_undo_the_put(rig):
    rig.notifier.announce = fail
    assert rig.call("PUT", "k.md", b"new").status == 200
    assert rig.call("GET", "k.md").body == b"new"


def test_a_bucket_comes_back_as_old_as_moto_made_it(rig, tmp_path):
    name = rig.bucket + "-more"
    assert rig.application.answer(sign("PUT", f"/{name}")).status == 200
    kept = next(b for b in Disk(tmp_path).load_buckets() if b.name == name)
    assert kept.created == rig.application._backend.bucket_created(name)

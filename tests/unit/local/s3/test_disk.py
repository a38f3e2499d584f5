from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.s3 import disk as disk_module
from local.s3.disk import Disk, StoredBucket
from local.s3.objects import StoredObject, plain_attributes

NOW = 1_795_233_906_789_000_000


def stored(key: str, body: bytes, time: int = NOW, **headers: str) -> StoredObject:
    attributes = plain_attributes(key, body)
    if headers:
        attributes["headers"] = {name.replace("_", "-"): value for name, value in headers.items()}
    return StoredObject(body, time, attributes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Disk(tmp_path).create_bucket(StoredBucket("bkt", "eu-west-1", 1.5))
    return tmp_path


def load(root: Path) -> dict[str, StoredObject]:
    return dict(Disk(root).load_objects("bkt"))


def metadata_files(root: Path) -> list[str]:
    return [p.name for p in (root / "s3-metadata").rglob("*") if p.is_file() and p.name != ".bucket"]


def test_a_note_is_one_plain_file(root):
    Disk(root).store("bkt", "space/live/a.md", stored("space/live/a.md", b"# note\n"))
    path = root / "s3/bkt/space/live/a.md"
    assert path.read_bytes() == b"# note\n"
    assert path.stat().st_mtime_ns == NOW
    assert metadata_files(root) == []


def test_objects_come_back_with_all_that_was_known_of_them(root):
    objects = {
        "a": stored("a", b"1"),
        "a/b": stored("a/b", b"2", NOW + 1000, content_type="x/y", x_amz_meta_k="v"),
        "c.md": StoredObject(b"3", NOW, plain_attributes("c.md", b"3") | {"etag": "0123-2"}),
    }
    for key, item in objects.items():
        Disk(root).store("bkt", key, item)
    assert load(root) == objects
    assert Disk(root).read("bkt", "a/b") == objects["a/b"]
    assert Disk(root).read("bkt", "none") is None


def test_buckets_come_back_and_a_folder_made_by_hand_is_one(root):
    (root / "s3/byhand").mkdir()
    buckets = Disk(root).load_buckets()
    assert buckets[0] == StoredBucket("bkt", "eu-west-1", 1.5)
    assert (buckets[1].name, buckets[1].region) == ("byhand", "us-east-1")
    (root / "s3/byhand/a.md").write_text("x")
    assert [key for key, _ in Disk(root).load_objects("byhand")] == ["a.md"]


def test_a_file_put_there_by_hand_is_an_object_and_a_foreign_one_is_left_alone(root, caplog):
    (root / "s3/bkt/by-hand.md").write_text("x")
    (root / "s3/bkt/not ours").write_text("x")
    (root / "s3/bkt/link.md").symlink_to("/etc/passwd")
    assert list(load(root)) == ["by-hand.md"]
    assert (root / "s3/bkt/not ours").exists()
    assert caplog.text.count("left alone") == 2


def test_removing_an_object_leaves_no_empty_folders_and_no_metadata(root):
    disk = Disk(root)
    disk.store("bkt", "a/b/c.md", stored("a/b/c.md", b"", content_type="x/y"))
    disk.store("bkt", "a/d.md", stored("a/d.md", b""))
    disk.remove("bkt", "a/b/c.md")
    disk.remove("bkt", "a/b/c.md")
    assert [p.name for p in (root / "s3/bkt/a").iterdir()] == ["d.md"]
    assert metadata_files(root) == []
    disk.remove("bkt", "a/d.md")
    assert (root / "s3/bkt").is_dir()


def test_metadata_of_a_replaced_object_goes_with_it(root):
    disk = Disk(root)
    disk.store("bkt", "a.md", stored("a.md", b"1", content_type="x/y"))
    disk.store("bkt", "a.md", stored("a.md", b"2", NOW + 1, content_type="x/z"))
    assert len(metadata_files(root)) == 1
    disk.store("bkt", "a.md", stored("a.md", b"3", NOW + 2))
    assert metadata_files(root) == []


@pytest.mark.parametrize("step", ["prepare_file", "_write_metadata", "replace"])
def test_a_crash_at_any_step_leaves_the_old_object_whole(root, monkeypatch, step):
    before = stored("a.md", b"old", content_type="x/old")
    Disk(root).store("bkt", "a.md", before)

    class CrashError(BaseException):
        pass

    def crash(*_args, **_kwargs):
        raise CrashError

    disk = Disk(root)
    with monkeypatch.context() as patch:
        if step == "prepare_file":
            patch.setattr(disk_module, step, crash)
        elif step == "replace":
            # The metadata of the new object is written, the object itself not renamed.
            original = Path.replace
            patch.setattr(Path, "replace", lambda self, to: crash() if to.suffix == ".md" else original(self, to))
        else:
            patch.setattr(disk, step, crash)
        with pytest.raises(CrashError):
            disk.store("bkt", "a.md", stored("a.md", b"new", NOW + 5, content_type="x/new"))
    assert load(root) == {"a.md": before}
    assert len(metadata_files(root)) == 1  # loading swept what belongs to no object


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.text("ab./%é", min_size=1, max_size=8), st.tuples(st.binary(max_size=5), st.booleans()), max_size=12
    )
)
def test_any_set_of_keys_can_live_together(tmp_path_factory, contents):
    root = tmp_path_factory.mktemp("disk")
    disk = Disk(root)
    disk.create_bucket(StoredBucket("bkt", "us-east-1", 0.0))
    odd_type: dict[str, Any] = {"content_type": "x/y"}
    objects = {k: stored(k, b, **(odd_type if odd else {})) for k, (b, odd) in contents.items()}
    for key, item in objects.items():
        disk.store("bkt", key, item)
    assert load(root) == objects
    for key in objects:
        disk.remove("bkt", key)
    assert load(root) == {}
    assert list((root / "s3/bkt").rglob("*")) == []

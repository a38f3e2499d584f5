import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.unit.local.store.support import BUCKET, KilledError, contents, on_operation, opened, put, read

PART = 5 << 20


def refusal(call, **named) -> str:
    with pytest.raises(ClientError) as refused:
        call(Bucket=BUCKET, **named)
    return refused.value.response["Error"]["Code"]


def metadata_files(root: Path) -> list[str]:
    return [path.name for path in (root / "s3-metadata").rglob("*") if path.is_file()]


def test_a_note_is_one_plain_file(tmp_path):
    store = opened(tmp_path)
    put(store, "space/live/a.md", b"# note\n", ContentType="text/markdown; charset=utf-8")

    path = tmp_path / "s3" / BUCKET / "space/live/a.md"
    assert path.read_bytes() == b"# note\n"
    head = store.head_object(Bucket=BUCKET, Key="space/live/a.md")
    assert head["LastModified"] == datetime.fromtimestamp(path.stat().st_mtime_ns // 10**9, UTC)
    assert metadata_files(tmp_path) == []


def test_an_old_data_folder_opens_with_all_that_was_known_of_its_objects(tmp_path):
    files = {
        "s3/bkt/plain.md": "text",
        "s3/bkt/README%": "no dot",
        "s3/bkt/v1.2%%/con.md": "a name that Windows refuses",
        "s3/bkt/typed.md": "typed",
        "s3-metadata/bkt/.bucket": '{"region": "eu-west-1", "created": 1.5}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    os.utime(tmp_path / "s3/bkt/typed.md", ns=(7000, 7000))
    (tmp_path / "s3-metadata/bkt/typed.md.7000.json").write_text(
        '{"etag": "0123-2", "headers": {"content-type": "x/y", "x-amz-meta-k": "v"}, "checksum_algorithm": "CRC32"}'
    )

    store = opened(tmp_path)

    found = contents(store)
    assert found["typed.md"] == (b"typed", "x/y", {"k": "v"})
    assert store.head_object(Bucket=BUCKET, Key="typed.md")["ETag"] == '"0123-2"'
    assert {key: body for key, (body, _, _) in found.items()} == {
        "plain.md": b"text",
        "README": b"no dot",
        "v1.2/con.md": b"a name that Windows refuses",
        "typed.md": b"typed",
    }
    put(store, "v1.2/con.md", b"newer")
    assert (tmp_path / "s3/bkt/v1.2%%/con.md").read_text() == "newer"


def test_objects_come_back_after_a_restart_as_old_as_they_were(tmp_path):
    store = opened(tmp_path)
    for key, more in {"a": {}, "a/b": {"ContentType": "x/y", "Metadata": {"K": "v"}}, "c.md": {}}.items():
        put(store, key, key.encode(), **more)
    before, listed = contents(store), store.list_objects_v2(Bucket=BUCKET)["Contents"]

    again = opened(tmp_path)

    assert contents(again) == before
    assert before["a/b"] == (b"a/b", "x/y", {"k": "v"})
    assert again.list_objects_v2(Bucket=BUCKET)["Contents"] == listed


def test_a_file_put_there_by_hand_is_an_object_and_a_foreign_one_is_left_alone(tmp_path, caplog):
    opened(tmp_path)
    folder = tmp_path / "s3" / BUCKET
    (folder / "by-hand.md").write_text("x")
    (folder / "not ours").write_text("x")
    (folder / "link.md").symlink_to("/etc/passwd")
    store = opened(tmp_path)

    assert list(contents(store)) == ["by-hand.md"]
    assert caplog.text.count("left alone") == 2
    (folder / "by-hand.md").write_text("edited while the store is open")
    assert read(store, "by-hand.md") == b"edited while the store is open"
    (folder / "by-hand.md").unlink()
    assert refusal(store.get_object, Key="by-hand.md") == "NoSuchKey"
    assert contents(store) == {}


def test_removing_an_object_leaves_no_empty_folders_and_no_metadata(tmp_path):
    store = opened(tmp_path)
    put(store, "a/b/c.md", ContentType="x/y")
    put(store, "a/d.md")
    for _ in range(2):
        store.delete_object(Bucket=BUCKET, Key="a/b/c.md")
    assert [path.name for path in (tmp_path / "s3" / BUCKET / "a").iterdir()] == ["d.md"]
    store.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "a/d.md"}, {"Key": "none"}]})
    assert list((tmp_path / "s3" / BUCKET).iterdir()) == metadata_files(tmp_path) == []


def test_metadata_of_a_replaced_object_goes_with_it(tmp_path):
    store = opened(tmp_path)
    for kind in ("x/y", "x/z"):
        put(store, "a.md", ContentType=kind)
        assert len(metadata_files(tmp_path)) == 1
    put(store, "a.md", ContentType="text/markdown; charset=utf-8")
    assert metadata_files(tmp_path) == []


def test_every_answer_says_when_it_was_given_and_no_object_is_younger(tmp_path):
    store = opened(tmp_path)
    put(store, "a")
    answer = store.get_object(Bucket=BUCKET, Key="a")
    with pytest.raises(ClientError) as missing:
        store.get_object(Bucket=BUCKET, Key="none")
    for told in (answer, missing.value.response):
        age = parsedate_to_datetime(told["ResponseMetadata"]["HTTPHeaders"]["date"]) - answer["LastModified"]
        assert 0 <= age.total_seconds() <= 5


OLD = (b"old", "x/old", {"n": "1"})
AT = {"Bucket": BUCKET, "Key": "deep/a.json"}
STEPS = {
    "put": (
        lambda store: put(store, "deep/a.json", b"new", ContentType="application/json"),
        (b"new", "application/json", {}),
    ),
    "put with metadata": (
        lambda store: put(store, "deep/a.json", b"new", ContentType="x/new", Metadata={"n": "2"}),
        (b"new", "x/new", {"n": "2"}),
    ),
    "copy": (
        lambda store: store.copy_object(**AT, CopySource={"Bucket": BUCKET, "Key": "source"}),
        (b"source", "x/source", {}),
    ),
    "delete": (lambda store: store.delete_object(**AT), None),
}


def killed_at(point: int, root: Path, patch: pytest.MonkeyPatch, step: str) -> bool:
    """Whether the step needs so many operations on the disk: then it was killed before that one."""
    store = opened(root)
    put(store, "deep/a.json", b"old", ContentType="x/old", Metadata={"n": "1"})
    put(store, "source", b"source", ContentType="x/source")

    def act(number: int) -> None:
        if number >= point:
            raise KilledError

    with on_operation(patch, act):
        try:
            STEPS[step][0](store)
        except KilledError:
            return True
    return False


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_before_any_operation_on_the_disk_leaves_the_old_object_or_the_new_one(
    tmp_path_factory, monkeypatch, step
):
    new = STEPS[step][1]
    seen = []
    for point in range(1, 100):
        root = tmp_path_factory.mktemp("kill")
        killed = killed_at(point, root, monkeypatch, step)
        found = contents(opened(root)).get("deep/a.json")
        seen.append(found)
        assert found in ([OLD, new] if killed else [new]), point
        assert len(metadata_files(root)) == 1 + bool(found and found[1] != "application/json")
        if not killed:
            break
    assert OLD in seen[:-1]
    assert len(seen) > 2


@each(
    ("number", "code", "before"),
    [
        (errno.ENOSPC, "InsufficientStorage", None),
        (errno.EDQUOT, "InsufficientStorage", b"old"),
        (errno.EROFS, "InternalError", b"old"),
    ],
)
def test_what_a_full_or_read_only_disk_refuses_at_any_operation_has_not_happened(
    tmp_path_factory, monkeypatch, number, code, before
):
    for point in range(1, 100):
        store = opened(tmp_path_factory.mktemp("full"))
        assert contents(store) == {}
        if before is not None:
            put(store, "a.md", before)

        def act(now: int, last: int = point) -> None:
            if now == last:
                raise OSError(number, os.strerror(number))

        told = None
        with on_operation(monkeypatch, act):
            try:
                put(store, "a.md", b"new", ContentType="x/y")
            except ClientError as error:
                told = error.response["Error"]["Code"]
        if told is None:
            # What comes behind the swap only tidies up.
            assert read(store, "a.md") == b"new"
            break
        assert told == code
        assert {key: found[0] for key, found in contents(store).items()} == ({} if before is None else {"a.md": before})
        put(store, "a.md", b"later")
        assert read(store, "a.md") == b"later"
    assert point > 2


def test_a_deletion_that_the_disk_refuses_is_named_and_has_not_happened(tmp_path, monkeypatch):
    store = opened(tmp_path)
    put(store, "a.md", b"stays")

    def act(_: int) -> None:
        raise OSError(errno.EROFS, "read-only")

    with on_operation(monkeypatch, act):
        answer = store.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "a.md"}]})
        assert refusal(store.delete_object, Key="a.md") == "InternalError"
    assert [error["Key"] for error in answer["Errors"]] == ["a.md"]
    assert read(store, "a.md") == b"stays"


def test_a_put_is_told_and_a_copy_is_not_and_an_event_that_fails_undoes_nothing(tmp_path, caplog):
    told: list[tuple[str, str]] = []

    def tell(bucket: str, key: str) -> None:
        told.append((bucket, key))
        raise OSError(errno.ENOSPC, "full")

    store = opened(tmp_path, on_put=tell)
    put(store, "a b.md", b"note")
    put(store, "d.md")
    store.copy_object(Bucket=BUCKET, Key="c.md", CopySource={"Bucket": BUCKET, "Key": "a b.md"})

    assert told == [(BUCKET, "a b.md"), (BUCKET, "d.md")]
    assert read(store, "c.md") == b"note"
    assert "no event" in caplog.text


def test_reading_while_an_object_is_replaced_gives_one_version_or_the_other(tmp_path):
    store = opened(tmp_path)
    etags = {put(store, "a", body * 3_000_000): body for body in (b"x", b"y")}
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            for body in (b"x", b"y"):
                put(store, "a", body * 3_000_000)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(replace)
        for _ in range(50):
            answer = store.get_object(Bucket=BUCKET, Key="a")
            assert answer["Body"].read() == etags[answer["ETag"]] * 3_000_000
        stop.set()


def test_of_many_writers_at_once_one_wins(tmp_path):
    store, barrier = opened(tmp_path), threading.Barrier(8)

    def wins(number: int) -> bool:
        barrier.wait()
        try:
            store.put_object(Bucket=BUCKET, Key="a", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError:
            return False
        return True

    for _ in range(20):
        with ThreadPoolExecutor(8) as pool:
            (won,) = (number for number, won in enumerate(pool.map(wins, range(8))) if won)
        assert read(store, "a") == str(won).encode()
        store.delete_object(Bucket=BUCKET, Key="a")


def test_a_key_or_a_bucket_that_s3_does_not_allow_is_refused_and_versions_are_not_kept(tmp_path):
    store = opened(tmp_path)
    assert refusal(store.put_object, Key="é" * 513, Body=b"") == "KeyTooLongError"
    assert refusal(store.list_object_versions) == "NotImplemented"
    for name in ("..", "a/b", "", "x" * 64):
        with pytest.raises(ClientError, match="InvalidBucketName"):
            store.create_bucket(Bucket=name)
        with pytest.raises(ClientError, match="NoSuchBucket"):
            store.get_object(Bucket=name, Key="a")


@given(
    st.dictionaries(
        st.text("abAB./%é", min_size=1, max_size=8), st.tuples(st.binary(max_size=5), st.booleans()), max_size=12
    ),
    st.booleans(),
)
def test_any_set_of_keys_can_live_together_also_where_a_folder_ignores_case(tmp_path_factory, wanted, folds):
    root = tmp_path_factory.mktemp("disk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("local.store.folder._ignores_case", lambda _: folds)
        store = opened(root)
        for key, (body, odd) in wanted.items():
            put(store, key, body, ContentType="x/y" if odd else "binary/octet-stream")
        names = [str(path.relative_to(root)) for path in (root / "s3").rglob("*")]
        assert not folds or len({name.casefold() for name in names}) == len(names)
        again = opened(root)
        assert {key: found[0] for key, found in contents(again).items()} == {k: b for k, (b, _) in wanted.items()}
        for key in wanted:
            again.delete_object(Bucket=BUCKET, Key=key)
        assert list((root / "s3" / BUCKET).rglob("*")) == []


@each(
    ("asked", "first", "last"),
    [
        ("bytes=0-9", 0, 9),
        ("bytes=5-", 5, 2_999_999),
        ("bytes=-7", 2_999_993, 2_999_999),
        ("bytes=1-2000000", 1, 2_000_000),
        ("bytes=2999990-9999999", 2_999_990, 2_999_999),
        ("bytes=-", 0, 2_999_999),
        ("lines=1-2", 0, 2_999_999),
        # Python reads no number of 5,000 digits.
        (f"bytes={'1' * 5_000}-", 0, 2_999_999),
    ],
)
def test_a_range_is_read_to_its_last_byte_and_no_further(tmp_path, asked, first, last):
    store, body = opened(tmp_path), bytes(range(256)) * 12_000
    body = body[:3_000_000]
    put(store, "a.bin", body)

    found = store.get_object(Bucket=BUCKET, Key="a.bin", Range=asked)

    assert found["Body"].read() == body[first : last + 1]
    assert found["ContentLength"] == last + 1 - first
    assert found.get("ContentRange") in (None, f"bytes {first}-{last}/3000000")
    assert ("ContentRange" in found) == (asked[:6] == "bytes=" and 7 < len(asked) < 5_000)

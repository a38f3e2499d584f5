"""The storage contract, the same assertions on the fake of the unit tests and on moto's S3 behind real clients."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from livemem.errors import PreconditionLost, StoreUnavailable
from livemem.settings import Settings
from livemem.spaces import directory
from livemem.store import capability_check, copying
from livemem.store.bucket import CAPABILITY_CHECK
from livemem.store.clients import open_store
from livemem.store.objects import Store
from tests.support.bucket import FakeS3
from tests.support.world import World

BUCKET = "live-memory"
OTHER_ETAG = '"00000000000000000000000000000000"'


@pytest.fixture(name="moto_stores", scope="module")
def _moto_stores() -> Iterator[dict[str, Store]]:
    """By signature: making the clients takes most of a second, so each test gets a bucket of its own instead."""
    with mock_aws():
        yield {
            signature: open_store(
                Settings(
                    s3_region_name="us-east-1",
                    s3_access_key_id="test",
                    s3_secret_access_key="test",
                    s3_signature=signature,
                )
            )
            for signature in ("v4", "hybrid")
        }


@pytest.fixture(name="buckets", scope="module")
def _buckets() -> Iterator[str]:
    return (f"live-memory-{number}" for number in count())


# Tests name no stores of it: real ones take them by this fixture (tests/integration/stores/test_contract.py).
@pytest.fixture(name="store", params=["fake", "v4", "hybrid"])
def _store(request: pytest.FixtureRequest, moto_stores: dict[str, Store], buckets: Iterator[str]) -> Store:
    if request.param == "fake":
        fake = FakeS3()
        return Store(BUCKET, fake, fake)  # type: ignore[arg-type]
    opened, bucket = moto_stores[request.param], next(buckets)
    opened.v4.create_bucket(Bucket=bucket)
    return Store(bucket, opened.v4, opened.plain)


def fill(store: Store, written: list[str], content: bytes = b"") -> None:
    """Many objects at once; through moto's own front door a thousand of them take ten seconds."""
    for key in written:
        if isinstance(store.v4, FakeS3):
            store.v4.put_object(Bucket=store.bucket, Key=key, Body=content)
        else:
            get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].put_object(store.bucket, key, content)


def names(store: Store, prefix: str = "", **more: Any) -> list[str]:
    return [entry.key for entry in store.scan(prefix, **more)]


def body(store: Store, key: str) -> bytes | None:
    found = store.get(key)
    return found.body if found else None


@pytest.mark.parametrize("content", [b"", b"text\r\n", "é 🦊".encode(), bytes(range(256)), b"x" * 1_000_000])
def test_an_object_comes_back_byte_for_byte_with_etag_time_and_metadata(store: Store, content: bytes):
    before = datetime.now(UTC) - timedelta(seconds=2)

    etag = store.put("demo/bank/a.md", content, metadata={"consolidation": "7"})

    found = store.get("demo/bank/a.md")
    assert found is not None
    assert (found.key, found.body, found.etag) == ("demo/bank/a.md", content, etag)
    assert found.metadata == {"consolidation": "7"}
    assert before <= found.last_modified <= datetime.now(UTC) + timedelta(seconds=2)
    assert etag.startswith('"')


def test_what_is_not_there_is_none(store: Store):
    assert store.get("demo/nothing") is None
    assert store.get_many(["a", "b"]) == [None, None]
    assert store.get_many([]) == []


def test_many_objects_come_in_the_order_asked_for(store: Store):
    for number in range(20):
        store.put(f"k{number}", str(number).encode())

    found = store.get_many([f"k{number}" for number in (7, 99, 3, 7)])

    assert [item and item.body for item in found] == [b"7", None, b"3", b"7"]


def test_the_same_bytes_have_the_same_etag_so_a_swap_must_change_them(store: Store):
    assert store.put("a", b"x") == store.put("b", b"x")
    assert store.put("a", b"y") != store.put("b", b"x")


def test_if_none_match_writes_only_where_nothing_is(store: Store):
    store.put("a", b"first", if_none_match=True)

    with pytest.raises(PreconditionLost):
        store.put("a", b"second", if_none_match=True)
    assert body(store, "a") == b"first"
    store.delete("a")
    store.put("a", b"third", if_none_match=True)
    assert body(store, "a") == b"third"


def test_a_file_is_written_as_it_is_and_under_the_same_conditions_as_bytes(store: Store, tmp_path: Path):
    content = bytes(range(256)) * 8_000
    (tmp_path / "content").write_bytes(content)
    with (tmp_path / "content").open("rb") as file:
        file.read(100)

        etag = store.put("demo/file", file, if_none_match=True, content_type="x/y", metadata={"told": "so"})
        with pytest.raises(PreconditionLost):
            store.put("demo/file", file, if_none_match=True)
        again = store.put("demo/file", file, if_match=etag, metadata={"told": "again"})

    found = store.get("demo/file")
    assert found
    assert (found.body, found.etag, found.metadata["told"]) == (content, again, "again")


def test_if_match_writes_only_over_the_version_that_was_read(store: Store):
    first = store.put("a", b"first")
    second = store.put("a", b"second", if_match=first)

    for stale in (first, OTHER_ETAG):
        with pytest.raises(PreconditionLost):
            store.put("a", b"third", if_match=stale)
    assert body(store, "a") == b"second"
    assert store.put("a", b"third", if_match=second) != second


def test_if_match_on_nothing_is_a_lost_race_and_writes_nothing(store: Store):
    with pytest.raises(PreconditionLost):
        store.put("a", b"x", if_match=OTHER_ETAG)
    assert body(store, "a") is None


def test_asking_by_etag_tells_unchanged_changed_and_gone_apart(store: Store):
    etag = store.put("a", b"first")
    assert store.get_if_changed("a", etag) == (False, None)

    newer = store.put("a", b"second")
    changed, found = store.get_if_changed("a", etag)
    assert changed
    assert found is not None
    assert (found.body, found.etag) == (b"second", newer)

    store.delete("a")
    assert store.get_if_changed("a", etag) == (True, None)


def test_a_deletion_is_repeatable_and_conditional_where_asked(store: Store):
    etag = store.put("a", b"x")

    assert store.delete("a", if_match=OTHER_ETAG) is False
    assert body(store, "a") == b"x"
    assert store.delete("a", if_match=etag) is True
    assert body(store, "a") is None
    assert store.delete("a") is True
    assert store.delete("a", if_match=etag) is True


def test_many_are_deleted_a_thousand_at_a_time_and_missing_ones_do_no_harm(store: Store):
    fill(store, [f"d/{number:04d}" for number in range(1_003)])
    store.put("d2", b"stays")

    store.delete_many([*names(store, "d/"), "d/never was"])
    store.delete_many([])

    assert names(store) == ["d2"]


def test_a_listing_goes_over_all_pages_in_the_order_of_the_keys(store: Store):
    written = [f"s/{number:04d}" for number in range(1_234)]
    fill(store, written[::-1], b"12345")
    store.put("s.", b"")
    store.put("t/0", b"")

    entries = list(store.scan("s/"))

    assert [entry.key for entry in entries] == written
    assert {entry.size for entry in entries} == {5}
    assert {entry.etag for entry in entries} == {store.put("x", b"12345")}
    assert all(entry.last_modified.tzinfo for entry in entries)
    assert names(store, "s/", start_after="s/1231") == ["s/1232", "s/1233"]
    assert names(store, "s/", start_after="s/0999", limit=3) == ["s/1000", "s/1001", "s/1002"]
    assert names(store, "s/", start_after="s/0100", limit=1_050) == written[101:1_151]
    assert names(store, "s/", start_after="s/9") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_limited_listing_gives_the_first(store: Store, limit: int):
    for key in ("a/1", "a/2", "a/3"):
        store.put(key, b"")

    assert names(store, "a/", limit=limit) == ["a/1", "a/2", "a/3"][:limit]


def test_a_listing_of_nothing_is_empty(store: Store):
    assert names(store, "nowhere/") == []


def test_keys_sort_by_bytes_and_may_hold_any_letters(store: Store):
    written = ["k/A", "k/Z", "k/_", "k/a", "k/é", "k/🦊"]
    for key in written:
        store.put(key, b"")

    assert names(store, "k/") == written
    assert body(store, "k/🦊") == b""


def test_folders_are_the_first_parts_of_all_keys_once_each_over_all_pages(store: Store):
    fill(store, [f"f{number:04d}/x" for number in range(1_101)])
    fill(store, ["f0000/y", "f0000/z/deep", "top-level", "_system/tokens.json"])

    found = list(store.folders())

    assert found == ["_system", *(f"f{number:04d}" for number in range(1_101))]
    assert list(store.folders(start_after="f1098/\U0010ffff")) == ["f1099", "f1100"]


def test_spaces_page_on_behind_an_id_and_not_behind_those_that_begin_like_it(store: Store):
    for space_id in ("a", "a-b", "ab", "b", "_system", "not a space"):
        store.put(f"{space_id}/_meta.json", b"")
    process = World().with_parts(store=store)

    assert list(directory.ids(process)) == sorted(["a", "a-b", "ab", "b"], key=lambda name: f"{name}/")
    for after in ("a", "a-b", "ab", "b"):
        everything = list(directory.ids(process))
        assert list(directory.ids(process, start_after=after)) == everything[everything.index(after) + 1 :]


@pytest.mark.parametrize("signature", ["v4", "hybrid"])
def test_a_missing_bucket_is_a_failure_and_not_an_empty_store(moto_stores: dict[str, Store], signature: str):
    elsewhere = Store("no-such-bucket", moto_stores[signature].v4, moto_stores[signature].plain)

    for ask in (
        lambda: elsewhere.get("a"),
        lambda: elsewhere.put("a", b""),
        lambda: elsewhere.put("a", b"", if_none_match=True),
        lambda: elsewhere.delete("a"),
        lambda: elsewhere.delete_many(["a"]),
        lambda: list(elsewhere.scan("")),
        lambda: list(elsewhere.folders()),
        lambda: elsewhere.get_if_changed("a", OTHER_ETAG),
    ):
        with pytest.raises(StoreUnavailable) as failed:
            ask()
        assert "no-such-bucket" not in failed.value.detail


def test_the_probe_finds_conditional_writes_and_leaves_one_key(store: Store):
    assert capability_check.has_conditional_writes(store)

    assert names(store) == [CAPABILITY_CHECK]
    assert capability_check.has_conditional_writes(Store(store.bucket, store.v4, store.plain))
    capability_check.require_conditional_writes(store)


def test_a_copy_is_of_the_version_that_is_asked_for_or_tells_that_it_is_not(store: Store):
    etag = store.put("a", b"first", metadata={"consolidation": "1"})

    copied = copying.copy(store, "a", "b", if_match=etag)
    found = store.get("b")

    assert copied
    assert found
    assert (copied.etag, copied.sha256) == (etag, None)
    assert (found.body, found.metadata) == (b"first", {"consolidation": "1"})
    store.put("a", b"second")
    try:
        # moto does not know the condition.
        late = copying.copy(store, "a", "b", if_match=etag)
    except PreconditionLost:
        assert store.get("b").body == b"first"
    else:
        assert late
        assert late.etag != etag
    assert copying.copy(store, "none", "b", if_match=etag) is None
    assert copying.look(store, "none") is None


def test_where_the_store_gives_it_a_copy_tells_the_sha_256_of_its_bytes(
    moto_stores: dict[str, Store], buckets: Iterator[str]
):
    opened, bucket = moto_stores["v4"], next(buckets)
    opened.v4.create_bucket(Bucket=bucket)
    store = Store(bucket, opened.v4, opened.plain, gives_sha256=True)
    store.put("a", b"first")

    copied = copying.copy(store, "a", "b")

    assert copied
    assert copied.sha256 == sha256(b"first").hexdigest()


def test_the_first_bytes_of_an_object_are_read_also_where_it_has_fewer_or_none(store):
    for name, body in (("long", b"0123456789"), ("short", b"01"), ("empty", b"")):
        store.put(name, body)

    found = {name: store.get(name, first=4).body for name in ("long", "short", "empty")}

    assert found == {"long": b"0123", "short": b"01", "empty": b""}
    assert store.get("none", first=4) is None

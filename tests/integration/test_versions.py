"""Former versions of objects, as moto's S3 keeps them behind real clients."""

from collections.abc import Iterator
from itertools import count

import pytest
from moto import mock_aws

from livemem.erasure import erasure
from livemem.errors import StoreUnavailable, VersionsUnreachable
from livemem.settings import Settings
from livemem.store import versions
from livemem.store.clients import open_store
from livemem.store.objects import Store
from livemem.store.versions import Version
from tests.support.bucket import error
from tests.support.world import EVERYONE, INVOCATION, World


@pytest.fixture(name="opened", scope="module")
def _opened() -> Iterator[Store]:
    with mock_aws():
        yield open_store(Settings(s3_region_name="us-east-1", s3_access_key_id="test", s3_secret_access_key="test"))


BUCKETS = (f"versions-{number}" for number in count())


@pytest.fixture(name="store")
def _store(opened: Store) -> Store:
    bucket = next(BUCKETS)
    opened.v4.create_bucket(Bucket=bucket)
    opened.v4.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return Store(bucket, opened.v4, opened.plain)


def shown(found: Iterator[Version]) -> list[tuple[str, bool, bool]]:
    return sorted((one.key, one.latest, one.marker) for one in found)


def test_a_listing_tells_present_and_former_versions_and_deletions(store):
    store.put("a", b"one")
    store.put("a", b"two")
    store.put("b", b"gone")
    store.delete("b")

    found = shown(versions.below(store, ""))

    assert found == [("a", False, False), ("a", True, False), ("b", False, False), ("b", True, True)]


def test_a_listing_goes_on_over_pages(store):
    for number in range(5):
        store.put("a", b"%d" % number)
    inner = store.v4

    class Short:
        def list_object_versions(self, **arguments):
            return inner.list_object_versions(**arguments, MaxKeys=2)

    found = list(versions.below(Store(store.bucket, Short(), Short()), "a"))  # type: ignore[arg-type]

    assert len({one.version_id for one in found}) == 5
    assert [one.latest for one in found] == [True, False, False, False, False]


def test_a_former_version_is_read_and_removed_and_the_present_one_stays(store):
    store.put("a", b"one")
    store.put("a", b"two")
    (former,) = [one for one in versions.below(store, "a") if not one.latest]

    assert versions.read(store, former) == b"one"
    versions.remove(store, [former])

    assert versions.read(store, former) is None
    assert store.get("a").body == b"two"
    assert shown(versions.below(store, "a")) == [("a", True, False)]


def test_a_bucket_without_versioning_has_versions_without_an_id(opened):
    bucket = next(BUCKETS)
    opened.v4.create_bucket(Bucket=bucket)
    store = Store(bucket, opened.v4, opened.plain)
    store.put("a", b"one")
    store.put("a", b"two")

    assert [one.version_id for one in versions.below(store, "")] == [versions.NO_ID]


class Refusing:
    def __init__(self, code: str, status: int) -> None:
        self._error = error(code, status, "any")

    def list_object_versions(self, **_):
        raise self._error

    get_object = delete_objects = list_object_versions


def refusing(code: str, status: int) -> Store:
    return Store("bucket", Refusing(code, status), Refusing(code, status))  # type: ignore[arg-type]


def test_a_store_that_knows_no_versions_has_none():
    assert list(versions.below(refusing("NotImplemented", 501), "")) == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: list(versions.below(store, "")),
        lambda store: versions.read(store, Version("a", "1")),
        lambda store: versions.remove(store, [Version("a", "1")]),
    ],
)
def test_a_refusal_is_told_from_a_failure(ask):
    with pytest.raises(VersionsUnreachable):
        ask(refusing("AccessDenied", 403))
    with pytest.raises(StoreUnavailable):
        ask(refusing("InternalError", 500))


@pytest.mark.parametrize(("code", "expected"), [("AccessDenied", VersionsUnreachable), ("Internal", StoreUnavailable)])
def test_a_version_that_could_not_be_removed_is_told(code, expected):
    class Partly:
        def delete_objects(self, **_):
            return {"Errors": [{"Key": "a", "VersionId": "1", "Code": code}]}

    with pytest.raises(expected):
        versions.remove(Store("bucket", Partly(), Partly()), [Version("a", "1")])  # type: ignore[arg-type]


def test_an_erasure_leaves_no_version_with_the_text_in_a_bucket_that_keeps_them(opened):
    opened.v4.create_bucket(Bucket="bucket")
    opened.v4.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    world = World(opened.v4)
    world.create_space()
    folded = world.note("Alice lives in Paris with her two cats.")
    world.clock.move(1)
    live = world.note("Alice moves to Rome in the spring.")
    world.consolidate(max_notes=1)

    receipt = erasure.erase(world.process, EVERYONE, "demo", [], world.clock() + INVOCATION, agent="ann")

    assert (receipt.status, receipt.versions) == ("done", "removed")
    assert receipt.note_ids == [folded.note_id, live.note_id]
    kept = list(versions.below(world.store, ""))
    assert len(kept) > 10
    assert [one.key for one in kept if b"Alice" in (versions.read(world.store, one) or b"")] == []
    assert [one.key for one in kept if one.key.endswith(f"live/{live.note_id}.md")] == []

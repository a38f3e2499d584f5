"""What only shows over HTTP and with many at once: races, copies, presigned URLs, signatures, requests of 1,000."""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from livemem.errors import PreconditionLost, StoreUnavailable
from livemem.store import capability_check, clients
from livemem.store import presigned as presigning
from livemem.store.objects import Store
from tests.support.counting import CountingClient
from tests.support.object_stores import KINDS, Target

SERVERS = ("moto", "embedded", "minio", "versitygw")
STORES = ("files", *SERVERS)
CHECKING = [name for name in SERVERS if KINDS[name].checks_signatures]
# moto takes one of a thousand SigV2 signatures, one with four slashes, for a scope of SigV4, and answers 500.
KNOWING_V2 = [name for name in SERVERS if KINDS[name].knows_v2 and name != "moto"]
REFUSING_V2 = [name for name in SERVERS if not KINDS[name].knows_v2]
# moto alone does not serve conditional writes one by one.
ATOMIC = ("files", "embedded", "minio", "versitygw")
WRITERS, ROUNDS = 16, 5


@pytest.fixture(name="store", params=STORES)
def _store(request: pytest.FixtureRequest, open_bucket: Callable[..., Store]) -> Store:
    return open_bucket(request.param)


def at_once(store: Store, work: Callable[[int], Any]) -> list[Any]:
    barrier = threading.Barrier(WRITERS)

    def together(number: int) -> Any:
        barrier.wait()
        return work(number)

    return store.map(together, range(WRITERS))


@pytest.mark.parametrize("store", ATOMIC, indirect=True)
@pytest.mark.parametrize("swap", [False, True], ids=["creators", "swappers"])
def test_of_sixteen_writers_at_once_exactly_one_wins(store: Store, swap: bool):
    for attempt in range(ROUNDS):
        key = f"race/{attempt}"
        seen = store.put(key, b"start") if swap else None

        def write(number: int, key: str = key, seen: str | None = seen) -> bool:
            try:
                store.put(key, f"writer {number}".encode(), if_match=seen, if_none_match=seen is None)
            except PreconditionLost:
                return False
            return True

        won = at_once(store, write)

        assert won.count(True) == 1
        found = store.get(key)
        assert found is not None
        assert found.body == f"writer {won.index(True)}".encode()


@pytest.mark.parametrize("store", ATOMIC, indirect=True)
def test_a_counter_that_sixteen_count_up_by_compare_and_swap_loses_no_count(store: Store):
    store.put("counter", b"0")

    def count(_: int) -> None:
        for _ in range(500):
            found = store.get("counter")
            assert found is not None
            try:
                store.put("counter", str(int(found.body) + 1).encode(), if_match=found.etag)
            except PreconditionLost:
                continue
            return
        raise AssertionError("never won")

    at_once(store, count)

    found = store.get("counter")
    assert found is not None
    assert found.body == str(WRITERS).encode()


def test_what_many_wrote_at_once_is_listed_at_once(store: Store):
    at_once(store, lambda number: store.put(f"many/{number:02d}", b"x", if_none_match=True))

    assert [entry.key for entry in store.scan("many/")] == [f"many/{number:02d}" for number in range(WRITERS)]


def test_the_etag_of_a_write_a_read_and_a_listing_is_the_same(store: Store):
    etag = store.put("a", b"x")

    found = store.get("a")

    assert found is not None
    assert found.etag == etag
    assert [entry.etag for entry in store.scan("a")] == [etag]


def test_a_thousand_objects_are_one_listing_and_one_deletion(store: Store):
    store.map(lambda number: store.put(f"d/{number:04d}", b""), range(1_000))
    client = CountingClient(store.v4)
    counted = Store(store.bucket, client, client)  # type: ignore[arg-type]

    counted.delete_many([entry.key for entry in counted.scan("d/")])

    assert counted.get("d/0000") is None
    assert list(store.scan("")) == []
    assert client.counts == {"LIST": 1, "DeleteObjects": 1, "GET": 1}


def test_a_folder_whose_last_object_is_deleted_is_gone(store: Store):
    store.put("demo/bank/deep/x.md", b"x")
    store.put("demo/live/.keep", b"")
    store.put("other/x", b"x")

    store.delete("demo/bank/deep/x.md")
    store.delete_many(["demo/live/.keep"])

    assert list(store.folders()) == ["other"]


def test_listings_are_ordered_by_the_bytes_of_the_whole_key(store: Store):
    written = ["o-b/x", "o.b", "o/x", "oA", "o_b", "oa"]
    for key in reversed(written):
        store.put(key, b"")

    assert [entry.key for entry in store.scan("o")] == written
    assert list(store.folders()) == ["o-b", "o"]


def test_a_copy_has_content_metadata_and_etag_of_its_source(store: Store):
    etag = store.put("demo/bank/a.md", "é\n".encode(), metadata={"consolidation": "7"})

    store.plain.copy_object(
        Bucket=store.bucket, Key="_backups/demo/a.md", CopySource={"Bucket": store.bucket, "Key": "demo/bank/a.md"}
    )

    found = store.get("_backups/demo/a.md")
    assert found is not None
    assert (found.body, found.metadata, found.etag) == ("é\n".encode(), {"consolidation": "7"}, etag)


def test_a_copy_of_nothing_fails_and_writes_nothing(store: Store):
    with pytest.raises(ClientError) as failed:
        store.plain.copy_object(Bucket=store.bucket, Key="b", CopySource={"Bucket": store.bucket, "Key": "a"})

    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    assert store.get("b") is None


def fetch(url: str, method: str = "GET", body: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": "text/plain"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def presigned(store: Store, operation: str, key: str) -> str:
    return store.v4.generate_presigned_url(operation, Params={"Bucket": store.bucket, "Key": key}, ExpiresIn=60)


@pytest.mark.parametrize("store", SERVERS, indirect=True)
def test_presigned_urls_write_and_read_without_credentials(store: Store):
    fetch(presigned(store, "put_object", "export/a.tar"), "PUT", b"archive")

    assert fetch(presigned(store, "get_object", "export/a.tar")) == b"archive"
    found = store.get("export/a.tar")
    assert found is not None
    assert found.body == b"archive"


@pytest.mark.parametrize("store", CHECKING, indirect=True)
def test_a_presigned_url_of_an_upload_takes_the_size_that_was_signed_and_no_other(store: Store):
    url = presigning.put_url(store, "_uploads/a", 7)

    for body in (b"archive, and more", b"short"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(url, "PUT", body)
        assert refused.value.code == 403
    assert store.get("_uploads/a") is None
    fetch(url, "PUT", b"archive")
    assert store.get("_uploads/a").body == b"archive"


@pytest.mark.parametrize("store", CHECKING, indirect=True)
def test_a_presigned_url_is_good_for_its_own_key_only(store: Store):
    store.put("secret", b"x")

    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(presigned(store, "get_object", "open").replace("/open?", "/secret?"))

    assert refused.value.code == 403


@pytest.mark.parametrize("target", CHECKING, indirect=True)
def test_a_wrong_secret_is_refused_as_unavailable_and_not_as_missing(target: Target):
    target.client().create_bucket(Bucket="guarded")
    settings = target.settings("guarded").model_copy(update={"s3_secret_access_key": "wrong-secret"})
    stranger = clients.open_store(settings)

    for ask in (lambda: stranger.get("a"), lambda: stranger.put("a", b""), lambda: list(stranger.scan(""))):
        with pytest.raises(StoreUnavailable):
            ask()


@pytest.mark.parametrize("name", KNOWING_V2)
def test_hybrid_signatures_do_all_that_the_service_asks(open_bucket: Callable[..., Store], name: str):
    store = open_bucket(name, "hybrid")
    assert store.plain is not store.v4
    config: Any = store.plain.meta.config
    assert config.signature_version == "s3"

    etag = store.put("demo/a b+é.md", b"one", if_none_match=True, metadata={"n": "1"})
    newer = store.put("demo/a b+é.md", b"two", if_match=etag)
    with pytest.raises(PreconditionLost):
        store.put("demo/a b+é.md", b"three", if_match=etag)
    with pytest.raises(PreconditionLost):
        store.put("demo/a b+é.md", b"three", if_none_match=True)
    found = store.get("demo/a b+é.md")
    assert found is not None
    assert (found.body, found.etag) == (b"two", newer)
    assert store.get_if_changed("demo/a b+é.md", newer) == (False, None)
    assert store.get("demo/none") is None
    assert [entry.key for entry in store.scan("demo/")] == ["demo/a b+é.md"]
    assert list(store.folders()) == ["demo"]
    assert capability_check.has_conditional_writes(store)
    assert store.delete("demo/a b+é.md")
    assert store.get("demo/a b+é.md") is None


@pytest.mark.parametrize("name", KNOWING_V2)
def test_hybrid_signatures_delete_many_at_once(open_bucket: Callable[..., Store], name: str):
    store = open_bucket(name, "hybrid")
    for number in range(3):
        store.put(f"d/{number}", b"")

    store.delete_many([f"d/{number}" for number in range(3)])

    assert list(store.scan("")) == []


@pytest.mark.parametrize("name", REFUSING_V2)
def test_a_store_without_sigv2_refuses_hybrid_signatures_plainly(open_bucket: Callable[..., Store], name: str):
    store = open_bucket(name, "hybrid")

    with pytest.raises(StoreUnavailable):
        store.put("a", b"x")
    assert list(store.scan("")) == []
